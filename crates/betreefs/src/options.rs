//! Options of a mount, as `mount -o` takes them.

use rustix::mount::MountFlags;

/// How a file system is mounted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountOptions {
    /// Bytes of memory for the store; what is its default unless told.
    pub cache_bytes: Option<usize>,
    /// Threads that answer the kernel.
    pub threads: Option<usize>,
    /// Nothing is written, not even to recover from a crash: that is done in memory.
    pub read_only: bool,
    /// What is mounted there gets these options instead of those that it has.
    pub remount: bool,
    /// Whether other users may use what somebody without root has mounted; `/etc/fuse.conf` must allow it. What root mounts they may.
    pub allow_other: bool,
    flags: Option<MountFlags>,
}

/// Options that say nothing about this: to `mount`, to the system's start, or what is so anyway.
const MEANINGLESS: [&str; 14] = [
    "relatime",
    "defaults",
    "rw",
    "suid",
    "dev",
    "exec",
    "async",
    "noatime",
    "nodiratime",
    "auto",
    "noauto",
    "nofail",
    "_netdev",
    "default_permissions",
];

impl MountOptions {
    /// Reads options separated by commas.
    ///
    /// # Errors
    /// Names an option that there is not.
    pub fn parse(options: &str) -> Result<Self, String> {
        let mut this = Self::default();
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let flag = match option {
                "nosuid" => MountFlags::NOSUID,
                "nodev" => MountFlags::NODEV,
                "noexec" => MountFlags::NOEXEC,
                "ro" => {
                    this.read_only = true;
                    MountFlags::RDONLY
                }
                "remount" => {
                    this.remount = true;
                    continue;
                }
                "allow_other" => {
                    this.allow_other = true;
                    continue;
                }
                _ => match option.split_once('=') {
                    Some(("cache_mib", n)) => {
                        let mib: usize = number(option, n, 8..=1 << 20)?;
                        this.cache_bytes = Some(mib << 20);
                        continue;
                    }
                    Some(("threads", n)) => {
                        this.threads = Some(number(option, n, 1..=256)?);
                        continue;
                    }
                    // As the kernel shows them, and `mount` gives them back when options change.
                    Some(("user_id" | "group_id" | "max_read", _)) => continue,
                    _ if MEANINGLESS.contains(&option) || option.starts_with("x-") => continue,
                    _ => return Err(format!("unknown betreefs option {option}")),
                },
            };
            this.flags = Some(this.flags() | flag);
        }
        Ok(this)
    }

    pub(crate) fn flags(&self) -> MountFlags {
        self.flags.unwrap_or(MountFlags::empty())
    }
}

fn number(option: &str, n: &str, within: std::ops::RangeInclusive<usize>) -> Result<usize, String> {
    let parsed = n.parse().ok().filter(|n| within.contains(n));
    parsed.ok_or_else(|| format!("{option}: must be a number from {} to {}", within.start(), within.end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mount_gives_is_understood() {
        let options =
            MountOptions::parse("rw,nosuid,noatime,x-systemd.automount,cache_mib=64,threads=3").unwrap();
        assert_eq!(
            (options.cache_bytes, options.threads, options.read_only),
            (Some(64 << 20), Some(3), false)
        );
        assert_eq!(options.flags(), MountFlags::NOSUID);
        let again =
            MountOptions::parse("ro,relatime,remount,user_id=0,group_id=0,allow_other,max_read=1048576");
        assert!(again.is_ok_and(|options| options.remount && options.read_only));
        assert_eq!(MountOptions::parse("nodev,ro").unwrap().flags(), MountFlags::NODEV | MountFlags::RDONLY);
        assert_eq!(
            MountOptions::parse("compress=zstd").unwrap_err(),
            "unknown betreefs option compress=zstd"
        );
        assert!(MountOptions::parse("threads=none").unwrap_err().contains("a number from 1"));
    }
}

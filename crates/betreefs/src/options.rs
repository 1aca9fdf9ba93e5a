//! Mount options in the syntax of `mount -o`.

use rustix::mount::MountFlags;

/// The options of a mount.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountOptions {
    /// Memory of the store in bytes; `None` is its default.
    pub cache_bytes: Option<usize>,
    /// Threads that serve kernel requests.
    pub threads: Option<usize>,
    /// Read-only: nothing is written, and crash recovery happens in memory.
    pub read_only: bool,
    /// Changes the options of an existing mount.
    pub remount: bool,
    /// Whether other users may access a mount of a user without root; `/etc/fuse.conf` must allow it. Mounts of root always allow it.
    pub allow_other: bool,
    flags: Option<MountFlags>,
}

/// Ignored options: meant for `mount` or for system start, or always true.
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
    /// Names an unknown option.
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
                    // The kernel shows these options, and `mount` returns them on a remount.
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
    fn options_of_mount_are_parsed() {
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

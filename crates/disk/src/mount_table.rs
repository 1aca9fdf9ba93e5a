//! The mount table `/proc/<pid>/mountinfo`.

use crate::error::{Error, IoContext};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One line of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MountPoint {
    /// Mount ID. Its copy in another mount namespace has a different ID.
    pub id: u64,
    /// Device number of the file system; Btrfs and similar file systems use a number without a device.
    pub devno: (u32, u32),
    /// The directory or file of the file system that is mounted.
    pub root: PathBuf,
    /// The mount point.
    pub dir: PathBuf,
    /// Whether unmounting it propagates to its copies in other namespaces, as systemd sets up all mounts.
    pub shared: bool,
    /// The file system type, such as `ext4`.
    pub kind: String,
    /// The source, as it was named at mount time.
    pub source: PathBuf,
    /// Options of the file system, such as `rw,lazytime`.
    pub options: String,
}

/// The mounts visible to the process `pid`; `"self"` is this process.
pub fn mount_points(pid: &str) -> Result<Vec<MountPoint>, Error> {
    let path = Path::new("/proc").join(pid).join("mountinfo");
    let text = std::fs::read(&path).context("reading", &path)?;
    Ok(parse_table(&text))
}

/// Parses a mount table.
pub(crate) fn parse_table(text: &[u8]) -> Vec<MountPoint> {
    text.split(|b| *b == b'\n').filter_map(parse).collect()
}

/// The mount that contains `path`, which must not contain symbolic links. Of several mounts on one directory the last one is visible.
pub fn mount_holding(path: &Path) -> Result<Option<MountPoint>, Error> {
    let mounts = mount_points("self")?.into_iter().filter(|mount| path.starts_with(&mount.dir));
    Ok(mounts.max_by_key(|mount| mount.dir.as_os_str().len()))
}

/// Parses one line; `None` if it is malformed.
fn parse(line: &[u8]) -> Option<MountPoint> {
    let mut fields = line.split(|b| *b == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let devno = std::str::from_utf8(fields.nth(1)?).ok()?;
    let (major, minor) = devno.split_once(':')?;
    let devno = (major.parse().ok()?, minor.parse().ok()?);
    let (root, dir) = (unescape(fields.next()?), unescape(fields.next()?));
    fields.next()?;
    // Any number of optional fields, terminated by a dash.
    let mut shared = false;
    loop {
        match fields.next()? {
            b"-" => break,
            field => shared |= field.starts_with(b"shared:"),
        }
    }
    let kind = String::from_utf8(fields.next()?.to_vec()).ok()?;
    let source = unescape(fields.next()?);
    let options = String::from_utf8_lossy(fields.next()?).into_owned();
    Some(MountPoint { id, devno, root, dir, shared, kind, source, options })
}

/// Decodes the kernel's octal escapes of space, tab, newline and backslash.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        let code = match tail {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if *first == b'\\' => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStrExt;

    fn escape(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |text, b| match b {
            b' ' | b'\t' | b'\n' | b'\\' => format!("{text}\\{b:03o}"),
            _ => format!("{text}{}", char::from(*b)),
        })
    }

    #[test]
    fn root_and_proc_are_mounted() {
        assert!(mount_points("self").unwrap().iter().any(|m| m.dir == Path::new("/")));
        assert_eq!(mount_holding(Path::new("/proc/self")).unwrap().unwrap().kind, "proc");
    }

    proptest! {
        #[test]
        fn paths_round_trip(dir in "/[ \t\n\\\\a-z0-9]{0,20}", root in "/[ \\\\a-z]{0,9}", source in "[ \\\\/a-z0-9]{1,20}",
                shared: bool, optional in "(master:[0-9] )*", major in 0u32..4096, minor: u32, id in 0u64..1 << 40) {
            let [d, r, s] = [&dir, &root, &source].map(|path| escape(path.as_bytes()));
            let optional = if shared { format!("shared:7 {optional}") } else { optional };
            let line = format!("{id} 35 {major}:{minor} {r} {d} rw,noatime {optional}- ext4 {s} rw,errors=continue");
            let mount = parse(line.as_bytes()).unwrap();
            prop_assert_eq!(mount.dir.as_os_str().as_bytes(), dir.as_bytes());
            prop_assert_eq!(mount.root.as_os_str().as_bytes(), root.as_bytes());
            prop_assert_eq!(mount.source.as_os_str().as_bytes(), source.as_bytes());
            prop_assert_eq!((mount.id, mount.devno, mount.shared), (id, (major, minor), shared));
            prop_assert_eq!(mount.kind, "ext4");
            prop_assert_eq!(mount.options, "rw,errors=continue");
        }

        #[test]
        fn non_utf8_paths_round_trip(name in prop::collection::vec(1u8..=255, 1..20)) {
            let escaped = name.iter().flat_map(|b| match b {
                b' ' | b'\t' | b'\n' | b'\\' | b'#' => format!("\\{b:03o}").into_bytes(),
                _ => vec![*b],
            });
            let line = [b"36 35 7:0 / /".to_vec(), escaped.collect(), b" rw - ext4 /dev/loop0 rw\n".to_vec()].concat();
            let table = parse_table(&line.repeat(2));
            prop_assert_eq!(table.len(), 2);
            prop_assert_eq!(table[0].dir.as_os_str().as_bytes(), [b"/".to_vec(), name].concat());
        }

        #[test]
        fn arbitrary_line_does_not_panic(line in prop::collection::vec(any::<u8>(), 0..200)) {
            parse(&line);
        }
    }
}

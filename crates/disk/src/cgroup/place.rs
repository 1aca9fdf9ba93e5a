//! Where control groups that limit memory can be made, in both versions of the kernel's interface
//! (`admin-guide/cgroup-v1/memory.rst` and `admin-guide/cgroup-v2.rst` of its documentation).

use crate::error::{Error, IoContext};
use crate::mount_table::{MountPoint, mount_points};
use std::path::{Path, PathBuf};

/// A group below which others can be made, and how their memory is limited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The directory of the group.
    pub parent: PathBuf,
    /// The file of a group below it that takes the limit in bytes.
    pub limit_file: &'static str,
}

/// Finds the place on this system.
pub fn place() -> Result<Place, Error> {
    let path = Path::new("/proc/self/cgroup");
    let groups = std::fs::read_to_string(path).context("reading", path)?;
    let mounts = mount_points("self")?;
    version_1(&mounts, &groups).or_else(|| version_2(&mounts, &groups)).ok_or(Error::NoMemoryController)
}

/// In version 1 any group may have groups below it.
fn version_1(mounts: &[MountPoint], groups: &str) -> Option<Place> {
    let limit_file = "memory.limit_in_bytes";
    let own = own_group(groups, Some("memory"))?;
    let mounted = mounts.iter().filter(|mount| mount.kind == "cgroup");
    // A container may see its own group, whatever that is called, as the root.
    let parent = mounted
        .flat_map(|mount| [mount.dir.join(own), mount.dir.clone()])
        .find(|dir| dir.join(limit_file).exists())?;
    Some(Place { parent, limit_file })
}

/// In version 2 the nearest group that hands the control of memory on to those below it.
fn version_2(mounts: &[MountPoint], groups: &str) -> Option<Place> {
    let own = own_group(groups, None)?;
    let root = &mounts.iter().find(|mount| mount.kind == "cgroup2")?.dir;
    let hands_on = |dir: &&Path| {
        let handed_on = std::fs::read_to_string(dir.join("cgroup.subtree_control")).unwrap_or_default();
        handed_on.split_whitespace().any(|controller| controller == "memory")
    };
    let leaf = root.join(own);
    let parent = leaf.ancestors().take_while(|dir| dir.starts_with(root)).find(hands_on)?.to_owned();
    Some(Place { parent, limit_file: "memory.max" })
}

/// Our group among the lines `number:controllers:/path`, relative to the root: in the hierarchy of a controller of
/// version 1, or in the one of version 2, whose line is `0::/path`.
fn own_group<'a>(groups: &'a str, controller: Option<&str>) -> Option<&'a str> {
    let (_, path) = groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')).find(
        |(controllers, _)| match controller {
            Some(name) => controllers.split(',').any(|one| one == name),
            None => controllers.is_empty(),
        },
    )?;
    path.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOTH: &str = "9:name=systemd:/\n4:memory,pids:/user/a b:c\n0::/user.slice/session-1.scope\n";

    fn mounted(kind: &str, dir: &Path) -> Vec<MountPoint> {
        let (dir, kind, source) = (dir.to_owned(), kind.to_owned(), PathBuf::from("none"));
        let (root, options) = (PathBuf::from("/"), "rw".to_owned());
        vec![MountPoint { id: 1, devno: (0, 1), root, dir, shared: false, kind, source, options }]
    }

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn version_1_is_our_own_group() {
        let dir = tempfile::tempdir().unwrap();
        let mounts = mounted("cgroup", dir.path());
        assert_eq!(version_1(&mounts, BOTH), None);
        write(&dir.path().join("memory.limit_in_bytes"), "");
        assert_eq!(version_1(&mounts, BOTH).unwrap().parent, dir.path());
        write(&dir.path().join("user/a b:c/memory.limit_in_bytes"), "");
        assert_eq!(version_1(&mounts, BOTH).unwrap().parent, dir.path().join("user/a b:c"));
        assert_eq!(version_2(&mounts, BOTH), None);
    }

    #[test]
    fn version_2_is_the_nearest_group_that_hands_memory_on() {
        let dir = tempfile::tempdir().unwrap();
        let mounts = mounted("cgroup2", dir.path());
        let control = |group: &str, text: &str| {
            write(&dir.path().join(group).join("cgroup.subtree_control"), text);
        };
        control("user.slice/session-1.scope", "\n");
        control("user.slice", "cpu hugetlb\n");
        control("", "cpu pids\n");
        assert_eq!(version_2(&mounts, BOTH), None);
        control("", "cpu memory pids\n");
        assert_eq!(version_2(&mounts, BOTH).unwrap().parent, dir.path());
        control("user.slice", "memory\n");
        let place = version_2(&mounts, BOTH).unwrap();
        assert_eq!((place.parent, place.limit_file), (dir.path().join("user.slice"), "memory.max"));
        assert_eq!(version_1(&mounts, BOTH), None);
    }

    proptest! {
        #[test]
        fn our_group_is_found_wherever_its_line_is(path in "[a-z0-9:. /]{0,20}", before in "([0-9]:(cpu|pids,io):/[a-z]{0,5}\n){0,4}") {
            let groups = format!("{before}7:memory:/{path}\n0::/{path}\n");
            prop_assert_eq!(own_group(&groups, Some("memory")), Some(path.as_str()));
            prop_assert_eq!(own_group(&groups, None), Some(path.as_str()));
        }

        #[test]
        fn any_text_is_survived(text in "(0:|\\PC|\n)*") {
            own_group(&text, Some("memory"));
            own_group(&text, None);
        }
    }
}

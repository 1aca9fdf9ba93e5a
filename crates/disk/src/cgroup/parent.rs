//! Finds the parent group for control groups that limit memory, in both versions of the kernel's interface
//! (`admin-guide/cgroup-v1/memory.rst` and `admin-guide/cgroup-v2.rst` of its documentation).

use crate::error::{Error, IoContext};
use crate::mount_table::{MountPoint, mount_points};
use std::path::{Path, PathBuf};

/// A group that can have child groups with a memory limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupParent {
    /// The directory of the group.
    pub parent: PathBuf,
    /// The file in a child group that takes the limit in bytes.
    pub limit_file: &'static str,
}

/// Finds the parent group on this system.
pub fn find_parent() -> Result<GroupParent, Error> {
    let path = Path::new("/proc/self/cgroup");
    let groups = std::fs::read_to_string(path).context("reading", path)?;
    let mounts = mount_points("self")?;
    version_1(&mounts, &groups).or_else(|| version_2(&mounts, &groups)).ok_or(Error::NoMemoryController)
}

/// Cgroup v1: any group may have child groups.
fn version_1(mounts: &[MountPoint], groups: &str) -> Option<GroupParent> {
    let limit_file = "memory.limit_in_bytes";
    let own = own_group(groups, Some("memory"))?;
    let mounted = mounts.iter().filter(|mount| mount.kind == "cgroup");
    // In a container the root of the mount may be the container's own group, whatever its name.
    let parent = mounted
        .flat_map(|mount| [mount.dir.join(own), mount.dir.clone()])
        .find(|dir| dir.join(limit_file).exists())?;
    Some(GroupParent { parent, limit_file })
}

/// Cgroup v2: the nearest ancestor group that delegates the memory controller to its children.
fn version_2(mounts: &[MountPoint], groups: &str) -> Option<GroupParent> {
    let own = own_group(groups, None)?;
    let root = &mounts.iter().find(|mount| mount.kind == "cgroup2")?.dir;
    let delegates_memory = |dir: &&Path| {
        let delegated = std::fs::read_to_string(dir.join("cgroup.subtree_control")).unwrap_or_default();
        delegated.split_whitespace().any(|controller| controller == "memory")
    };
    let leaf = root.join(own);
    let parent = leaf.ancestors().take_while(|dir| dir.starts_with(root)).find(delegates_memory)?.to_owned();
    Some(GroupParent { parent, limit_file: "memory.max" })
}

/// The group of this process, relative to the root, parsed from lines `number:controllers:/path`. With a controller, that of its v1
/// hierarchy; without, that of the v2 hierarchy, whose line is `0::/path`.
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
    fn version_1_uses_own_group() {
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
    fn version_2_uses_nearest_group_that_delegates_memory() {
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
        fn own_group_is_found_on_any_line(path in "[a-z0-9:. /]{0,20}", before in "([0-9]:(cpu|pids,io):/[a-z]{0,5}\n){0,4}") {
            let groups = format!("{before}7:memory:/{path}\n0::/{path}\n");
            prop_assert_eq!(own_group(&groups, Some("memory")), Some(path.as_str()));
            prop_assert_eq!(own_group(&groups, None), Some(path.as_str()));
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "(0:|\\PC|\n)*") {
            own_group(&text, Some("memory"));
            own_group(&text, None);
        }
    }
}

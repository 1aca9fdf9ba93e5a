//! The supported file systems. Each is a file below `kind/` that submits itself as a [`Kind`].

mod bcachefs;
mod betreefs;
mod btrfs;
mod ext4;
mod ext4_dax;
mod f2fs;
mod nilfs2;
mod xfs;
pub mod zfs;

use crate::{AddressMap, BulkReader, Error, TreeStat};
use disk::{BlockDevice, Extent, FuseServerSpec, MountPoint, command, require_tool, run_tool};
use rustix::io::Errno;
use rustix::mount::{FsOpenFlags, fsopen};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// Returns the statistics of the tree on a device.
pub type TreeStatFn = fn(device: &Path) -> Result<TreeStat, Error>;

/// Inodes per block group of the ext family: `mke2fs` creates an inode for each 16 KiB (mke2fs.conf(5)), and a group is what one bitmap
/// block maps, 128 MiB.
pub const INODES_PER_GROUP: u64 = 8192;

/// A type of file system: its programs, options and properties.
pub trait FileSystem: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its type in `mount`, if the kernel supports it.
    fn mount_name(&self) -> &'static str {
        self.name()
    }

    /// Offset and bytes of the magic number in its superblock; `None` if its superblock is that of another type.
    fn magic(&self) -> Option<(u64, &'static [u8])> {
        None
    }

    /// Offset of the byte in its superblock that counts its devices, if it can span several and [`detect`](crate::detect()) must refuse
    /// these.
    fn device_count_offset(&self) -> Option<u64> {
        None
    }

    /// The required programs, and their Debian package.
    fn tools(&self) -> (&'static [&'static str], &'static str);

    /// How to get its programs, if Debian has no package.
    fn install_hint(&self) -> Option<&'static str> {
        None
    }

    /// The command that creates it in the first `size_bytes` of `device`, with the label [`disk::LABEL`], a UUID from [`disk::new_uuid`] and
    /// the user's further options. Everything that could differ between two runs of the same command is fixed where `mkfs` allows it.
    /// `zeroed`: the whole device reads as zeros, as a new image does.
    fn mkfs(&self, device: &Path, size_bytes: u64, zeroed: bool, opts: &[String]) -> Command;

    /// The command that sets a UUID from [`disk::new_uuid`], if `mkfs` cannot.
    fn set_uuid(&self, _device: &Path) -> Option<Command> {
        None
    }

    /// Further `mkfs` options for this number of files and directories, if the default is too low.
    fn mkfs_opts_for_inodes(&self, _size_bytes: u64, _inodes: u64) -> Vec<String> {
        Vec::new()
    }

    /// How this program serves it on `device`, mounted with these options, if the kernel does not support it.
    fn fuse_server(&self, _device: &Path, _options: &[String]) -> Option<FuseServerSpec> {
        None
    }

    /// Whether it is in a ZFS pool, which is imported before the file system in it is mounted.
    fn in_pool(&self) -> bool {
        false
    }

    /// The kernel modules that it needs.
    fn modules(&self) -> Vec<&'static str> {
        vec![self.mount_name()]
    }

    /// Whether it is in persistent memory: files are read without the page cache and without block requests. An image is persistent memory
    /// only in a virtual machine.
    fn in_persistent_memory(&self) -> bool {
        false
    }

    /// Options that its developers recommend for this size and that are not `mkfs` defaults.
    fn advised_mkfs_opts(&self, _size_bytes: u64) -> &'static [&'static str] {
        &[]
    }

    /// The command that checks it, unmounted and without changes; exit status 0 means clean. `None` if it has no checker.
    fn check(&self, device: &Path) -> Option<Command>;

    /// The command that prints the version of its programs.
    fn version_command(&self) -> Command;

    /// Mount options before those of the user.
    fn default_mount_opts(&self) -> &'static [&'static str] {
        // Reads must not cause writes.
        &["noatime"]
    }

    /// What a mount option needs that most kernels lack, if a kernel may refuse it for that reason alone.
    fn option_needs(&self, _option: &str) -> Option<&'static str> {
        None
    }

    /// Whether this program created the file system on `device`, so that it may be aged.
    fn is_ours(&self, device: &BlockDevice) -> Result<bool, Error> {
        Ok(device.is_ours()?)
    }

    /// The minimum size that its `mkfs` accepts.
    fn min_size_bytes(&self) -> u64;

    /// The share of a device of this size that files can reliably fill, if it is below the default fill level of aging.
    fn max_fullness(&self, _size_bytes: u64) -> f64 {
        1.0
    }

    /// The default number of threads that age it. With several, file locations depend on the order in which they write: no two agings are the
    /// same.
    fn default_threads(&self) -> usize {
        1
    }

    /// Written files up to this size are stored inline in metadata, without blocks of their own.
    fn inline_limit_bytes(&self) -> u64 {
        0
    }

    /// Written files up to this size are allocated differently from preallocated ones; only allocation as for writes reproduces their
    /// layout.
    fn grouped_limit_bytes(&self, _block_bytes: u64) -> u64 {
        0
    }

    /// Whether preallocated blocks get their location at once. A log-structured file system only assigns locations on write, so it must
    /// be aged by writing.
    fn fallocate_assigns_blocks(&self) -> bool {
        true
    }

    /// Whether the space of deleted files can be reused. If that takes a cleaner that does not run, all writes of a run must fit.
    fn reclaims_space(&self) -> bool {
        true
    }

    /// The longest possible extent with this block size.
    fn max_extent_bytes(&self, block_bytes: u64) -> u64;

    /// Whether FIEMAP reports the block locations of its files.
    fn supports_fiemap(&self) -> bool {
        true
    }

    /// The free extents of the file system mounted at `root`, by address; `None` if it does not report them.
    fn free_extents(&self, root: &Path) -> Result<Option<Vec<Extent>>, Error> {
        crate::ioctl::fsmap::free_extents(root)
            .map(Some)
            .map_err(Error::io("listing the free space of", root))
    }

    /// Whether FIEMAP returns device addresses, not addresses of a space of its own: the contents of files are at these addresses only.
    fn fiemap_returns_device_addresses(&self) -> bool {
        false
    }

    /// A remark for readers of its layout measures.
    fn layout_note(&self) -> Option<&'static str> {
        None
    }

    /// What the kernel does not count towards the memory limit of a control group, for readers of what is measured under such a limit.
    fn memory_limit_note(&self) -> Option<&'static str> {
        None
    }

    /// Inodes per group, if made by default with this capacity: files in one group are allocated near each other. Without inode groups,
    /// files that were created one after the other are taken as a group.
    fn inodes_per_group(&self, _capacity_bytes: u64) -> u64 {
        INODES_PER_GROUP
    }

    /// The bulk reader of this mount; `None` if the mount is of another type or does not support it. All changes before `synced_ns`, by the
    /// system clock, have been written back.
    fn bulk_reader(&self, _mount: &MountPoint, _synced_ns: i64) -> Option<Box<dyn BulkReader>> {
        None
    }

    /// All devices of the file system that is mounted from the device `source`.
    fn devices(&self, source: &Path) -> Vec<PathBuf> {
        vec![source.to_owned()]
    }

    /// Options that prevent a read-only mount from any write to its device, for example by journal replay.
    fn no_write_mount_opts(&self) -> &'static [&'static str] {
        &[]
    }

    /// The extents of `device` that the file system, mounted read-only at `root`, does not use: any change of their bytes leaves it the same.
    /// Unordered; contains only extents that are certainly unused. `None` if the file system does not report them.
    fn unused_extents(&self, _device: &Path, _root: &Path) -> Result<Option<Vec<Extent>>, Error> {
        Ok(None)
    }

    /// Where the addresses of extent maps of the file system mounted at `root` lie on its device; `None` if they are on several devices or
    /// striped.
    fn address_map(&self, _root: &Path) -> Result<Option<AddressMap>, Error> {
        Ok(Some(AddressMap::of_device()))
    }

    /// The function that examines the on-disk tree that holds everything, while unmounted; `None` if the file system is not a tree with
    /// such statistics.
    fn tree_stat_fn(&self) -> Option<TreeStatFn> {
        None
    }

    /// Writes back all delayed data of the file system mounted at `root`.
    fn sync(&self, root: &Path) -> Result<(), Error> {
        crate::volume::sync(root)
    }

    /// Takes the read-only snapshot `name` of the file system mounted at `root`, where [`walk`](crate::walk()) does not come.
    fn take_snapshot(&self, _root: &Path, _name: &str) -> Result<(), Error> {
        Err(Error::NoSnapshots(self.name().to_owned()))
    }

    /// Deletes a snapshot, and waits until its blocks are free.
    fn delete_snapshot(&self, _root: &Path, _name: &str) -> Result<(), Error> {
        Err(Error::NoSnapshots(self.name().to_owned()))
    }

    /// The directory of the write-back settings of the file system mounted at `root`.
    fn bdi_dir(&self, root: &Path) -> Result<PathBuf, Error> {
        let device = rustix::fs::stat(root).map_err(Error::io("checking", root))?.st_dev;
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        Ok(PathBuf::from(format!("/sys/class/bdi/{major}:{minor}")))
    }

    /// Sets the read-ahead if the file system does not use that of its device.
    fn set_read_ahead(&self, _root: &Path, _kb: u32) -> Result<(), Error> {
        Ok(())
    }

    /// Versions of its programs and of the kernel.
    fn version(&self) -> String {
        self.version_on(&rustix::system::uname().release().to_string_lossy())
    }

    /// The same with a kernel of another release.
    fn version_on(&self, release: &str) -> String {
        let output = run_tool(&mut self.version_command(), self.tools().1);
        let tool = missing(self.install_hint(), output).map(|output| {
            // Some programs print it to standard output, some to standard error.
            let text = [output.stdout, output.stderr].concat();
            String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned()
        });
        let tool = tool.unwrap_or_else(|e| e.to_string());
        format!("{tool}; Linux {release}")
    }
}

/// A file system, as its file submits it.
pub struct Kind(pub &'static dyn FileSystem);

inventory::collect!(Kind);

/// All supported file systems, by name.
pub fn kinds() -> &'static [&'static dyn FileSystem] {
    static KINDS: LazyLock<Vec<&'static dyn FileSystem>> = LazyLock::new(|| {
        let mut kinds: Vec<_> = inventory::iter::<Kind>().map(|kind| kind.0).collect();
        kinds.sort_unstable_by_key(|kind| kind.name());
        kinds
    });
    &KINDS
}

/// The file system with this name.
pub fn find(name: &str) -> Result<&'static dyn FileSystem, Error> {
    kinds().iter().find(|kind| kind.name() == name).copied().ok_or_else(|| {
        let known: Vec<_> = kinds().iter().map(|kind| kind.name()).collect();
        Error::UnknownKind { name: name.to_owned(), known: known.join(", ") }
    })
}

/// Checks that this process may create the file system, that the kernel supports it, and that its programs are installed.
pub fn ready(kind: &dyn FileSystem) -> Result<(), Error> {
    if !rustix::process::geteuid().is_root() {
        return Err(Error::NeedsRoot(kind.name()));
    }
    if !can_mount(kind) {
        return Err(Error::NotInKernel(kind.name()));
    }
    require_tools(kind)
}

/// Checks that its programs are installed.
pub fn require_tools(kind: &dyn FileSystem) -> Result<(), Error> {
    let (tools, package) = kind.tools();
    let found = tools.iter().try_for_each(|tool| require_tool(tool, package));
    missing(kind.install_hint(), found)
}

/// What a memory limit does not count on the file system that contains `path` ([`FileSystem::memory_limit_note`]).
pub fn memory_limit_note(path: &Path) -> Option<&'static str> {
    let existing = path.ancestors().find_map(|dir| std::fs::canonicalize(dir).ok())?;
    let mount = disk::mount_holding(&existing).ok()??;
    kinds().iter().find(|kind| kind.mount_name() == mount.kind)?.memory_limit_note()
}

/// Runs a program of `kind` to completion.
pub fn run(kind: &dyn FileSystem, command: &mut Command) -> Result<Output, Error> {
    missing(kind.install_hint(), run_tool(command, kind.tools().1))
}

/// The same, with an error if it fails, about `what`.
pub fn run_to_success(
    kind: &dyn FileSystem,
    what: &Path,
    doing: &'static str,
    command: &mut Command,
) -> Result<(), Error> {
    missing(kind.install_hint(), disk::run_to_success(command, kind.tools().1, doing, what))
}

/// Adds how to get a missing program, if it has no Debian package.
fn missing<T>(install_hint: Option<&'static str>, result: Result<T, disk::Error>) -> Result<T, Error> {
    result.map_err(|e| match (e, install_hint) {
        (disk::Error::MissingTool { tool, .. }, Some(get)) => Error::MissingTool { tool, get },
        (e, _) => e.into(),
    })
}

/// The kernel modules that it needs; none if a server of this program mounts it through FUSE.
pub fn modules(kind: &dyn FileSystem) -> Vec<&'static str> {
    if kind.fuse_server(Path::new("/"), &[]).is_some() { Vec::new() } else { kind.modules() }
}

/// Whether this machine's kernel can mount it, or a server can through FUSE.
pub fn can_mount(kind: &dyn FileSystem) -> bool {
    if kind.fuse_server(Path::new("/"), &[]).is_some() {
        return true;
    }
    if kind.in_persistent_memory() && vm::guest_environment().is_none() {
        return false;
    }
    let name = kind.mount_name();
    let listed = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if listed.lines().any(|line| line.split_whitespace().last() == Some(name)) {
        return true;
    }
    // Opening it makes the kernel load the module, if the module is registered for that name.
    match fsopen(name, FsOpenFlags::FSOPEN_CLOEXEC) {
        Ok(_) => true,
        Err(Errno::PERM) => has_module(name),
        Err(_) => {
            has_module(name)
                && run_tool(command("modprobe").args(["-q", name]), "kmod")
                    .is_ok_and(|output| output.status.success())
        }
    }
}

/// Whether a module of this name is installed for the running kernel.
fn has_module(name: &str) -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let modules = std::fs::read_to_string(format!("/lib/modules/{release}/modules.dep"));
    modules.unwrap_or_default().contains(&format!("/{name}.ko"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_file_system_error_lists_supported() {
        assert_eq!(find("xfs").unwrap().name(), "xfs");
        let message = find("hammer").err().unwrap().to_string();
        assert_eq!(
            message,
            "no file system named \"hammer\"; supported: bcachefs, betreefs, btrfs, ext4, ext4-dax, f2fs, nilfs2, \
             xfs, zfs"
        );
    }
}

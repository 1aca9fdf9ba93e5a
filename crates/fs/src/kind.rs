//! The file systems that can be made.

mod bcachefs;
mod betreefs;
mod btrfs;
mod ext4;
mod ext4_dax;
mod f2fs;
mod nilfs2;
mod xfs;
pub mod zfs;

use crate::{Error, TreeStat};
use disk::{BlockDevice, Extent, Serving, require_tool, run_tool};
use rustix::io::Errno;
use rustix::mount::{FsOpenFlags, fsopen};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Tells how the tree on a device lies.
pub type LookAtTree = fn(device: &Path) -> Result<TreeStat, Error>;

/// A kind of file system: what there is to know about it.
pub trait FileSystem: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// What mount calls it, if the kernel has it.
    fn mount_name(&self) -> &'static str {
        self.name()
    }

    /// The programs needed, and the Debian package that has them.
    fn tools(&self) -> (&'static [&'static str], &'static str);

    /// Where to get its programs, if Debian has no such package.
    fn tools_elsewhere(&self) -> Option<&'static str> {
        None
    }

    /// Makes it in the first `size_bytes` of `device`, labelled [`disk::LABEL`] and with a UUID of ours ([`disk::new_uuid`]), with the
    /// user's further options.
    /// What could differ between two runs of the same command is fixed where `mkfs` lets us. A device that is
    /// `zeroed` reads as zeros all over, as a fresh image does.
    fn mkfs(&self, device: &Path, size_bytes: u64, zeroed: bool, opts: &[String]) -> Command;

    /// Gives it a UUID of ours, where its `mkfs` cannot.
    fn set_uuid(&self, _device: &Path) -> Option<Command> {
        None
    }

    /// Further options of `mkfs` that make room for so many files and directories, where it would not by itself.
    fn room_for(&self, _size_bytes: u64, _inodes: u64) -> Vec<String> {
        Vec::new()
    }

    /// How this program serves it on `device`, mounted with these options, where the kernel does not have it.
    fn serving(&self, _device: &Path, _options: &[String]) -> Option<Serving> {
        None
    }

    /// Whether it is a pool of ZFS, which a daemon mounts and not the kernel.
    fn in_pool(&self) -> bool {
        false
    }

    /// The modules of the kernel that it needs.
    fn modules(&self) -> Vec<&'static str> {
        vec![self.mount_name()]
    }

    /// Whether it lies in persistent memory, which its files are read from past the page cache and without a request. Images are such
    /// memory in a virtual machine only.
    fn in_persistent_memory(&self) -> bool {
        false
    }

    /// Options that its makers advise for one of that size, where `mkfs` does not take them by itself.
    fn advised_mkfs_opts(&self, _size_bytes: u64) -> &'static [&'static str] {
        &[]
    }

    /// Checks it, unmounted, without changing anything. Status 0 says that it is clean. `None` where it has no checker.
    fn check(&self, device: &Path) -> Option<Command>;

    /// Prints the version of its programs.
    fn version_command(&self) -> Command;

    /// Options of mount before those of the user.
    fn default_mount_opts(&self) -> &'static [&'static str] {
        // Reading must not write.
        &["noatime"]
    }

    /// Whether the one on `device` was made by this program to be aged.
    fn is_ours(&self, device: &BlockDevice) -> Result<bool, Error> {
        Ok(device.is_ours()?)
    }

    /// The least size that its `mkfs` takes.
    fn min_size_bytes(&self) -> u64;

    /// The share of a device of that size that files surely take, where that is less than what aging fills by itself.
    fn most_full(&self, _size_bytes: u64) -> f64 {
        1.0
    }

    /// Threads that age it fastest on a machine with so many processors.
    fn default_threads(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    /// Files up to this size that are written lie in metadata, without blocks of their own.
    fn inline_limit_bytes(&self) -> u64 {
        0
    }

    /// Written files up to this size get their blocks in another way than preallocated ones, so that only allocating
    /// as if for writing imitates them.
    fn grouped_limit_bytes(&self, _block_bytes: u64) -> u64 {
        0
    }

    /// Whether preallocated blocks have their places at once. A log-structured file system gives places to what is written only,
    /// so that it must be aged by writing.
    fn places_when_preallocated(&self) -> bool {
        true
    }

    /// Whether the room of what is deleted can be had again. Where that is for a cleaner to do which does not run, all that is
    /// written must fit.
    fn frees(&self) -> bool {
        true
    }

    /// The longest extent it can make of blocks of that size.
    fn max_extent_bytes(&self, block_bytes: u64) -> u64;

    /// Whether it tells where the blocks of a file lie.
    fn maps_files(&self) -> bool {
        true
    }

    /// The free extents of the file system mounted at `root`, by address, if it tells.
    fn free_extents(&self, root: &Path) -> Result<Option<Vec<Extent>>, Error> {
        crate::ioctl::fsmap::free_extents(root)
            .map(Some)
            .map_err(Error::io("listing the free space of", root))
    }

    /// Whether FIEMAP tells where files lie on the device, and not in an address space of its own: then what files hold is nowhere else.
    fn maps_to_device(&self) -> bool {
        false
    }

    /// Options that keep mounting it to be read only from writing to its device at all, as replaying a journal does.
    fn untouched_mount_opts(&self) -> &'static [&'static str] {
        &[]
    }

    /// The extents of `device` that hold nothing of the file system on it, which is mounted at `root` to be read only: whatever their
    /// bytes are, it is the same file system. In any order; none counts that is not surely one. `None` where it does not
    /// tell.
    fn unused(&self, _device: &Path, _root: &Path) -> Result<Option<Vec<Extent>>, Error> {
        Ok(None)
    }

    /// Tells how the tree lies that it keeps everything in, on a device where it is not mounted; `None` where it is no tree
    /// that could be told of.
    fn tree(&self) -> Option<LookAtTree> {
        None
    }

    /// Writes back all that is delayed in the file system mounted at `root`.
    fn settle(&self, root: &Path) -> Result<(), Error> {
        crate::volume::settle(root)
    }

    /// The directory of the settings by which what is written to the file system mounted at `root` goes to its device.
    fn write_back(&self, root: &Path) -> Result<PathBuf, Error> {
        let device = rustix::fs::stat(root).map_err(Error::io("checking", root))?.st_dev;
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        Ok(PathBuf::from(format!("/sys/class/bdi/{major}:{minor}")))
    }

    /// Sets the read-ahead where the file system does not take that of its device.
    fn set_read_ahead(&self, _root: &Path, _kb: u32) -> Result<(), Error> {
        Ok(())
    }

    /// Versions of its programs and of the kernel.
    fn version(&self) -> String {
        let output = run_tool(&mut self.version_command(), self.tools().1);
        let tool = missing(self.tools_elsewhere(), output).map(|output| {
            // Some print it on one stream, some on the other.
            let text = [output.stdout, output.stderr].concat();
            String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned()
        });
        let kernel = rustix::system::uname();
        let tool = tool.unwrap_or_else(|e| e.to_string());
        format!("{tool}; Linux {}", kernel.release().to_string_lossy())
    }
}

/// All file systems that can be made.
pub fn kinds() -> &'static [&'static dyn FileSystem] {
    &[
        &ext4::Ext4,
        &xfs::Xfs,
        &btrfs::Btrfs,
        &betreefs::Betreefs,
        &f2fs::F2fs,
        &nilfs2::Nilfs2,
        &bcachefs::Bcachefs,
        &ext4_dax::Ext4Dax,
        &zfs::Zfs,
    ]
}

/// The file system of that name.
pub fn find(name: &str) -> Result<&'static dyn FileSystem, Error> {
    kinds().iter().find(|kind| kind.name() == name).copied().ok_or_else(|| {
        let known: Vec<_> = kinds().iter().map(|kind| kind.name()).collect();
        Error::UnknownKind { name: name.to_owned(), known: known.join(", ") }
    })
}

/// Checks that we may make a file system, that the kernel has it, and that its programs are installed.
pub fn ready(kind: &dyn FileSystem) -> Result<(), Error> {
    if !rustix::process::geteuid().is_root() {
        return Err(Error::NeedsRoot(kind.name()));
    }
    if !in_kernel(kind) {
        return Err(Error::NotInKernel(kind.name()));
    }
    has_tools(kind)
}

/// Checks that its programs are installed.
pub fn has_tools(kind: &dyn FileSystem) -> Result<(), Error> {
    let (tools, package) = kind.tools();
    let found = tools.iter().try_for_each(|tool| require_tool(tool, package));
    missing(kind.tools_elsewhere(), found)
}

/// Runs a program of `kind` to its end.
pub fn run(kind: &dyn FileSystem, command: &mut Command) -> Result<Output, Error> {
    missing(kind.tools_elsewhere(), run_tool(command, kind.tools().1))
}

/// Says of a program that is missing where it can be had, if that is elsewhere than in Debian.
fn missing<T>(elsewhere: Option<&'static str>, result: Result<T, disk::Error>) -> Result<T, Error> {
    result.map_err(|e| match (e, elsewhere) {
        (disk::Error::MissingTool { tool, .. }, Some(get)) => Error::MissingTool { tool, get },
        (e, _) => e.into(),
    })
}

/// Whether this machine's kernel can mount it, or a program that needs no more than FUSE.
pub fn in_kernel(kind: &dyn FileSystem) -> bool {
    if kind.serving(Path::new("/"), &[]).is_some() || kind.in_pool() {
        return true;
    }
    if kind.in_persistent_memory() && vm::inside().is_none() {
        return false;
    }
    let name = kind.mount_name();
    let listed = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if listed.lines().any(|line| line.split_whitespace().last() == Some(name)) {
        return true;
    }
    // To be asked for it makes the kernel load the module.
    match fsopen(name, FsOpenFlags::FSOPEN_CLOEXEC) {
        Ok(_) => true,
        Err(Errno::PERM) => {
            let release = rustix::system::uname().release().to_string_lossy().into_owned();
            let modules = std::fs::read_to_string(format!("/lib/modules/{release}/modules.dep"));
            modules.unwrap_or_default().contains(&format!("/{name}.ko"))
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_file_system_is_told_what_there_is() {
        assert_eq!(find("xfs").unwrap().name(), "xfs");
        let message = find("hammer").err().unwrap().to_string();
        assert_eq!(
            message,
            "no file system named \"hammer\"; supported: ext4, xfs, btrfs, betreefs, f2fs, nilfs2, bcachefs, \
             ext4-dax, zfs"
        );
    }
}

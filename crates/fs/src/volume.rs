//! A file system created by this program: on a mount point and a disk that nobody else uses.

use crate::config::only_reads;
use crate::kind::{self, FileSystem};
use crate::mounted::Mounted;
use crate::target::{CheckReport, Target};
use crate::{AddressMap, Error, TreeStat, VolumeConfig};
use disk::modelled::{Clock, ModelledDisk};
use disk::{
    BlockDevice, CacheResidency, DirtyLimit, Extent, Image, LoopDevice, ReadAhead, Session,
    drop_device_cache, drop_file_cache, drop_inode_cache, is_on_tmpfs, mount_holding,
};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

/// The underlying disk.
pub enum Disk {
    /// An image through a loop device.
    Loop { image: Image, device: LoopDevice },
    /// An image that is persistent memory of this virtual machine.
    Memory { device: BlockDevice, read_ahead: ReadAhead },
    /// A block device.
    Device { device: BlockDevice, read_ahead: ReadAhead },
    /// A modelled disk through a loop device, which is detached first.
    Modelled { device: LoopDevice, disk: Box<ModelledDisk> },
}

impl Disk {
    /// Attaches an image.
    pub fn image(
        session: &Arc<Session>,
        kind: &dyn FileSystem,
        image: Image,
        config: &VolumeConfig,
    ) -> Result<Disk, Error> {
        let memory = match vm::attached_disk(image.path()) {
            None if kind.in_persistent_memory() => Some(vm::persistent_memory(image.path())?),
            attached => attached,
        };
        if let Some(device) = memory {
            let device = BlockDevice::open(&device)?;
            let read_ahead = ReadAhead::set(device.devno(), config.read_ahead_kb)?;
            return Ok(Disk::Memory { device, read_ahead });
        }
        let attach =
            if only_reads(&config.mount_opts) { LoopDevice::attach_read_only } else { LoopDevice::attach };
        let device = attach(session, image.path(), config.read_ahead_kb)?;
        Ok(Disk::Loop { image, device })
    }

    /// A message about failed requests of a modelled disk; `mkfs` only reports that they failed.
    fn failures(&self) -> Option<String> {
        match self {
            Disk::Modelled { disk, .. } => disk.status().ok()?.failures(),
            Disk::Loop { .. } | Disk::Memory { .. } | Disk::Device { .. } => None,
        }
    }

    /// Sets up a device.
    pub fn device(device: BlockDevice, config: &VolumeConfig) -> Result<Disk, Error> {
        let read_ahead = ReadAhead::set(device.devno(), config.read_ahead_kb)?;
        Ok(Disk::Device { device, read_ahead })
    }

    /// Attaches the modelled disk in `dir` with this clock.
    pub fn modelled(
        session: &Arc<Session>,
        dir: &Path,
        clock: Clock,
        config: &VolumeConfig,
    ) -> Result<Disk, Error> {
        let disk = ModelledDisk::attach_with_clock(session, dir, clock)?;
        let device = LoopDevice::attach_modelled(session, &disk, config.read_ahead_kb)?;
        Ok(Disk::Modelled { device, disk: disk.into() })
    }

    /// Sets the read-ahead again, because `mkfs` may have changed limits of the device.
    fn hold_read_ahead(&self) -> Result<(), Error> {
        match self {
            Disk::Loop { device, .. } | Disk::Modelled { device, .. } => device.hold_read_ahead()?,
            Disk::Device { read_ahead, .. } | Disk::Memory { read_ahead, .. } => read_ahead.hold()?,
        }
        Ok(())
    }

    fn path(&self) -> &Path {
        match self {
            Disk::Loop { device, .. } | Disk::Modelled { device, .. } => device.device(),
            Disk::Device { device, .. } | Disk::Memory { device, .. } => device.path(),
        }
    }

    fn devno(&self) -> (u32, u32) {
        match self {
            Disk::Loop { device, .. } | Disk::Modelled { device, .. } => device.devno(),
            Disk::Device { device, .. } | Disk::Memory { device, .. } => device.devno(),
        }
    }
}

/// A mounted file system.
pub struct Volume {
    kind: &'static dyn FileSystem,
    // Dropped before the disk.
    mount: Mounted,
    disk: Disk,
    read_ahead_kb: u32,
    mkfs: Option<String>,
    block_bytes: u64,
}

impl Volume {
    /// Creates a file system on `disk` and mounts it.
    pub fn make(
        session: &Arc<Session>,
        kind: &'static dyn FileSystem,
        config: &VolumeConfig,
        disk: Disk,
    ) -> Result<Volume, Error> {
        let fresh_image = !matches!(disk, Disk::Device { .. });
        let mkfs = kind.mkfs(disk.path(), config.size_bytes, fresh_image, &config.all_mkfs_opts());
        let command = line(&mkfs);
        let failed = |command: &mut Command| -> Result<Option<Error>, Error> {
            let output = kind::run(kind, command)?;
            let why = [Some(last_error_line(&output)), disk.failures()];
            let why = why.into_iter().flatten().collect::<Vec<_>>().join("; ");
            Ok((!output.status.success()).then(|| Error::Mkfs { command: line(command), why }))
        };
        for mut command in std::iter::once(mkfs).chain(kind.set_uuid(disk.path())) {
            if let Some(error) = failed(&mut command)? {
                return Err(error);
            }
        }
        Volume::open(session, kind, config, disk, Some(command))
    }

    /// Mounts the file system on `disk`.
    pub fn open(
        session: &Arc<Session>,
        kind: &'static dyn FileSystem,
        config: &VolumeConfig,
        disk: Disk,
        mkfs: Option<String>,
    ) -> Result<Volume, Error> {
        let defaults = kind.default_mount_opts().iter().map(|o| o.to_string());
        let options: Vec<_> = defaults.chain(config.mount_opts.iter().cloned()).collect();
        let mount = Mounted::new(session, kind, disk.path(), &options)?;
        let numbers =
            rustix::fs::statvfs(mount.dir()).map_err(Error::io("reading the block size of", mount.dir()))?;
        let volume = Volume {
            kind,
            mount,
            disk,
            read_ahead_kb: config.read_ahead_kb,
            mkfs,
            block_bytes: numbers.f_bsize,
        };
        volume.set_read_ahead()?;
        Ok(volume)
    }

    /// The current mount options, as the kernel reports them.
    fn mount_options(&self) -> Result<String, Error> {
        Ok(mount_holding(self.root())?.map(|mount| mount.options).unwrap_or_default())
    }

    fn remount(&mut self) -> Result<(), Error> {
        self.mount.mount()?;
        self.set_read_ahead()
    }

    /// Sets the read-ahead of the mounted file system, which has its own or that of its disk.
    fn set_read_ahead(&self) -> Result<(), Error> {
        self.disk.hold_read_ahead()?;
        self.kind.set_read_ahead(self.root(), self.read_ahead_kb)
    }

    /// Drops the kernel's caches of the disk, and of its image.
    fn drop_disk_caches(&self) -> Result<Vec<String>, Error> {
        drop_device_cache(self.disk.path())?;
        let mut messages = vec![format!("dropped the cached blocks of {}", self.disk.path().display())];
        if let Disk::Loop { image, device } = &self.disk {
            let path = image.path().display();
            if is_on_tmpfs(image.path())? {
                messages.push(format!(
                    "could not make {path} cold: it is in memory (tmpfs), so reads do not reach a disk"
                ));
                return Ok(messages);
            }
            messages.push(match drop_file_cache(image.path())? {
                CacheResidency::Bytes(0) => format!("dropped the cached pages of {path}, none left"),
                CacheResidency::Bytes(n) => format!("could not drop {n} cached bytes of {path}"),
                CacheResidency::Unknown => {
                    format!("dropped the cached pages of {path}, unverified: needs Linux 6.5")
                }
            });
            if !device.direct_io() {
                let why = "its file system does not support direct I/O";
                messages.push(format!("could not keep reads of {path} out of the page cache: {why}"));
            }
        }
        if let Disk::Modelled { .. } = &self.disk {
            let why = "the modelled disk is accessed by direct I/O, and the memory of its server is not a \
                       cache of the model";
            messages.push(format!("no cache below: {why}"));
        }
        Ok(messages)
    }

    /// Runs `work` on the modelled disk while it is not mounted.
    fn unmounted(
        &mut self,
        work: impl FnOnce(&ModelledDisk) -> Result<(), disk::Error>,
    ) -> Result<(), Error> {
        let Disk::Modelled { disk, .. } = &self.disk else {
            return Err(Error::NotModelled(self.disk.path().to_owned()));
        };
        self.mount.unmount()?;
        // Another run may have copied the mount with its namespace; changing the disk would break that copy.
        let free = wait_until_free(self.disk.path());
        // The kernel's caches of the disk may be stale afterwards.
        let done = free.and_then(|()| work(disk)).and_then(|()| drop_device_cache(self.disk.path()));
        self.remount()?;
        Ok(done?)
    }
}

impl Target for Volume {
    fn root(&self) -> &Path {
        self.mount.dir()
    }

    fn device(&self) -> Option<(PathBuf, (u32, u32))> {
        Some((self.disk.path().to_owned(), self.disk.devno()))
    }

    fn sync(&self) -> Result<(), Error> {
        self.kind.sync(self.root())
    }

    fn drop_caches(&mut self) -> Result<Vec<String>, Error> {
        self.mount.unmount()?;
        // The file system must be mounted again even if the caches cannot be dropped.
        let dropped = self.drop_disk_caches().and_then(|messages| Ok(drop_inode_cache().map(|()| messages)?));
        self.remount()?;
        let mut messages = dropped?;
        let anew =
            if self.kind.in_pool() { "exported and imported again" } else { "unmounted and mounted again" };
        messages.insert(0, anew.to_owned());
        messages.push("dropped cached directory entries and inodes".to_owned());
        if self.kind.in_persistent_memory() {
            messages
                .push(format!("files are read from persistent memory, mounted {}", self.mount_options()?));
        }
        if let Some(guest) = vm::guest_environment() {
            messages.push(format!(
                "in a virtual machine ({}): caches of the host were not dropped",
                guest.description()
            ));
        }
        Ok(messages)
    }

    fn check(&mut self) -> Result<Option<CheckReport>, Error> {
        let Some(mut check) = self.kind.check(self.disk.path()) else { return Ok(None) };
        self.mount.unmount()?;
        let command = line(&check);
        let output = kind::run(self.kind, &mut check);
        self.remount()?;
        let output = output?;
        let text = [output.stdout, output.stderr].concat();
        let output_text = String::from_utf8_lossy(&text).into_owned();
        Ok(Some(CheckReport { clean: output.status.success(), command, output: output_text }))
    }

    fn free_extents(&self) -> Result<Option<Vec<Extent>>, Error> {
        self.kind.free_extents(self.root())
    }

    fn address_map(&self) -> Result<Option<AddressMap>, Error> {
        self.kind.address_map(self.root())
    }

    fn unused_extents(&self) -> Result<Option<Vec<Extent>>, Error> {
        self.kind.unused_extents(self.disk.path(), self.root())
    }

    fn tree_stat(&mut self) -> Result<Option<TreeStat>, Error> {
        let Some(tree_stat) = self.kind.tree_stat_fn() else { return Ok(None) };
        self.mount.unmount()?;
        let stat = tree_stat(self.disk.path());
        self.remount()?;
        stat.map(Some)
    }

    fn makes_requests(&self) -> bool {
        !matches!(self.disk, Disk::Memory { .. })
    }

    fn supports_fiemap(&self) -> bool {
        self.kind.supports_fiemap()
    }

    fn kind_name(&self) -> &str {
        self.kind.name()
    }

    fn version(&self) -> String {
        self.kind.version()
    }

    fn mkfs_command(&self) -> Option<String> {
        self.mkfs.clone()
    }

    fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    fn max_extent_bytes(&self) -> u64 {
        self.kind.max_extent_bytes(self.block_bytes)
    }

    fn modelled(&self) -> Option<&ModelledDisk> {
        match &self.disk {
            Disk::Modelled { disk, .. } => Some(disk),
            Disk::Loop { .. } | Disk::Memory { .. } | Disk::Device { .. } => None,
        }
    }

    fn limit_dirty(&self, bytes: u64) -> Result<DirtyLimit, Error> {
        // Kernels before 6.2 limit only all disks together, which in a machine of our own is this one.
        if vm::has_virtual_clock() {
            return Ok(DirtyLimit::of_machine(bytes)?);
        }
        Ok(DirtyLimit::set(&self.kind.bdi_dir(self.root())?, bytes)?)
    }

    fn snapshot(&mut self, name: &str) -> Result<(), Error> {
        self.unmounted(|disk| disk.snapshot(name))
    }

    fn rollback(&mut self, name: &str) -> Result<(), Error> {
        self.unmounted(|disk| disk.rollback(name))
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        let Volume { mut mount, disk, .. } = *self;
        mount.unmount()?;
        match disk {
            Disk::Loop { device, .. } => device.detach()?,
            Disk::Memory { .. } | Disk::Device { .. } => {}
            Disk::Modelled { device, disk } => {
                device.detach()?;
                disk.detach()?;
            }
        }
        Ok(())
    }
}

/// Waits until no other process uses a device, with a limit.
fn wait_until_free(device: &Path) -> Result<(), disk::Error> {
    for wait_ms in [1, 10, 100, 1000, 5000] {
        if BlockDevice::open(device).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(wait_ms));
    }
    BlockDevice::open(device).map(drop)
}

/// Writes back all delayed data of the file system that contains `root`.
pub fn sync(root: &Path) -> Result<(), Error> {
    let doing = "syncing the file system of";
    let file = File::open(root).map_err(Error::io(doing, root))?;
    rustix::fs::syncfs(file).map_err(Error::io(doing, root))
}

/// A command line as the user would type it.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    line.replacen("/proc/self/exe ", "senesce ", 1)
}

/// The last line of a failed `mkfs` before its usage message.
fn last_error_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let explains = |line: &str| ["usage:", "tip:"].iter().any(|word| line.to_lowercase().starts_with(word));
    let lines = text.lines().map(str::trim).take_while(|line| !explains(line));
    lines.filter(|line| !line.is_empty()).last().map_or_else(|| output.status.to_string(), str::to_owned)
}

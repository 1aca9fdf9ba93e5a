//! The loop device that holds a store: backed by a file on a disk of this machine, or by a modelled disk in memory.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use disk::model::{LogCost, price};
use disk::modelled::{Clock, DiskSettings, ModelledDisk};
use disk::{DeviceCounters, Image, LoopDevice, MemoryLimit, Model, Mount, Scratch, Session};

use crate::stores::{self, Kind};
use crate::work::Phase;

/// Device models of the modelled times.
const MODELS: [&str; 2] = ["hdd-7200", "ssd-sata"];

/// The measurements of a phase.
pub struct PhaseResult {
    pub seconds: f64,
    /// Peak memory of the process in MiB, without page cache.
    pub memory_mib: u64,
    /// Bytes that the device read and wrote.
    pub moved: DeviceCounters,
    /// Times of the requests on the models.
    pub priced: Vec<LogCost>,
}

pub struct Backing {
    session: Arc<Session>,
    store: Kind,
    size_bytes: u64,
    // Dropped in this order.
    mount: Option<Mount>,
    device: LoopDevice,
    modelled: Option<ModelledDisk>,
    _scratch: Scratch,
}

impl Backing {
    pub fn create(
        session: &Arc<Session>,
        dir: &Path,
        size_bytes: u64,
        store: Kind,
        modelled: bool,
    ) -> Result<Self> {
        let scratch = Scratch::make(session, dir, "senesce-stores")?;
        let (modelled, file) = if modelled {
            let at = scratch.path().join("disk");
            ModelledDisk::create(&at, &DiskSettings::new(size_bytes, "ideal", Clock::Model))?;
            let disk = ModelledDisk::attach(session, &at)?;
            let file = disk.file().to_owned();
            (Some(disk), file)
        } else {
            let image = Image::create(&scratch.path().join("image"), size_bytes)?;
            (None, image.path().to_owned())
        };
        let device = LoopDevice::attach(session, &file, 128)?;
        let mut this = Self {
            session: Arc::clone(session),
            store,
            size_bytes,
            mount: None,
            device,
            modelled,
            _scratch: scratch,
        };
        if store.needs_file_system() {
            let mut command = disk::command("mkfs.ext4");
            // Without these options the kernel initializes inode tables in the background, during the measurement.
            command.args(["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]);
            let made = disk::run_tool(command.arg(this.device.device()), "e2fsprogs")?;
            ensure!(made.status.success(), "mkfs.ext4: {}", String::from_utf8_lossy(&made.stderr));
            this.mount = Some(Mount::new(session, this.device.device(), "ext4", &["noatime".into()])?);
        } else {
            // Like `mkfs` for the other stores, before the measurement.
            stores::make_betree(this.device.device())?;
        }
        Ok(this)
    }

    fn path(&self) -> PathBuf {
        self.mount.as_ref().map_or(self.device.device(), Mount::dir).to_owned()
    }

    /// Runs a phase in its own process, from a cold cache until all data is on the disk.
    pub fn phase(&mut self, phase: Phase, count: u64, cache_bytes: u64) -> Result<PhaseResult> {
        let before = DeviceCounters::read(self.device.devno())?;
        if let Some(disk) = &self.modelled {
            disk.start_log()?;
        }
        let name = |value: &dyn ToString| value.to_string();
        let word = |value: Option<clap::builder::PossibleValue>| {
            value.expect("no value is hidden").get_name().to_owned()
        };
        let mut command = Command::new(std::env::current_exe()?);
        command.args([
            "phase".into(),
            word(phase.to_possible_value()),
            word(self.store.to_possible_value()),
            name(&self.path().display()),
            name(&count),
            name(&cache_bytes),
        ]);
        let limit = MemoryLimit::new(&self.session, 2 * cache_bytes)?;
        limit.confine(&mut command)?;
        let printed = output(&mut command)?;
        let began = std::time::Instant::now();
        // Unmounting writes the page cache to the disk and empties it.
        if let Some(mount) = &mut self.mount {
            mount.unmount()?;
        }
        let written = began.elapsed().as_secs_f64();
        let moved = DeviceCounters::read(self.device.devno())?.since(before);
        let mut priced = Vec::new();
        if let Some(disk) = &self.modelled {
            let (requests, lost) = disk.end_log()?;
            ensure!(lost == 0, "{lost} requests did not fit into the log");
            for model in MODELS {
                priced.push(price(&Model::find(model)?, self.size_bytes, &requests));
            }
        }
        disk::drop_device_cache(self.device.device())?;
        if let Some(mount) = &mut self.mount {
            mount.mount()?;
        }
        limit.remove()?;
        let (seconds, kib) = printed.trim().split_once(' ').context("no output of a phase")?;
        Ok(PhaseResult {
            seconds: seconds.parse::<f64>()? + written,
            memory_mib: kib.parse::<u64>()? >> 10,
            moved,
            priced,
        })
    }

    /// Unmounts and detaches everything.
    pub fn remove(self) -> Result<()> {
        drop(self.mount);
        self.device.detach()?;
        self.modelled.map_or(Ok(()), ModelledDisk::detach)?;
        Ok(())
    }
}

/// Runs a phase and returns its output. Kills the phase if this process is interrupted.
fn output(command: &mut Command) -> Result<String> {
    let mut phase = command.stdout(Stdio::piped()).spawn().context("starting a phase")?;
    loop {
        // The phase prints a single line at its end, which fits into the pipe buffer.
        if let Some(status) = disk::wait_timeout(&mut phase, Duration::from_millis(100))? {
            ensure!(!disk::interrupted(), "interrupted");
            ensure!(status.success(), "a phase failed: {status}");
            return Ok(std::io::read_to_string(phase.stdout.take().context("it is a pipe")?)?);
        }
        if disk::interrupted() {
            phase.kill()?;
        }
    }
}

//! Where a store lies: a loop device over a file of the machine's disk, or over a modelled disk in memory.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use disk::model::{Priced, price};
use disk::modelled::{Clock, DiskSettings, ModelledDisk};
use disk::{DeviceCounters, Image, LoopDevice, MemoryLimit, Model, Mount, Scratch, Session};

use crate::stores::{self, Kind};
use crate::work::Phase;

/// The models that requests are priced on.
const MODELS: [&str; 2] = ["hdd-7200", "ssd-sata"];

/// What a phase took.
pub struct Took {
    pub seconds: f64,
    /// Memory of the process at most, in MiB, without the page cache.
    pub memory_mib: u64,
    /// Bytes that the device moved.
    pub moved: DeviceCounters,
    /// What the requests cost on models.
    pub priced: Vec<Priced>,
}

pub struct Place {
    session: Arc<Session>,
    store: Kind,
    size_bytes: u64,
    // Taken down in this order.
    mount: Option<Mount>,
    device: LoopDevice,
    modelled: Option<ModelledDisk>,
    _scratch: Scratch,
}

impl Place {
    pub fn make(
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
            // The kernel would otherwise write inode tables behind the back of a measurement.
            command.args(["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]);
            let made = disk::run_tool(command.arg(this.device.device()), "e2fsprogs")?;
            ensure!(made.status.success(), "mkfs.ext4: {}", String::from_utf8_lossy(&made.stderr));
            this.mount = Some(Mount::new(session, this.device.device(), "ext4", &["noatime".into()])?);
        } else {
            // As `mkfs` does for the others.
            stores::make_betree(this.device.device())?;
        }
        Ok(this)
    }

    fn at(&self) -> PathBuf {
        self.mount.as_ref().map_or(self.device.device(), Mount::dir).to_owned()
    }

    /// Runs a phase in a process of its own, from a cold start until all is on the disk.
    pub fn phase(&mut self, phase: Phase, count: u64, cache_bytes: u64) -> Result<Took> {
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
            name(&self.at().display()),
            name(&count),
            name(&cache_bytes),
        ]);
        let limit = MemoryLimit::new(&self.session, 2 * cache_bytes)?;
        limit.confine(&mut command)?;
        let said = output(&mut command)?;
        let began = std::time::Instant::now();
        // What is in the page cache goes to the disk, and nothing stays there.
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
        let (seconds, kib) = said.trim().split_once(' ').context("no output of a phase")?;
        Ok(Took {
            seconds: seconds.parse::<f64>()? + written,
            memory_mib: kib.parse::<u64>()? >> 10,
            moved,
            priced,
        })
    }

    /// Takes everything down.
    pub fn remove(self) -> Result<()> {
        drop(self.mount);
        self.device.detach()?;
        self.modelled.map_or(Ok(()), ModelledDisk::detach)?;
        Ok(())
    }
}

/// What a phase prints. It is ended when this process is interrupted.
fn output(command: &mut Command) -> Result<String> {
    let mut phase = command.stdout(Stdio::piped()).spawn().context("starting a phase")?;
    loop {
        // It prints a line when it ends, for which there is room in the pipe.
        if let Some(status) = disk::ended_within(&mut phase, Duration::from_millis(100))? {
            ensure!(!disk::interrupted(), "interrupted");
            ensure!(status.success(), "a phase failed: {status}");
            return Ok(std::io::read_to_string(phase.stdout.take().context("it is a pipe")?)?);
        }
        if disk::interrupted() {
            phase.kill()?;
        }
    }
}

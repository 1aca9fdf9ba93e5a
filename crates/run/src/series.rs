//! A series: a workload ages a file system round by round, and it is measured with its unaged copy after the selected rounds.

use crate::aged_pair::{AgedPair, OpenPair};
use crate::compare::SUBJECTS;
use crate::compare::unaged::{self, Unaged};
use crate::error::unless_interrupted;
use crate::one_cpu::OneCpu;
use crate::scanned::HDD_MODEL;
use crate::site::Bridge;
use crate::survey::{Cache, Detail, Survey};
use crate::{Error, messages};
use disk::model::Model;
use disk::{DeviceCounters, Session};
use fs::{Location, Target, VolumeConfig};
use probe::Reader;
use ranks::Group;
use results::measures;
use results::{Measurement, NewRun, RunId, Store, Watch};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use workload::profile::ProfileOutcome;
use workload::{Driver, ResumePoint, Site, Start, Terms, Workload};

/// The kind of the runs of checkpoints in the store.
const CHECKPOINT: &str = "checkpoint";

/// What to measure, and when.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The rounds, ascending, at least one.
    pub rounds: Vec<u64>,
    /// The measured rounds.
    pub measured: Vec<u64>,
    /// Cold scans of each side.
    pub repeat: u64,
    /// Seconds without any access before a cold scan.
    pub quiet_s: u64,
    /// Whether the unaged copy is made and measured too.
    pub unaged: bool,
    /// The rounds for which the position of files is recorded.
    pub pictures: Vec<u64>,
    /// Memory limits for repeated scans with a warm cache after the last round.
    pub memory_bytes: Vec<u64>,
}

impl Schedule {
    /// All checkpoints in order.
    pub fn checkpoints(&self) -> impl Iterator<Item = Checkpoint> {
        let rounds = self.measured.iter().copied().map(Checkpoint::Round);
        rounds.chain(self.memory_bytes.iter().copied().map(Checkpoint::Memory))
    }

    /// The last round.
    fn last(&self) -> u64 {
        *self.rounds.last().expect("a schedule has a round")
    }

    /// The round after which a checkpoint is taken.
    fn round_of(&self, at: Checkpoint) -> u64 {
        match at {
            Checkpoint::Round(round) => round,
            Checkpoint::Memory(_) => self.last(),
        }
    }
}

/// The time of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Checkpoint {
    /// After a round, with a cold cache.
    Round(u64),
    /// After the last round, with a warm cache within this many bytes of memory.
    Memory(u64),
}

impl Checkpoint {
    /// The position on the axis of a figure.
    pub fn number(self) -> u64 {
        match self {
            Checkpoint::Round(number) | Checkpoint::Memory(number) => number,
        }
    }
}

/// Identifies the checkpoints of a series in a store.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Name of the runs.
    pub name: String,
    /// Everything that the measurements depend on, except the round: a JSON object.
    pub parameters: serde_json::Value,
}

impl Identity {
    fn at(&self, at: Checkpoint) -> serde_json::Value {
        let mut parameters = self.parameters.clone();
        match at {
            Checkpoint::Round(round) => parameters["round"] = round.into(),
            Checkpoint::Memory(bytes) => parameters["memory_bytes"] = bytes.into(),
        }
        parameters
    }

    /// The run that holds a checkpoint, if this version of the program completed it.
    pub fn find(&self, store: &Store, at: Checkpoint) -> Result<Option<RunId>, results::Error> {
        store.last_done(CHECKPOINT, &self.name, &self.at(at))
    }

    /// Whether the store holds all these rounds.
    pub fn has_all(&self, store: &Store, rounds: &[u64]) -> Result<bool, Error> {
        for round in rounds {
            if self.find(store, Checkpoint::Round(*round))?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Records all measurements of a round.
    pub fn record(
        &self,
        store: &Store,
        round: u64,
        (command, seed): (&str, u64),
        numbers: &[Measurement],
    ) -> Result<(), Error> {
        let run = self.begin(store, Checkpoint::Round(round), command, seed)?;
        let recorded = store.record_all(run, numbers);
        store.end_with(run, &recorded)?;
        Ok(recorded?)
    }

    /// Records that the measurement of a checkpoint starts.
    pub fn begin(
        &self,
        store: &Store,
        at: Checkpoint,
        command: &str,
        seed: u64,
    ) -> Result<RunId, results::Error> {
        store.begin(&NewRun {
            kind: CHECKPOINT,
            name: &self.name,
            command,
            seed: Some(seed),
            parameters: self.at(at),
        })
    }

    /// Marks existing checkpoints as replaced, so that they are measured again.
    pub fn forget(&self, store: &Store, schedule: &Schedule) -> Result<(), Error> {
        for at in schedule.checkpoints() {
            if let Some(run) = self.find(store, at)? {
                store.end(run, "replaced", None)?;
            }
        }
        Ok(())
    }
}

/// A series in progress.
pub struct Series<'a> {
    /// The session that cleans up after a kill.
    pub session: &'a Arc<Session>,
    /// The result store.
    pub store: &'a Store,
    /// Identifies the checkpoints in the store.
    pub identity: &'a Identity,
    /// The full command line, for the record.
    pub command: &'a str,
    /// The work directory.
    pub work: &'a Path,
    /// The file system to make.
    pub volume: VolumeConfig,
    /// The device that may be erased, if it is made on one.
    pub erase: Option<&'a str>,
    /// The random seed.
    pub seed: u64,
    /// The rounds, and what is measured after them.
    pub schedule: &'a Schedule,
    /// The disks used to compute the cost of scans.
    pub models: &'a [Model],
    /// Whether the workload stays on one processor, for a repeatable layout.
    pub one_cpu: bool,
    /// The ranks that share an aging by a profile.
    pub group: &'a mut dyn Group,
    /// Receives the progress.
    pub watch: &'a mut dyn Watch,
    /// Saves where the workload can continue after a kill.
    pub save: &'a mut dyn FnMut(&ResumePoint) -> Result<(), Error>,
}

impl Series<'_> {
    /// Runs the rounds that the store does not hold yet, and removes the file system.
    pub fn run(&mut self, workload: &dyn Workload) -> Result<(), Error> {
        let left = self.left()?;
        if left.is_empty() {
            return Ok(());
        }
        let driver = workload.start(&Start {
            seed: self.seed,
            last_round: self.schedule.last(),
            volume: &self.volume,
            work: self.work,
            session: self.session,
            terms: &Terms::default(),
            segments: &[],
            redo_to: 0,
            tool: results::TOOL,
        })?;
        let aged = self.advance(driver, None, &left);
        unless_interrupted(aged.and_then(|(target, _)| self.discard(target)))
    }

    /// Runs all rounds on `target`, measures those that the store does not hold yet, and returns the aged file system, with what an aging by a
    /// profile reached.
    pub fn age(
        &mut self,
        driver: Box<dyn Driver>,
        target: Box<dyn Target>,
    ) -> Result<(Box<dyn Target>, Option<ProfileOutcome>), Error> {
        let left = self.left()?;
        let last = self.schedule.last();
        let rounds = if left.contains(&last) { left } else { [left, vec![last]].concat() };
        self.advance(driver, Some(target), &rounds)
    }

    /// Ages up to the last of `rounds`, at least one, on `target` or a file system that is made here; measures each that the store does not hold.
    /// Returns the file system of the last, with what an aging by a profile reached.
    fn advance(
        &mut self,
        driver: Box<dyn Driver>,
        target: Option<Box<dyn Target>>,
        rounds: &[u64],
    ) -> Result<(Box<dyn Target>, Option<ProfileOutcome>), Error> {
        let last = *rounds.last().expect("there is a round");
        let mut kept = target;
        // Declared after the file system, so that an error drops the driver first: no process of the driver may use the file system when it
        // is unmounted.
        let mut driver = driver;
        let parent = self.volume.location.clone();
        let on_the_way = |round: &u64| *round <= last && (!driver.is_fresh() || rounds.contains(round));
        let way: Vec<u64> = self.schedule.rounds.iter().copied().filter(on_the_way).collect();
        let mut written_bytes = 0;
        for (nth, round) in way.into_iter().enumerate() {
            // If a round fails, dropping the target unmounts its file system.
            let target = match kept.take() {
                Some(target) if nth == 0 || !driver.is_fresh() => target,
                old => {
                    old.map_or(Ok(()), |target| self.discard(target))?;
                    written_bytes = 0;
                    // A directory got its path when it was created.
                    self.volume.location = parent.clone();
                    fs::make(self.session, &mut self.volume, self.erase)?
                }
            };
            let target = kept.insert(target);
            let before = device_written_bytes(target.as_ref())?;
            self.phase(round, "aging");
            let advanced = self.at_site(target.as_ref(), |site| driver.advance(site, round));
            if let Err(error) = advanced {
                // The error of the workload is the one to report; failed requests may be its cause.
                let _ = messages::failed_requests(target.as_ref(), self.watch);
                return Err(error);
            }
            target.sync()?;
            written_bytes += device_written_bytes(target.as_ref())? - before;
            let due = self.schedule.checkpoints().filter(|at| self.schedule.round_of(*at) == round);
            for at in due.collect::<Vec<_>>() {
                if self.identity.find(self.store, at)?.is_none() {
                    self.checkpoint(target.as_mut(), at, round, written_bytes)?;
                }
            }
            if driver.is_over() {
                break;
            }
        }
        let target = kept.take().expect("the last round leaves its file system");
        let outcome = self.at_site(target.as_ref(), |site| driver.finish(site))?;
        drop(driver);
        Ok((target, outcome))
    }

    /// Lets the workload act on the file system.
    fn at_site<T>(
        &mut self,
        target: &dyn Target,
        act: impl FnOnce(&mut Site) -> Result<T, workload::Error>,
    ) -> Result<T, Error> {
        let mut observer = Bridge { watch: &mut *self.watch, save: &mut *self.save };
        let shared_dir = match &self.volume.location {
            Location::Dir(dir) => Some(dir.as_path()),
            _ => None,
        };
        let _one_cpu = self.one_cpu.then(OneCpu::keep);
        Ok(act(&mut Site { target, shared_dir, group: &mut *self.group, observer: &mut observer })?)
    }

    /// The rounds that remain to be measured.
    fn left(&self) -> Result<Vec<u64>, Error> {
        let mut left = Vec::new();
        for at in self.schedule.checkpoints() {
            if self.identity.find(self.store, at)?.is_none() {
                left.push(self.schedule.round_of(at));
            }
        }
        left.dedup();
        Ok(left)
    }

    fn phase(&mut self, round: u64, doing: &str) {
        self.watch.phase(&format!("{}: round {round}, {doing}", self.identity.name), None);
    }

    fn discard(&self, target: Box<dyn Target>) -> Result<(), Error> {
        target.close()?;
        Ok(self.volume.location.remove()?)
    }

    /// Measures and records the state after a round.
    fn checkpoint(
        &mut self,
        aged: &mut dyn Target,
        at: Checkpoint,
        round: u64,
        written_bytes: u64,
    ) -> Result<(), Error> {
        let run = self.identity.begin(self.store, at, self.command, self.seed)?;
        let written = measures::WRITTEN_BYTES.once(SUBJECTS[0], written_bytes as f64);
        let written = self.store.record(run, &written).map_err(Error::from);
        let measured = written.and_then(|()| self.measure(run, aged, at, round));
        let measured = unless_interrupted(measured);
        self.store.end_with(run, &measured)?;
        measured?;
        self.watch.measured();
        Ok(())
    }

    fn measure(
        &mut self,
        run: RunId,
        aged: &mut dyn Target,
        at: Checkpoint,
        round: u64,
    ) -> Result<(), Error> {
        let mut copy = match self.schedule.unaged {
            false => None,
            true => {
                self.phase(round, "copying to a fresh file system");
                let name = format!("{}.{round}", self.identity.name);
                let fresh = self.volume.at(unaged::location(self.work, &name, &self.volume));
                Some(unaged::copy(self.session, self.work, &name, fresh, true, aged)?)
            }
        };
        let mut sides: Vec<(&'static str, &mut dyn Target)> = vec![(SUBJECTS[0], aged)];
        sides.extend(copy.as_mut().map(|copy| (SUBJECTS[1], copy.target_mut())));
        let costs: Vec<_> = self
            .models
            .iter()
            .map(|model| (measures::MODELLED_S_PER_GIB.on(model.name()), model.clone()))
            .collect();
        let survey = Survey {
            repeat: self.schedule.repeat,
            quiet: Duration::from_secs(self.schedule.quiet_s),
            cache: match at {
                Checkpoint::Round(_) => Cache::Cold(Reader::Grep),
                Checkpoint::Memory(memory_bytes) => Cache::Warm { memory_bytes },
            },
            costs: &costs,
            causes_on: None,
            detail: match self.schedule.pictures.contains(&round) {
                true => Detail::Picture,
                false => Detail::Measures,
            },
            new_file: false,
        };
        survey.run(&mut AgedPair::of_open(OpenPair {
            name: format!("{}: round {round}", self.identity.name),
            session: self.session,
            watch: &mut *self.watch,
            run: (self.store, run),
            model: Model::find(HDD_MODEL)?,
            volume: &self.volume,
            work: self.work,
            sides,
        }))?;
        copy.map_or(Ok(()), Unaged::remove)
    }
}

/// Bytes sent to the device below since it was attached.
fn device_written_bytes(target: &dyn Target) -> Result<u64, Error> {
    let Some((_, devno)) = target.device() else { return Ok(0) };
    Ok(DeviceCounters::read(devno)?.written_bytes)
}

//! A run: its phases in sequence, each started by all ranks together.

use super::access_pattern::AccessPattern;
use super::contents::ContentGenerator;
use super::error::Error;
use super::interface::Interface;
use super::outcome::PhaseOutcome;
use super::rank::Rank;
use super::run_info::RunInfo;
use super::samples::{self, Samples};
use super::settings::{Phase, Settings};
use super::tally::Tally;
use quanta::Clock;
use ranks::Group;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Progress reports, on rank 0.
pub trait PhaseObserver {
    /// A phase starts.
    fn phase_started(&mut self, phase: Phase, iteration: u32);

    /// A phase has ended. An error ends the run.
    fn phase_ended(&mut self, outcome: &PhaseOutcome) -> Result<(), Error>;
}

/// The message of rank 0 to all ranks at the end of a phase.
#[derive(Serialize, Deserialize)]
struct Verdict {
    positions: Vec<u64>,
    /// The rank that cannot continue, and the reason.
    stop: Option<(u32, String)>,
    interrupted: bool,
}

/// Runs all phases as one rank of `group`. All ranks must have the same settings. From `run_info`, rank 0 reads the positions of an earlier job
/// whose objects are used, and it writes the positions of this one there if its objects remain. `interrupted` returns whether a signal requested
/// the end.
pub fn run(
    settings: &Settings,
    group: &mut dyn Group,
    interface: &mut dyn Interface,
    run_info: Option<&Path>,
    interrupted: &dyn Fn() -> bool,
    observer: &mut dyn PhaseObserver,
) -> Result<(), Error> {
    settings.check(group.ranks())?;
    let (number, ranks) = (group.rank(), group.ranks());
    let positions = positions(settings, group, run_info)?;
    let mut rank = Rank {
        settings,
        interface,
        contents: ContentGenerator::new(settings.seed, settings.object_size),
        pattern: AccessPattern::new(settings, number, ranks),
        positions,
        interrupted,
        buffer: Vec::new(),
        samples: settings.latencies.as_deref().map(|whole| Samples::create(whole, number)).transpose()?,
        clock: Clock::new(),
    };
    let mut conduct = PhaseRunner { group, observer, run_info };
    let done = phases(&mut rank, &mut conduct);
    // The latencies of a run that ended early can be read as well, in one file per rank.
    rank.samples.map_or(Ok(()), Samples::finish).and(done)?;
    if let Some(whole) = &settings.latencies {
        ranks::barrier(conduct.group)?;
        conduct.alone(|| samples::join(whole, ranks).map_err(|error| error.to_string()))?;
    }
    if let Some(path) = run_info.filter(|_| number == 0 && settings.phases.cleanup) {
        let fail = |source| Error::Io { action: "removing", path: path.to_owned(), source };
        std::fs::remove_file(path).map_err(fail)?;
    }
    Ok(())
}

/// All phases in sequence.
fn phases(rank: &mut Rank, conduct: &mut PhaseRunner) -> Result<(), Error> {
    let settings = rank.settings;
    if settings.phases.precreate {
        conduct.alone(|| rank.interface.prepare().map_err(|failure| failure.0))?;
        conduct.phase(rank, Phase::Precreate, 0, 0.0, |rank, group| Ok(rank.precreate(group)))?;
    }
    if settings.phases.benchmark {
        for repeat in 0..settings.repeats {
            for waiting in settings.waiting.factors() {
                conduct.phase(rank, Phase::Benchmark, repeat, waiting, |rank, group| {
                    rank.benchmark(group, waiting)
                })?;
            }
        }
    }
    if settings.phases.cleanup {
        conduct.phase(rank, Phase::Cleanup, 0, 0.0, |rank, group| Ok(rank.cleanup(group)))?;
        conduct.alone(|| rank.interface.finish().map_err(|failure| failure.0))?;
    }
    Ok(())
}

/// The start position of each rank.
fn positions(settings: &Settings, group: &mut dyn Group, run_info: Option<&Path>) -> Result<Vec<u64>, Error> {
    let begun: Result<Vec<u64>, Error> = match run_info {
        Some(path) if group.rank() == 0 && !settings.phases.precreate => {
            Ok(RunInfo::load(path, settings, group.ranks())?.positions)
        }
        _ => Ok(vec![settings.start_item; group.ranks() as usize]),
    };
    Ok(ranks::broadcast(group, &begun?)?)
}

struct PhaseRunner<'a> {
    group: &'a mut dyn Group,
    observer: &'a mut dyn PhaseObserver,
    run_info: Option<&'a Path>,
}

impl PhaseRunner<'_> {
    /// An action of rank 0 only; the others wait for it.
    fn alone(&mut self, act: impl FnOnce() -> Result<(), String>) -> Result<(), Error> {
        let done = if self.group.rank() == 0 { act() } else { Ok(()) };
        let done: Result<(), String> = ranks::broadcast(self.group, &done)?;
        done.map_err(|why| ranks::Error::Rank { rank: 0, why }.into())
    }

    /// Runs a phase on all ranks.
    fn phase(
        &mut self,
        rank: &mut Rank,
        phase: Phase,
        iteration: u32,
        waiting: f64,
        act: impl FnOnce(&mut Rank, &mut dyn Group) -> Result<Tally, Error>,
    ) -> Result<(), Error> {
        if self.group.rank() == 0 {
            self.observer.phase_started(phase, iteration);
        }
        if let Some(samples) = &mut rank.samples {
            samples.begin(phase, iteration, waiting);
        }
        ranks::barrier(self.group)?;
        let tally = act(rank, self.group)?;
        let gathered = ranks::gather(self.group, &(tally, (rank.interrupted)()))?;
        // A signal to any rank ends all ranks.
        let interrupted = gathered.iter().any(|(_, interrupted)| *interrupted);
        let tallies: Vec<Tally> = gathered.into_iter().map(|(tally, _)| tally).collect();
        let mut verdict = Verdict { positions: rank.positions.clone(), stop: None, interrupted };
        let mut told = Ok(());
        if self.group.rank() == 0 {
            if !rank.settings.read_only {
                for (position, tally) in verdict.positions.iter_mut().zip(&tallies) {
                    *position += tally.iterations;
                }
            }
            let fatal = |(rank, tally): (u32, &Tally)| Some((rank, tally.fatal.clone()?));
            verdict.stop = (0..).zip(&tallies).find_map(fatal);
            let stonewalled = phase == Phase::Benchmark && rank.settings.stonewall.is_some();
            let outcome = PhaseOutcome::of(phase, iteration, waiting, stonewalled, &tallies);
            told = self.observer.phase_ended(&outcome);
            // Saved first, so that a later job finds the objects even if the run ends here.
            if let Some(path) = self.run_info {
                told = told.and(RunInfo::of(rank.settings, &verdict.positions).save(path));
            }
        }
        told?;
        let verdict: Verdict = ranks::broadcast(self.group, &verdict)?;
        rank.positions = verdict.positions;
        if let Some((rank, why)) = verdict.stop {
            return Err(ranks::Error::Rank { rank, why }.into());
        }
        if verdict.interrupted { Err(Error::Interrupted) } else { Ok(()) }
    }
}

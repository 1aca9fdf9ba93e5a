//! Scans of all files, with a cold cache or a warm one.

use super::{Cache, Effect, Probe, ProbeSubmission, Survey};
use crate::Error;
use crate::aged_pair::{AgedPair, Turn};
use crate::scanned::{self, Scanned};
use disk::{MemoryLimit, Model};
use probe::Census;
use results::{Measurement, measures};
use std::collections::BTreeMap;

struct Scan;

inventory::submit!(ProbeSubmission(&Scan));

impl Probe for Scan {
    fn effect(&self) -> Effect {
        Effect::ReadsFiles
    }

    fn measure(&self, survey: &Survey, pair: &mut AgedPair) -> Result<(), Error> {
        if !pair.filled {
            let why = "not filled with data (--no-fill): scans are modelled from extent maps only";
            survey.explain(pair, why);
            return Ok(());
        }
        if pair.targets().any(|(_, target)| !target.makes_requests()) {
            let why = "no dynamic layout score: files in persistent memory are read without block requests";
            survey.explain(pair, why);
        }
        let census: BTreeMap<&str, Census> = pair
            .targets()
            .map(|(subject, target)| Ok((subject, probe::census(target.root())?)))
            .collect::<Result<_, Error>>()?;
        let what = match survey.cache {
            Cache::Cold(_) => "cold scans".to_owned(),
            Cache::Warm { memory_bytes } => format!("scans with {} of memory", input::bytes(memory_bytes)),
        };
        pair.record_each(&what, survey.repeat, measures::SCAN_WALL_S, |turn| {
            let scanned = scan(survey, turn, &census[turn.subject])?;
            let mut numbers = numbers(survey, &scanned, turn);
            if let Some(model) = survey.causes_on.filter(|_| turn.repetition == 1) {
                numbers.extend(causes(model, &scanned, turn)?);
            }
            Ok(turn.record(&numbers)?)
        })
    }
}

fn scan(survey: &Survey, turn: &mut Turn, census: &Census) -> Result<Scanned, Error> {
    match survey.cache {
        Cache::Cold(reader) => {
            let scanned = scanned::cold(turn.target, reader, census, survey.quiet, turn.traced)?;
            turn.record_document("chilled", &scanned.dropped_caches)?;
            Ok(scanned)
        }
        Cache::Warm { memory_bytes } => {
            let limit = MemoryLimit::new(turn.session, memory_bytes)?;
            let scanned = scanned::warm(turn.target, census, &limit, turn.traced)?;
            limit.remove()?;
            Ok(scanned)
        }
    }
}

/// What the scan would cost with one cause taken away; nothing where that cannot be told.
fn causes(model: &Model, scanned: &Scanned, turn: &Turn) -> Result<Vec<Measurement>, Error> {
    let Some(disk_bytes) = turn.disk_bytes() else { return Ok(Vec::new()) };
    let Ok(places) = scanned.places(turn.target)? else { return Ok(Vec::new()) };
    let causes = scanned.causes(&places, model, disk_bytes);
    Ok(causes.map_or(Vec::new(), |causes| scanned.numbers_of_causes(turn.subject, &causes)))
}

/// The measurements of a scan, with its costs on modelled disks.
fn numbers(survey: &Survey, scanned: &Scanned, turn: &Turn) -> Vec<Measurement> {
    let (subject, repetition) = (turn.subject, turn.repetition);
    let mut numbers = scanned.numbers(subject, repetition);
    if vm::is_emulated() {
        // With an emulated processor, the measured time says nothing about the disk.
        numbers.retain(|number| number.measure != measures::SCAN_S_PER_GIB.name);
    }
    if let Some(disk_bytes) = turn.disk_bytes() {
        for (measure, model) in survey.costs {
            let cost = scanned.modelled_s_per_gib(model, disk_bytes);
            numbers.extend(cost.map(|s| measure.measurement(subject, repetition, s)));
        }
    }
    let clock = scanned.disk_clock_s_per_gib();
    numbers.extend(clock.map(|s| measures::DISK_CLOCK_S_PER_GIB.measurement(subject, repetition, s)));
    numbers
}

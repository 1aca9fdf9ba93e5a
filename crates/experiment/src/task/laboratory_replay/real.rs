//! The file system that stands for the real one: a history on a simulated file system, with a snapshot of every night.

use ffs::{Interleaved, Measures, OperationCounts, Simulation};
use snapshot::{Attribute, Entry, Info, Kind, ROOT, Snapshot, SnapshotBuilder};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use trace::{Op, Source as _};
use workload::Error;
use workload::snapshots::Series;

const DAY_NS: i64 = 86_400_000_000_000;

/// The real file system, day by day.
pub(super) struct Real {
    simulation: Box<dyn Simulation>,
    history: Interleaved,
    size_bytes: u64,
    /// Operations that the history gave out, and that are still to be applied.
    ops: VecDeque<Op>,
    /// The time of the last change of each file.
    changed_ns: HashMap<u64, i64>,
    /// The completed days.
    day: u64,
}

impl Real {
    /// A history on an empty file system of a size.
    pub fn new(simulation: Box<dyn Simulation>, size_bytes: u64, history: Interleaved) -> Real {
        Real { simulation, history, size_bytes, ops: VecDeque::new(), changed_ns: HashMap::new(), day: 0 }
    }

    /// Applies the operations of a day, at equal intervals over the day.
    fn work_a_day(&mut self) -> Result<(), Error> {
        let today = self.operations_of_day()?;
        let (begin, step) = (self.day as i64 * DAY_NS, DAY_NS / (today.len() as i64 + 1));
        for (at, op) in (1..).zip(today) {
            self.simulation.apply(&op).map_err(|error| Error::Snapshots(error.to_string()))?;
            let now = begin + at * step;
            match op {
                Op::Create { file, .. } | Op::Append { file, .. } | Op::Truncate { file, .. } => {
                    self.changed_ns.insert(file.0, now);
                }
                Op::Delete { file, .. } => drop(self.changed_ns.remove(&file.0)),
                _ => {}
            }
        }
        self.day += 1;
        Ok(())
    }

    /// The operations up to the next checkpoint.
    fn operations_of_day(&mut self) -> Result<Vec<Op>, Error> {
        let (mut today, mut batch) = (Vec::new(), Vec::new());
        loop {
            while let Some(op) = self.ops.pop_front() {
                let ends = matches!(op, Op::Checkpoint { .. });
                today.push(op);
                if ends {
                    return Ok(today);
                }
            }
            self.history.next_batch(&mut batch)?;
            if batch.is_empty() {
                return Ok(today);
            }
            self.ops.extend(batch.drain(..));
        }
    }

    /// The snapshot of the night after the last day: what a nightly snapshot of 1997 has of each file, without its blocks, which nothing is derived
    /// from.
    fn snapshot(&self) -> Snapshot {
        let now_ns = self.day as i64 * DAY_NS;
        let info = Info {
            fs: "ffs".to_owned(),
            fs_id: Some("real".to_owned()),
            block_bytes: ffs::geometry::BLOCK_BYTES,
            capacity_bytes: self.size_bytes,
            begun_ns: now_ns,
            ended_ns: now_ns,
            lacks: vec![Attribute::Allocated, Attribute::Modified, Attribute::Born, Attribute::Extents],
            ..Info::default()
        };
        let entry = |kind, inode: u32, file: u64, size, changed_ns| Entry {
            parent: ROOT,
            kind,
            // The groups of inodes are counted from inode 1.
            inode: u64::from(inode) + 1,
            // A number is given to one file only, as is a generation to one use of an inode.
            generation: Some(file as u32),
            links: 1,
            size,
            allocated: size,
            changed_ns,
            modified_ns: changed_ns,
            born_ns: None,
        };
        let mut builder = SnapshotBuilder::new(info, entry(Kind::Dir, 0, 0, 0, 0));
        self.simulation.each_file(&mut |file| {
            let changed_ns = self.changed_ns.get(&file.file).copied().unwrap_or(now_ns);
            let size = file.layout.size;
            let found = entry(Kind::File, file.layout.inode, file.file, size, changed_ns);
            builder.add(found, format!("{:x}", file.file).as_bytes(), &[]);
        });
        builder.finish()
    }
}

/// The nightly snapshots of a real file system, each made when it is asked for, in order. Clones share the file system.
#[derive(Clone)]
pub(super) struct Nightly {
    days: u64,
    state: Arc<Mutex<(Real, Vec<Measures>)>>,
}

impl Nightly {
    /// The snapshots of the first days.
    pub fn new(real: Real, days: u64) -> Nightly {
        Nightly { days, state: Arc::new(Mutex::new((real, Vec::new()))) }
    }

    /// The measures of the nights that were asked for.
    pub fn measured(&self) -> Vec<Measures> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    /// The counts of operations on the real file system.
    pub fn counts(&self) -> OperationCounts {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0.simulation.counts()
    }
}

impl Series for Nightly {
    fn count(&self) -> usize {
        self.days as usize
    }

    fn name(&self, place: usize) -> String {
        format!("the snapshot of night {}", place + 1)
    }

    fn load(&self, place: usize) -> Result<Snapshot, Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (real, measured) = &mut *state;
        if real.day != place as u64 {
            return Err(Error::Snapshots(format!("{} is out of order", self.name(place))));
        }
        real.work_a_day()?;
        measured.push(real.simulation.measure());
        Ok(real.snapshot())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffs::{History, HistoryShape, SimulatedFs};

    #[test]
    fn nights_are_taken_in_order_and_have_the_files_of_the_day() {
        let size_bytes = 64 << 20;
        let simulation = SimulatedFs::Fast.create("baseline", size_bytes).unwrap();
        let shape = HistoryShape { days: 3, ..HistoryShape::default() };
        let history = Interleaved::new(History::with_shape(size_bytes, shape, 1), 5, 1);
        let nightly = Nightly::new(Real::new(simulation, size_bytes, history), 3);
        assert!(nightly.load(1).is_err(), "a night is skipped");
        let nights: Vec<Snapshot> = (0..3).map(|place| nightly.load(place).unwrap()).collect();
        assert!(nightly.load(0).is_err(), "nights cannot be repeated");
        for (night, measures) in nights.iter().zip(nightly.measured()) {
            assert_eq!(night.entries().len() as u64, measures.files + 1);
            let changed = |entry: &Entry| (1..night.info().begun_ns).contains(&entry.changed_ns);
            assert!(night.entries()[1..].iter().all(changed));
        }
        let ids = |night: &Snapshot| {
            night.entries().iter().map(|entry| (entry.inode, entry.generation)).collect::<Vec<_>>()
        };
        assert!(ids(&nights[0]) != ids(&nights[2]), "files were created");
    }
}

//! All simulated file systems behind one interface, selected by name.

use crate::benchmark::{self, HotFiles, SequentialPoint};
use crate::extents::{BestFit, BuddySearch, ExtentFs, FirstFit};
use crate::fast::FastFs;
use crate::geometry::Geometry;
use crate::measure::{Measures, measure};
use crate::policy::{Baseline, BestCluster, NoSwitch, Original, SmartFrag};
use crate::volume::{OperationCounts, Volume};
use crate::{Allocator, Error};
use disk::model::Model;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use trace::{BATCH, Op, Source};

/// A simulated file system of any kind and policy.
pub trait Simulation {
    /// The name of its policy.
    fn policy(&self) -> &'static str;

    /// The counts of operations so far.
    fn counts(&self) -> OperationCounts;

    /// Applies one operation.
    fn apply(&mut self, op: &Op) -> Result<(), Error>;

    /// Measures the layout of its files.
    fn measure(&self) -> Measures;

    /// Bytes on the heap: (maps of free space, all data of files and directories).
    fn heap_bytes(&self) -> (usize, usize);

    /// Seconds per GiB to read all files in directory order.
    fn scan_s_per_gib(&self, model: &Model) -> Option<f64>;

    /// The sequential throughput benchmark.
    fn sequential(
        &self,
        model: &Model,
        sizes: &[u64],
        placements: u32,
    ) -> Result<Vec<SequentialPoint>, Error>;

    /// The hot files benchmark.
    fn hot_files(&self, model: &Model) -> Option<HotFiles>;
}

struct Bench<A> {
    policy: &'static str,
    volume: Volume<A>,
}

impl<A: Allocator> Simulation for Bench<A> {
    fn policy(&self) -> &'static str {
        self.policy
    }

    fn counts(&self) -> OperationCounts {
        self.volume.counts()
    }

    fn apply(&mut self, op: &Op) -> Result<(), Error> {
        self.volume.apply(op)
    }

    fn measure(&self) -> Measures {
        measure(&self.volume)
    }

    fn heap_bytes(&self) -> (usize, usize) {
        self.volume.heap_bytes()
    }

    fn scan_s_per_gib(&self, model: &Model) -> Option<f64> {
        benchmark::scan_s_per_gib(&self.volume, model)
    }

    fn sequential(
        &self,
        model: &Model,
        sizes: &[u64],
        placements: u32,
    ) -> Result<Vec<SequentialPoint>, Error> {
        benchmark::sequential(&self.volume, model, sizes, placements)
    }

    fn hot_files(&self, model: &Model) -> Option<HotFiles> {
        benchmark::hot_files(&self.volume, model)
    }
}

/// The kinds of file system that the laboratory simulates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SimulatedFs {
    /// The fast file system of 4.4BSD.
    Fast,
    /// An extent file system.
    Extents,
}

/// Size of the delayed allocation window of extent file systems.
const WINDOW_BYTES: u64 = 16 << 20;

impl SimulatedFs {
    /// The name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            SimulatedFs::Fast => "ffs",
            SimulatedFs::Extents => "extents",
        }
    }

    /// The names of its policies, the default first.
    pub fn policies(self) -> &'static [&'static str] {
        match self {
            SimulatedFs::Fast => &["baseline", "original", "no_switch", "smart_frag", "best_cluster"],
            SimulatedFs::Extents => &["buddy", "first_fit", "best_fit", "buddy_no_window"],
        }
    }

    /// An empty file system of `size_bytes` with the named policy.
    pub fn create(self, policy: &str, size_bytes: u64) -> Result<Box<dyn Simulation>, Error> {
        fn bench<A: Allocator + 'static>(policy: &'static str, volume: Volume<A>) -> Box<dyn Simulation> {
            Box::new(Bench { policy, volume })
        }
        let known = self.policies().iter().find(|&&known| known == policy).copied();
        let name = known.ok_or_else(|| Error::Policy {
            name: policy.to_owned(),
            file_system: self.name(),
            known: self.policies().join(", "),
        })?;
        let geometry = || Geometry::of(size_bytes);
        Ok(match name {
            "baseline" => bench(name, Volume::new(FastFs::new(geometry()?, Baseline))),
            "original" => bench(name, Volume::new(FastFs::new(geometry()?, Original))),
            "no_switch" => bench(name, Volume::new(FastFs::new(geometry()?, NoSwitch))),
            "smart_frag" => bench(name, Volume::new(FastFs::new(geometry()?, SmartFrag))),
            "best_cluster" => bench(name, Volume::new(FastFs::new(geometry()?, BestCluster))),
            "first_fit" => {
                bench(name, Volume::with_window(ExtentFs::new(size_bytes, FirstFit)?, WINDOW_BYTES))
            }
            "best_fit" => bench(name, Volume::with_window(ExtentFs::new(size_bytes, BestFit)?, WINDOW_BYTES)),
            "buddy_no_window" => bench(name, Volume::new(ExtentFs::new(size_bytes, BuddySearch)?)),
            _ => bench(name, Volume::with_window(ExtentFs::new(size_bytes, BuddySearch)?, WINDOW_BYTES)),
        })
    }
}

/// Applies all operations of a source; calls `at_checkpoint` at each checkpoint. Returns the processor time of the operations, without reading
/// them.
pub fn run(
    simulation: &mut dyn Simulation,
    mut source: impl Source,
    mut at_checkpoint: impl FnMut(&dyn Simulation),
) -> Result<Duration, Error> {
    let mut batch = Vec::with_capacity(BATCH);
    let mut took = Duration::ZERO;
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            return Ok(took);
        }
        for stretch in batch.split_inclusive(|op| matches!(op, Op::Checkpoint { .. })) {
            let begun = thread_time();
            for op in stretch {
                simulation.apply(op)?;
            }
            took += thread_time().saturating_sub(begun);
            if let Some(Op::Checkpoint { .. }) = stretch.last() {
                at_checkpoint(simulation);
            }
        }
    }
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

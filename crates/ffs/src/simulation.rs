//! All simulated file systems behind one interface, selected by name. Each policy submits itself as a [`PolicyKind`].

use crate::benchmark::{self, HotFiles, SequentialPoint};
use crate::configuration::Configuration;
use crate::extents::{ExtentFs, Placement};
use crate::fast::FastFs;
use crate::geometry::Geometry;
use crate::measure::{Measures, measure};
use crate::policy::Policy;
use crate::volume::{FileView, OperationCounts, Volume};
use crate::{Allocator, Error};
use disk::model::Model;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use trace::{BATCH, Op, Source};

/// A simulated file system of any kind and policy.
pub trait Simulation: Send {
    /// The name of its policy.
    fn policy(&self) -> &'static str;

    /// The counts of operations so far.
    fn counts(&self) -> OperationCounts;

    /// Applies one operation.
    fn apply(&mut self, op: &Op) -> Result<(), Error>;

    /// Measures the layout of its files.
    fn measure(&self) -> Measures;

    /// Visits each file, in no particular order.
    fn each_file(&self, visit: &mut dyn FnMut(FileView<'_>));

    /// The configuration of the file system.
    fn configuration(&self) -> Configuration;

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

    fn each_file(&self, visit: &mut dyn FnMut(FileView<'_>)) {
        self.volume.each_file(visit);
    }

    fn configuration(&self) -> Configuration {
        Configuration::of(&self.volume)
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

    fn kinds(self) -> impl Iterator<Item = &'static PolicyKind> {
        inventory::iter::<PolicyKind>().filter(move |kind| kind.file_system == self)
    }

    /// The names of its policies: the default, then the others by name.
    pub fn policies(self) -> Vec<&'static str> {
        let mut kinds: Vec<_> = self.kinds().map(|kind| (!kind.is_default, (kind.name)())).collect();
        kinds.sort_unstable();
        kinds.into_iter().map(|(_, name)| name).collect()
    }

    /// An empty file system of `size_bytes` with the named policy.
    pub fn create(self, policy: &str, size_bytes: u64) -> Result<Box<dyn Simulation>, Error> {
        let kind = self.kinds().find(|kind| (kind.name)() == policy).ok_or_else(|| Error::Policy {
            name: policy.to_owned(),
            file_system: self.name(),
            known: self.policies().join(", "),
        })?;
        (kind.create)((kind.name)(), size_bytes)
    }
}

/// Creates an empty file system from the name of the policy and the size in bytes.
type CreateFn = fn(&'static str, u64) -> Result<Box<dyn Simulation>, Error>;

/// A policy, as its file submits it.
#[derive(Clone, Copy)]
pub(crate) struct PolicyKind {
    file_system: SimulatedFs,
    name: fn() -> &'static str,
    /// Whether it is the default of its file system, with which others are compared.
    is_default: bool,
    create: CreateFn,
}

inventory::collect!(PolicyKind);

impl PolicyKind {
    /// A policy of the fast file system.
    pub const fn fast<P: Policy + Default + 'static>() -> PolicyKind {
        PolicyKind {
            file_system: SimulatedFs::Fast,
            name: || P::default().name(),
            is_default: false,
            create: |policy, size_bytes| {
                let volume = Volume::new(FastFs::new(Geometry::of(size_bytes)?, P::default()));
                Ok(Box::new(Bench { policy, volume }))
            },
        }
    }

    /// A policy of extent file systems.
    pub const fn extents<P: Placement + Default + 'static>() -> PolicyKind {
        PolicyKind {
            file_system: SimulatedFs::Extents,
            name: || P::default().name(),
            is_default: false,
            create: |policy, size_bytes| {
                let volume = Volume::with_window(ExtentFs::new(size_bytes, P::default())?, WINDOW_BYTES);
                Ok(Box::new(Bench { policy, volume }))
            },
        }
    }

    /// The same with this name, without delayed allocation.
    pub const fn extents_without_window<P: Placement + Default + 'static>(
        name: fn() -> &'static str,
    ) -> PolicyKind {
        PolicyKind {
            file_system: SimulatedFs::Extents,
            name,
            is_default: false,
            create: |policy, size_bytes| {
                let volume = Volume::new(ExtentFs::new(size_bytes, P::default())?);
                Ok(Box::new(Bench { policy, volume }))
            },
        }
    }

    /// The default of its file system.
    pub const fn as_default(self) -> PolicyKind {
        PolicyKind { is_default: true, ..self }
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

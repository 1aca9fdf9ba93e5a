//! The cost of a request log on a device model, and the curve of bandwidth against read size (Conway et al. 2017, figure 1).

use super::{Ftl, Model, ModelClock};
use crate::{Extent, Request, RequestKind, SECTOR_BYTES};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use serde::Serialize;
use std::sync::{Arc, Mutex};

/// The cost of a request log on a device model.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct LogCost {
    /// The name of the model.
    pub model: String,
    /// Size of the disk in bytes.
    pub size_bytes: u64,
    /// Nanoseconds until all requests are complete, with each issued as soon as the queue of the log allows.
    pub total_ns: u64,
    /// The cost of the reads.
    pub reads: RequestKindCost,
    /// The cost of the writes.
    pub writes: RequestKindCost,
    /// The cost of the flushes.
    pub flushes: RequestKindCost,
    /// The cost of the discards.
    pub discards: RequestKindCost,
}

/// The cost of the requests of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct RequestKindCost {
    /// Number of requests.
    pub requests: u64,
    /// Number of requested bytes.
    pub bytes: u64,
    /// Nanoseconds that these requests add to the total; the sum over all kinds is the total.
    pub ns: u64,
}

impl LogCost {
    /// The total in seconds.
    pub fn total_s(&self) -> f64 {
        self.total_ns as f64 / 1e9
    }

    fn of(&mut self, kind: RequestKind) -> &mut RequestKindCost {
        match kind {
            RequestKind::Read => &mut self.reads,
            RequestKind::Write => &mut self.writes,
            RequestKind::Flush => &mut self.flushes,
            RequestKind::Discard => &mut self.discards,
        }
    }
}

/// Number of initial angles over which the costs on a rotating disk are averaged.
const ANGLES: u64 = 8;

/// The running cost of a log, in the order of its requests. A disk may be at any angle when the first request arrives, so the result is the
/// mean over angles an eighth of a rotation apart: with a single angle, the order of two short logs would depend on chance.
pub struct Pricing {
    clocks: Vec<ModelClock>,
    priced: LogCost,
}

impl Pricing {
    /// Starts on a fresh device with a disk of `size_bytes`.
    pub fn new(model: &Model, size_bytes: u64) -> Pricing {
        Pricing::on(model, size_bytes, None)
    }

    /// Starts on a device whose flash is in this state, if it is that of such a drive.
    pub fn on(model: &Model, size_bytes: u64, flash: Option<&Ftl>) -> Pricing {
        let rotation_ns = model.rotation_ns();
        let angles = if rotation_ns > 0 { ANGLES } else { 1 };
        let starts = (0..angles).map(|angle| angle * rotation_ns / ANGLES);
        Pricing::from(model, size_bytes, flash, starts)
    }

    fn from(
        model: &Model,
        size_bytes: u64,
        flash: Option<&Ftl>,
        starts_ns: impl Iterator<Item = u64>,
    ) -> Pricing {
        let device = || match flash.filter(|flash| model.has_flash_of(flash, size_bytes)) {
            Some(flash) => model.device_with(size_bytes, Some(Arc::new(Mutex::new(flash.clone())))),
            None => model.device(size_bytes),
        };
        let clocks = starts_ns.map(|start_ns| ModelClock::at(device(), start_ns)).collect();
        let priced = LogCost { model: model.name().to_owned(), size_bytes, ..LogCost::default() };
        Pricing { clocks, priced }
    }

    /// From now on reads the pages of a flash drive from one die after another, wherever they lie, so that reads do not collide on a die as long
    /// as others are free (Jun et al., FAST 2024). Other devices are as they were.
    pub fn taking_dies_in_turn(mut self) -> Pricing {
        self.clocks.iter_mut().for_each(ModelClock::take_dies_in_turn);
        self
    }

    /// Adds the next requests.
    pub fn add<'a>(&mut self, requests: impl IntoIterator<Item = &'a Request>) {
        requests.into_iter().for_each(|request| self.add_as_one(std::slice::from_ref(request)));
    }

    /// Adds one request, or several reads that the drive receives as one command.
    pub fn add_as_one(&mut self, requests: &[Request]) {
        let Some(first) = requests.first() else { return };
        let cost = self.priced.of(first.kind);
        cost.requests += 1;
        cost.bytes += requests.iter().map(|request| u64::from(request.sectors) * SECTOR_BYTES).sum::<u64>();
        for clock in &mut self.clocks {
            let before_ns = clock.now_ns();
            clock.issue_as_one(requests);
            cost.ns += clock.now_ns() - before_ns;
        }
    }

    /// The cost of all requests.
    pub fn finish(self) -> LogCost {
        let Pricing { clocks, mut priced } = self;
        let LogCost { reads, writes, flushes, discards, .. } = &mut priced;
        let mut total_ns = 0;
        for cost in [reads, writes, flushes, discards] {
            cost.ns /= clocks.len() as u64;
            total_ns += cost.ns;
        }
        priced.total_ns = total_ns;
        priced
    }
}

/// Prices `requests`, in their order, on a fresh device with a disk of `size_bytes` that starts at angle 0.
pub fn price<'a>(model: &Model, size_bytes: u64, requests: impl IntoIterator<Item = &'a Request>) -> LogCost {
    finished(Pricing::from(model, size_bytes, None, std::iter::once(0)), requests)
}

/// The same as [`price`], averaged over initial angles: see [`Pricing`].
pub fn price_expected<'a>(
    model: &Model,
    size_bytes: u64,
    requests: impl IntoIterator<Item = &'a Request>,
) -> LogCost {
    finished(Pricing::new(model, size_bytes), requests)
}

/// The same as [`price_expected`], on a device whose flash is in this state, if it is that of such a drive.
pub fn price_on<'a>(
    model: &Model,
    size_bytes: u64,
    flash: Option<&Ftl>,
    requests: impl IntoIterator<Item = &'a Request>,
) -> LogCost {
    finished(Pricing::on(model, size_bytes, flash), requests)
}

fn finished<'a>(mut pricing: Pricing, requests: impl IntoIterator<Item = &'a Request>) -> LogCost {
    pricing.add(requests);
    pricing.finish()
}

/// Prices reading `extents` one after another: the scan cost of a tree from its extent maps alone.
pub fn price_extents(model: &Model, size_bytes: u64, extents: &[Extent]) -> LogCost {
    // Extents longer than the maximum request are cut to it.
    let sectors = |extent: &Extent| (extent.len_bytes / SECTOR_BYTES).try_into().unwrap_or(u32::MAX);
    let reads =
        extents.iter().map(|extent| Request::read(extent.start_bytes / SECTOR_BYTES, sectors(extent)));
    price_expected(model, size_bytes, &reads.collect::<Vec<_>>())
}

/// Effective bandwidth against read size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TransferCurve {
    /// The highest bandwidth of all points, in bytes per second; 0 without points.
    pub best_bytes_per_s: f64,
    /// The points, in the order of the given sizes.
    pub points: Vec<TransferPoint>,
    /// The smallest measured read size that reaches half of the best bandwidth.
    pub natural_50_bytes: Option<u64>,
    /// The same for 90 %.
    pub natural_90_bytes: Option<u64>,
}

/// One point of the curve.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TransferPoint {
    /// Size of each read.
    pub read_bytes: u64,
    /// Effective bandwidth.
    pub bytes_per_s: f64,
}

/// Reads per point: enough that another seed changes it by a few percent at most.
const READS: u64 = 400;

/// The curve of a model with a disk of `size_bytes`: single reads of each size at random multiples of 4 KiB. A model without costs has no
/// curve; its bandwidths are infinite.
pub fn transfer_curve(model: &Model, size_bytes: u64, sizes: &[u64], seed: u64) -> TransferCurve {
    const MIB: u64 = 1 << 20;
    let mut clock = ModelClock::new(model.device(size_bytes));
    // On a disk in use the address table is in memory as far as it fits.
    bandwidth(&mut clock, (0..size_bytes.div_ceil(4 * MIB)).map(|n| (n * 4 * MIB, 4096)));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let points: Vec<_> = sizes
        .iter()
        .map(|&read_bytes| {
            let places = size_bytes.saturating_sub(read_bytes) / 4096 + 1;
            let reads = (0..READS).map(|_| (random.next_u64() % places * 4096, read_bytes));
            TransferPoint { read_bytes, bytes_per_s: bandwidth(&mut clock, reads) }
        })
        .collect();
    let best_bytes_per_s = points.iter().map(|point| point.bytes_per_s).fold(0.0, f64::max);
    let reaching = |share: f64| {
        let reaches = |point: &&TransferPoint| point.bytes_per_s >= share * best_bytes_per_s;
        points.iter().filter(reaches).map(|point| point.read_bytes).min()
    };
    let (natural_50_bytes, natural_90_bytes) = (reaching(0.5), reaching(0.9));
    TransferCurve { best_bytes_per_s, points, natural_50_bytes, natural_90_bytes }
}

/// Bytes per second of reads (start, length in bytes), one after another.
fn bandwidth(clock: &mut ModelClock, reads: impl Iterator<Item = (u64, u64)>) -> f64 {
    let begin_ns = clock.now_ns();
    let mut bytes = 0;
    for (start, len) in reads {
        clock.issue(&Request::read(start / SECTOR_BYTES, (len / SECTOR_BYTES) as u32));
        bytes += len;
    }
    bytes as f64 / ((clock.now_ns() - begin_ns) as f64 / 1e9)
}

//! The flash below a translation layer: dies behind channels, and the times at which they are free.
//!
//! A die has a cache register, as ONFI flash has: the next page is transferred while it works at another. It senses pages for the host before
//! it programs waiting ones.

use super::ftl::{FlashOp, Geometry};
use super::parameters::{FtlParameters, SsdParameters};

/// The dies and channels of a drive. Times are in nanoseconds.
pub(super) struct FlashArray {
    page_read_ns: f64,
    page_program_ns: f64,
    erase_ns: f64,
    bus_bytes_per_ns: f64,
    /// Bytes of the page of a die, over all its planes.
    page_bytes: u64,
    channels_free_ns: Vec<f64>,
    dies_free_ns: Vec<f64>,
    /// The times at which each die has sensed the pages that were asked for so far.
    dies_read_ns: Vec<f64>,
    /// The die of the next read, if reads take dies in turn.
    pub turn: DieTurn,
}

/// The die of the next read if reads take one die after another; `None` if data is read from where it is.
pub(super) type DieTurn = Option<usize>;

/// The die that data on `die` of `dies` is read from.
pub(super) fn next_die(turn: &mut DieTurn, die: usize, dies: usize) -> usize {
    match turn {
        Some(next) => std::mem::replace(next, (*next + 1) % dies),
        None => die,
    }
}

impl FlashArray {
    /// The idle flash of a drive.
    pub fn new(ssd: &SsdParameters, ftl: &FtlParameters, geometry: &Geometry) -> FlashArray {
        // A block with fewer pages than that of the model is erased in less time: see `Geometry`.
        let share = f64::from(geometry.rows) / f64::from(ftl.pages_per_block);
        FlashArray {
            page_read_ns: ssd.page_read_us * 1e3,
            page_program_ns: ssd.page_program_us * 1e3,
            erase_ns: ftl.block_erase_us * 1e3 * share,
            bus_bytes_per_ns: ssd.bus_mb_per_s / 1e3,
            page_bytes: ssd.page_bytes * u64::from(ftl.planes_per_die),
            channels_free_ns: vec![0.0; ssd.channels as usize],
            dies_free_ns: vec![0.0; geometry.dies as usize],
            dies_read_ns: vec![0.0; geometry.dies as usize],
            turn: None,
        }
    }

    /// Does an operation that is known at `now_ns`. Returns the time at which it is done.
    pub fn execute(&mut self, op: FlashOp, now_ns: f64) -> f64 {
        match op {
            FlashOp::Read { die, bytes } => {
                let die = next_die(&mut self.turn, die as usize, self.dies_free_ns.len());
                let free_ns = &mut self.dies_free_ns[die];
                // A program that has begun is waited for: on average half of it.
                let program_ns = free_ns.clamp(now_ns, now_ns + self.page_program_ns / 2.0);
                let sensed_ns = program_ns.max(self.dies_read_ns[die]) + self.page_read_ns;
                self.dies_read_ns[die] = sensed_ns;
                *free_ns = free_ns.max(now_ns) + self.page_read_ns;
                let transfer_ns = bytes as f64 / self.bus_bytes_per_ns;
                self.transfer(die, transfer_ns, now_ns).max(sensed_ns + transfer_ns)
            }
            FlashOp::Program { die } => {
                let die = die as usize;
                let sent_ns = self.transfer(die, self.page_bytes as f64 / self.bus_bytes_per_ns, now_ns);
                let free_ns = &mut self.dies_free_ns[die];
                *free_ns = free_ns.max(sent_ns) + self.page_program_ns;
                *free_ns
            }
            FlashOp::Erase => {
                let erase = |free_ns: &mut f64| *free_ns = free_ns.max(now_ns) + self.erase_ns;
                self.dies_free_ns.iter_mut().for_each(erase);
                now_ns
            }
        }
    }

    /// Occupies the channel of a die. Returns the end of the transfer.
    fn transfer(&mut self, die: usize, transfer_ns: f64, now_ns: f64) -> f64 {
        let channel = die % self.channels_free_ns.len();
        let free_ns = &mut self.channels_free_ns[channel];
        *free_ns = free_ns.max(now_ns) + transfer_ns;
        *free_ns
    }
}

//! The state of a drive at the start: fresh, filled or aged.

use super::Ftl;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// A state that a drive is brought into before a measurement, which writes cannot be compared without (SNIA, Solid State Storage Performance
/// Test Specification: purge and preconditioning).
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FlashState {
    /// As from the factory, with the data in use written once.
    Fresh,
    /// Written once from the first to the last address, whatever is in use: to the drive all of it is data.
    Filled,
    /// Filled, then overwritten in units of 4 KiB at random.
    Aged {
        /// How often, in sizes of the disk.
        overwrites: f64,
        /// Random seed of the addresses.
        seed: u64,
    },
}

impl Ftl {
    /// Brings the drive into a state, in no time. `used` are the ranges of the disk in use, in bytes from start to end, in their order. The
    /// wear of the flash so far is forgotten.
    pub(crate) fn precondition(&mut self, state: FlashState, used: impl Iterator<Item = (u64, u64)>) {
        *self = Ftl::new(self.geometry, self.policy, self.wear_gap_max);
        let all = 0..self.geometry.units;
        match state {
            FlashState::Fresh => {
                for (start, end) in used {
                    let units = start / self.geometry.unit_bytes..end.div_ceil(self.geometry.unit_bytes);
                    self.write_all(units.map(|unit| unit as u32));
                }
            }
            FlashState::Filled => self.write_all(all),
            FlashState::Aged { overwrites, seed } => {
                self.write_all(all.clone());
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                let count = (overwrites * f64::from(all.end)) as u64;
                self.write_all((0..count).map(|_| (random.next_u64() % u64::from(all.end)) as u32));
            }
        }
        self.flush(&mut |_| ());
    }

    fn write_all(&mut self, units: impl Iterator<Item = u32>) {
        for unit in units {
            self.write(unit);
            if self.cached_units() == u64::from(self.geometry.page_units) {
                self.destage(&mut |_| ());
            }
        }
    }
}

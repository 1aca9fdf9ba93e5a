//! The random numbers of an aging: a function of its seed only, identical on every machine.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// A stream of random numbers.
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    /// The stream with this number for a seed; the streams of a seed are independent of each other.
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Random(rng)
    }

    /// A whole number below `n`; `n` is from 1 to 2³². The bias of the multiplication (Lemire 2019, without
    /// its rejection step) is below n/2³², far below the resolution of any histogram of files.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        debug_assert!(n > 0 && n <= 1 << 32);
        ((u64::from(self.0.next_u32()) * n as u64) >> 32) as usize
    }

    /// A whole number below `n`, of any size.
    #[inline]
    pub fn below_wide(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0);
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A fair coin.
    #[inline]
    pub fn coin(&mut self) -> bool {
        self.0.next_u32() & 1 == 1
    }

    /// A number in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A random bin, drawn by the shares, which sum to 1.
    pub fn weighted(&mut self, share: &[f64]) -> usize {
        let mut left = self.unit();
        let mut last = 0;
        for (i, &s) in share.iter().enumerate().filter(|(_, s)| **s > 0.0) {
            last = i;
            left -= s;
            if left < 0.0 {
                break;
            }
        }
        last
    }

    /// True with probability `part`/`whole`; `whole` may exceed 2³².
    #[inline]
    pub fn chance(&mut self, part: u64, whole: u64) -> bool {
        self.below_wide(whole) < part
    }

    /// Shuffles randomly (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

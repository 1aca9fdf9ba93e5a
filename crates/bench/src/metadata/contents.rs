//! Contents of objects. They depend on the seed and the object only, so every rank can verify any object, regardless of the rank that
//! wrote it.

use super::object::Object;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF as _, Normal};
use std::sync::Arc;

/// Bytes of the pool of random data from which contents are cut.
const POOL_BYTES: usize = 1 << 20;

/// Bytes at the start of an object that identify it.
const HEAD_BYTES: usize = 16;

/// Maximum size of an object.
const MOST_BYTES: u64 = 1 << 30;

/// The size distribution of objects.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeDistribution {
    /// A fixed size in bytes.
    Fixed(u64),
    /// Uniformly distributed between two sizes, both included.
    Uniform {
        /// Minimum, in bytes.
        least: u64,
        /// Maximum, in bytes.
        most: u64,
    },
    /// Lognormal, like file sizes (Downey, The Structural Cause of File Size Distributions, 2001).
    Lognormal {
        /// Median, in bytes.
        median: u64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
}

impl SizeDistribution {
    /// Returns why these sizes are invalid, if they are.
    pub fn check(self) -> Result<(), String> {
        match self {
            SizeDistribution::Fixed(size)
            | SizeDistribution::Uniform { most: size, .. }
            | SizeDistribution::Lognormal { median: size, .. }
                if size > MOST_BYTES =>
            {
                Err(format!("objects of {size} bytes are too large; the maximum is {MOST_BYTES}"))
            }
            SizeDistribution::Uniform { least, most } if least > most => {
                Err(format!("no size is between {least} and {most} bytes"))
            }
            SizeDistribution::Lognormal { median, sigma }
                if median == 0 || !(0.0..=10.0).contains(&sigma) =>
            {
                Err(format!("no size distribution has a median of {median} bytes and a sigma of {sigma}"))
            }
            _ => Ok(()),
        }
    }

    /// The size of an object with this hash.
    fn of(self, hash: u64) -> u64 {
        match self {
            SizeDistribution::Fixed(size) => size,
            SizeDistribution::Uniform { least, most } => {
                least + ((u128::from(hash) * (u128::from(most - least) + 1)) >> 64) as u64
            }
            SizeDistribution::Lognormal { median, sigma } => {
                let share = (hash >> 11) as f64 / (1u64 << 53) as f64;
                let normal = Normal::standard().inverse_cdf(share.clamp(1e-12, 1.0 - 1e-12));
                ((median as f64 * (sigma * normal).exp()) as u64).min(MOST_BYTES)
            }
        }
    }

    /// The expected mean size in bytes.
    pub fn mean_bytes(self) -> f64 {
        match self {
            SizeDistribution::Fixed(size) => size as f64,
            SizeDistribution::Uniform { least, most } => (least as f64 + most as f64) / 2.0,
            SizeDistribution::Lognormal { median, sigma } => median as f64 * (sigma * sigma / 2.0).exp(),
        }
    }
}

/// Generates the contents of all objects of a run, and verifies them.
#[derive(Clone)]
pub struct ContentGenerator {
    seed: u64,
    sizes: SizeDistribution,
    pool: Arc<[u8]>,
}

/// How the read data differs from the written data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// The size differs.
    Size {
        /// Expected size, in bytes.
        expected: u64,
        /// Actual size, in bytes.
        found: u64,
    },
    /// The content differs.
    Byte {
        /// Offset of the first wrong byte.
        at: u64,
    },
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Mismatch::Size { expected, found } => write!(f, "it has {found} bytes instead of {expected}"),
            Mismatch::Byte { at } => write!(f, "byte {at} is wrong"),
        }
    }
}

impl ContentGenerator {
    /// The generator of a seed.
    pub fn new(seed: u64, sizes: SizeDistribution) -> ContentGenerator {
        let mut pool = vec![0; POOL_BYTES];
        ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut pool);
        ContentGenerator { seed, sizes, pool: pool.into() }
    }

    /// The size of an object in bytes.
    pub fn size(&self, object: Object) -> u64 {
        self.sizes.of(object.hash64(self.seed))
    }

    /// Fills `into` with the contents of `object`.
    pub fn fill(&self, object: Object, into: &mut Vec<u8>) {
        into.clear();
        for piece in self.pieces(object) {
            into.extend_from_slice(piece.as_ref());
        }
    }

    /// Compares `found` with the contents of `object`.
    pub fn check(&self, object: Object, found: &[u8]) -> Result<(), Mismatch> {
        let expected = self.size(object);
        if found.len() as u64 != expected {
            return Err(Mismatch::Size { expected, found: found.len() as u64 });
        }
        let mut rest = found;
        for piece in self.pieces(object) {
            let piece = piece.as_ref();
            let (here, behind) = rest.split_at(piece.len());
            if here != piece {
                let differ = here.iter().zip(piece).take_while(|(a, b)| a == b).count();
                return Err(Mismatch::Byte { at: (found.len() - rest.len() + differ) as u64 });
            }
            rest = behind;
        }
        Ok(())
    }

    /// The contents in pieces: the head, then the pool, cyclically, from an offset that depends on the object.
    fn pieces(&self, object: Object) -> impl Iterator<Item = Piece<'_>> {
        let hash = object.hash64(self.seed);
        let size = self.sizes.of(hash) as usize;
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&hash.to_le_bytes());
        head[8..].copy_from_slice(&object.hash64(!self.seed).to_le_bytes());
        let mut at = hash as usize % POOL_BYTES;
        let mut left = size.saturating_sub(HEAD_BYTES);
        let body = std::iter::from_fn(move || {
            let take = left.min(POOL_BYTES - at);
            let piece = &self.pool[at..at + take];
            at = 0;
            left -= take;
            (take > 0).then_some(Piece::Pool(piece))
        });
        std::iter::once(Piece::Head(head, size.min(HEAD_BYTES))).chain(body)
    }
}

/// A part of an object's contents.
enum Piece<'p> {
    Head([u8; HEAD_BYTES], usize),
    Pool(&'p [u8]),
}

impl AsRef<[u8]> for Piece<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Piece::Head(head, len) => &head[..*len],
            Piece::Pool(piece) => piece,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::DataSet;
    use proptest::prelude::*;

    fn object(rank: u32, number: u32, item: u64) -> Object {
        Object { set: DataSet { rank, number }, item }
    }

    proptest! {
        #[test]
        fn wrong_byte_is_found_at_any_offset(
            size in 1_u64..3_000_000, item: u64, place in 0.0..1.0, flip in 1_u8..=255,
        ) {
            let contents = ContentGenerator::new(7, SizeDistribution::Fixed(size));
            let object = object(3, 1, item);
            let mut bytes = Vec::new();
            contents.fill(object, &mut bytes);
            prop_assert_eq!(bytes.len() as u64, size);
            prop_assert_eq!(contents.check(object, &bytes), Ok(()));
            let at = (place * size as f64) as usize;
            bytes[at] ^= flip;
            prop_assert_eq!(contents.check(object, &bytes), Err(Mismatch::Byte { at: at as u64 }));
            bytes.pop();
            prop_assert_eq!(contents.check(object, &bytes), Err(Mismatch::Size { expected: size, found: size - 1 }));
        }

        #[test]
        fn sizes_are_within_their_limits(least in 0_u64..5_000, more in 0_u64..5_000, item: u64) {
            let contents = ContentGenerator::new(1, SizeDistribution::Uniform { least, most: least + more });
            let size = contents.size(object(0, 0, item));
            prop_assert!((least..=least + more).contains(&size));
        }
    }

    #[test]
    fn objects_have_distinct_contents() {
        let contents = ContentGenerator::new(7, SizeDistribution::Fixed(20));
        let objects = [object(0, 0, 0), object(0, 0, 1), object(0, 1, 0), object(1, 0, 0), object(1, 1, 1)];
        let mut bytes = Vec::new();
        for written in objects {
            contents.fill(written, &mut bytes);
            for read in objects {
                assert_eq!(contents.check(read, &bytes).is_ok(), read == written);
            }
        }
        let mut other_seed = Vec::new();
        ContentGenerator::new(8, SizeDistribution::Fixed(20)).fill(objects[0], &mut other_seed);
        assert!(contents.check(objects[0], &other_seed).is_err());
    }

    #[test]
    fn sizes_have_the_expected_mean() {
        for sizes in [
            SizeDistribution::Fixed(3900),
            SizeDistribution::Uniform { least: 1000, most: 9000 },
            SizeDistribution::Lognormal { median: 4096, sigma: 1.0 },
        ] {
            let contents = ContentGenerator::new(3, sizes);
            let sum: u64 = (0..100_000).map(|item| contents.size(object(0, 0, item))).sum();
            let mean = sum as f64 / 1e5;
            assert!((mean / sizes.mean_bytes() - 1.0).abs() < 0.02, "{sizes:?}: {mean}");
        }
    }
}

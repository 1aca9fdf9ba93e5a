//! Data sets, and the objects in them.

use serde::{Deserialize, Serialize};

/// A data set: a directory, prefix or table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct DataSet {
    /// The rank that owns it, and creates and removes it.
    pub rank: u32,
    /// Its number within the rank.
    pub number: u32,
}

/// An object: a file, key or row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Object {
    /// The data set of the object.
    pub set: DataSet,
    /// Its number in the data set, in order of creation.
    pub item: u64,
}

impl Object {
    /// A 64-bit hash that is very likely unique (the finalizer of SplitMix64: Steele, Lea and Flood, Fast Splittable Pseudorandom
    /// Number Generators, OOPSLA 2014, applied to each part in turn).
    pub fn hash64(self, seed: u64) -> u64 {
        let set = u64::from(self.set.rank) << 32 | u64::from(self.set.number);
        mix(mix(mix(seed) ^ set) ^ self.item)
    }
}

fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

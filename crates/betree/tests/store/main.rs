//! The store against a `BTreeMap`, against power cuts, damage, full and failing disks. `SENESCE_TEST_TIMES=100` makes the random
//! ones longer: see the book, "Bε-tree stores".

mod crash;
mod damage;
mod full;
mod limits;
mod model;
mod rows;
mod threads;

use senesce_betree::Params;

/// Sizes that give many levels with few keys.
pub fn small() -> Params {
    Params { block_bytes: 512, node_bytes: 8 << 10, basement_bytes: 1 << 10, fanout: 4, log_bytes: 64 << 10 }
}

/// How much longer than in a quick run random tests take: `SENESCE_TEST_TIMES`, 1 unless told.
pub fn times() -> u32 {
    std::env::var("SENESCE_TEST_TIMES").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

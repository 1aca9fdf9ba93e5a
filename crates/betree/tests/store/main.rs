//! The store against a `BTreeMap`, against power cuts, damage, full and failing disks. The tests of the `soak` modules do the same at
//! length; `SENESCE_TEST_TIMES` says how many times as long.

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

/// How many times as much as their siblings soak tests do: `SENESCE_TEST_TIMES`, or so many.
pub fn times(unless_told: u32) -> u32 {
    std::env::var("SENESCE_TEST_TIMES").ok().and_then(|n| n.parse().ok()).unwrap_or(unless_told)
}

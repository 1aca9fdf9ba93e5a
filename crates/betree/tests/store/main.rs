//! The store against a `BTreeMap`, and under power cuts, damage, and full and failing disks. The tests of the `soak` modules run the same checks
//! longer; `SENESCE_TEST_TIMES` sets how many times longer.

mod crash;
mod damage;
mod failing;
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

/// The length factor of the soak tests: `SENESCE_TEST_TIMES`, or `default`.
pub fn times(default: u32) -> u32 {
    std::env::var("SENESCE_TEST_TIMES").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

//! A baseline and comparisons without file systems.

use super::{Baseline, Recipe};
use crate::compare::{Condition, Pair, Side};
use crate::scanned::HDD_MODEL;
use probe::Reader;
use results::RunId;
use results::measures::{FREE_EXTENTS, LAYOUT_SCORE, MODELLED_HDD_S_PER_GIB};
use workload::profile::ByProfile;

/// A comparison of an aging with these costs, layout scores and free extents. The unaged side is always the same.
pub fn pair(seed: u64, [cost, score, extents]: [f64; 3]) -> Pair {
    let side = |cost, score, extents| Side {
        values: [(MODELLED_HDD_S_PER_GIB, cost), (LAYOUT_SCORE, score), (FREE_EXTENTS, extents)]
            .map(|(measure, value)| (measure.name.to_owned(), Some(value)))
            .into(),
        ..Side::default()
    };
    Pair {
        name: format!("gate-{seed}"),
        fs: "ext4".to_owned(),
        profile: "agrawal".to_owned(),
        size_bytes: 1 << 30,
        kernel: "6".to_owned(),
        seed,
        condition: Condition(vec![("kernel".to_owned(), "6".to_owned())]),
        run: RunId(1),
        aged: side(cost, score, extents),
        unaged: side(5.0, 1.0, 10.0),
        aging_ratio: None,
        modelled_disk: HDD_MODEL.to_owned(),
        modelled_aging_ratio: None,
        modelled_hdd_aging_ratio: None,
        extent_map_hdd_aging_ratio: None,
    }
}

/// Six pairs: costs of 10, 20, … that differ by 2 % in a pair, layout scores that do not differ, free extents that differ by 1 %.
pub fn baseline() -> Baseline {
    let series = |turn: f64| -> Vec<Pair> {
        (1..=6u32)
            .map(|seed| {
                let by = if seed % 2 == 0 { turn } else { -turn };
                let (cost, score) = (10.0 * f64::from(seed), 1.0 - f64::from(seed) / 10.0);
                pair(seed.into(), [cost * (1.0 + by / 100.0), score, 500.0 * (1.0 + by / 200.0)])
            })
            .collect()
    };
    Baseline::learn(recipe(), [&series(-1.0), &series(1.0)]).unwrap()
}

fn recipe() -> Recipe {
    Recipe {
        name: "gate".to_owned(),
        fs: "ext4".to_owned(),
        mkfs_opts: Vec::new(),
        mount_opts: Vec::new(),
        size_bytes: 1 << 30,
        memory: false,
        aging: ByProfile {
            profile: profile::load("agrawal").unwrap(),
            method: workload::Method::Planned,
            fullness: None,
            overwrites: None,
            churn: None,
        },
        repeat: 1,
        reader: Reader::Grep,
        disk: None,
        new_file: true,
    }
}

//! An example page. All numbers are invented; their shapes are typical of aged file systems.

mod experiments;

use results::measures::{self, Measure};
use senesce_report::data::*;
use std::collections::BTreeMap;

const GIB: u64 = 1 << 30;
const BLOCK: u64 = 4096;
const SIZE: u64 = 4 * GIB;

/// Two file systems with all measures and a third with few, as after a quick run.
pub fn page() -> Page {
    let comparisons = comparisons();
    let experiments = experiments::all();
    Page {
        title: "Example report: two file systems after years of use".into(),
        made: "2026-01-15T10:30:00Z".into(),
        tool: "senesce 0.1.0".into(),
        measured_by: vec!["senesce age --seed 7".into(), "senesce compare".into()],
        drawn_by: "senesce report".into(),
        machine: table(&[
            ("Processor", "example processor, 2 cores"),
            ("Memory", "8 GiB"),
            ("Kernel", "Linux 6.12"),
            ("Device", "disk image behind a loop device"),
        ]),
        method: table(&[
            ("Scan", "every file of the tree in directory order, 5 repetitions"),
            ("Cold", "unmounted and mounted again, page cache, dentries and inodes dropped"),
            ("Modelled disk", "7200 rpm, 150 MiB/s, 8.5 ms average seek; service times counted, not slept"),
        ]),
        measures: MeasureInfo::of(&comparisons, &experiments),
        answer: "Of 3 aged file systems, against their unaged copies: modelled: 2 slower.".into(),
        comparisons,
        contrasts: vec![Contrast {
            name: "xfs </script> 70 %".into(),
            against: "ext4".into(),
            differing: "xfs; all else equal".into(),
            aged: headline(measures::MODELLED_HDD_S_PER_GIB, "on a modelled 7200 rpm disk", 1.8),
            unaged: headline(measures::MODELLED_HDD_S_PER_GIB, "on a modelled 7200 rpm disk", 1.01),
        }],
        matrix: None,
        experiments,
        notes: vec!["This is an example: every number on this page is invented.".into()],
    }
}

fn comparisons() -> Vec<Comparison> {
    vec![
        full("ext4", 3, 1.9, 1.05, 0.78, 0.30),
        full("xfs </script> 70 %", u64::MAX, 3.4, 1.6, 0.55, 0.65),
        Comparison {
            name: "btrfs, quick run".into(),
            fs: "btrfs".into(),
            mkfs: "mkfs.btrfs disk.img".into(),
            size_bytes: SIZE,
            profile: "douceur".into(),
            fullness: Some(0.5),
            ..Comparison::default()
        },
    ]
}

fn table(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|&(name, value)| (name.into(), value.into())).collect()
}

fn full(name: &str, seed: u64, modelled: f64, measured: f64, score: f64, scatter: f64) -> Comparison {
    Comparison {
        name: name.into(),
        fs: name.split(' ').next().unwrap_or_default().into(),
        fs_version: "example 1.47".into(),
        mkfs: format!("mkfs.{} -q disk.img", &name[..3]),
        size_bytes: SIZE,
        profile: "agrawal".into(),
        fullness: Some(0.7),
        agings: (0..3).map(|number| one_aging(seed - number, modelled, measured)).collect(),
        aged: side(seed, 9.0 * modelled, 2.1 * measured, score, scatter),
        unaged: side(seed, 9.0, 2.1, 0.995, 0.0),
        ratios: values([
            (measures::MODELLED_HDD_S_PER_GIB, interval(modelled, 0.04)),
            (measures::SCAN_S_PER_GIB, interval(measured, 0.03)),
        ]),
        modelled: Some(headline(measures::MODELLED_HDD_S_PER_GIB, "on a modelled 7200 rpm disk", modelled)),
        measured: Some(headline(measures::SCAN_S_PER_GIB, "here", measured)),
        modelled_disk: "hdd-7200".into(),
        aging: aging(),
    }
}

fn headline(measure: Measure, how: &str, ratio: f64) -> Headline {
    let ratio = interval(ratio, 0.03);
    let verdict = Verdict::on(&ratio, Words::COST);
    Headline { measure: measure.name.into(), how: how.into(), ratio, verdict }
}

fn one_aging(seed: u64, modelled: f64, measured: f64) -> OneAging {
    let change = 1.0 + (seed % 3) as f64 / 100.0;
    let costs = |modelled: f64, measured: f64| {
        values([(measures::MODELLED_HDD_S_PER_GIB, modelled), (measures::SCAN_S_PER_GIB, measured)])
    };
    OneAging {
        seed,
        aged: costs(9.0 * modelled * change, 2.1 * measured),
        unaged: costs(9.0, 2.1),
        ratios: costs(modelled * change, measured),
    }
}

/// Values by the names of their measures.
pub fn values<V, const N: usize>(values: [(Measure, V); N]) -> BTreeMap<String, V> {
    values.map(|(measure, value)| (measure.name.to_owned(), value)).into()
}

fn interval(mean: f64, half: f64) -> Estimate {
    Estimate { mean, low: Some(mean * (1.0 - half)), high: Some(mean * (1.0 + half)), n: 3 }
}

/// The value of one aging.
pub fn exact(mean: f64) -> Estimate {
    Estimate { mean, low: None, high: None, n: 1 }
}

fn side(seed: u64, modelled: f64, measured: f64, score: f64, scatter: f64) -> Side {
    let aged = scatter > 0.0;
    let free = |power: u32| {
        let centre = if aged { 16.0 } else { 27.0 };
        let extents = (3000.0 * (-(f64::from(power) - centre).powi(2) / 12.0).exp()) as u64 >> (power / 3);
        ExtentBin { lower_bytes: 1 << power, extents, bytes: extents * 3 * (1 << (power - 1)) }
    };
    let class = |power: u32| {
        let lost = (1.0 - score) * (1.0 + f64::from(power.abs_diff(18)) / 12.0);
        SizeClass {
            upper_bytes: 1 << power,
            files: 40_000 >> power.abs_diff(14),
            values: values([
                (measures::LAYOUT_SCORE, (power > 12).then(|| (1.0 - lost).max(0.05))),
                (measures::DEGREE_OF_FRAGMENTATION, Some(1.0 + lost * f64::from(power - 11))),
            ]),
        }
    };
    let scan = |repetition: u64| Measurement {
        seed,
        measure: "scan, warm \"hot\" cache dropped".into(),
        unit: "s/GiB".into(),
        repetition,
        value: measured * (1.0 + 0.01 * repetition as f64),
    };
    Side {
        values: values([
            (measures::SCAN_S_PER_GIB, interval(measured, 0.03)),
            (measures::MODELLED_HDD_S_PER_GIB, interval(modelled, 0.04)),
            (measures::SCAN_REQUESTS, exact(if aged { 61_204.0 } else { 9_310.0 })),
            (measures::DYNAMIC_LAYOUT_SCORE, interval(score * 0.9, 0.02)),
            (measures::LAYOUT_SCORE, exact(score)),
            (measures::SCAN_LAYOUT_SCORE, exact(score * 0.93)),
            (measures::DEGREE_OF_FRAGMENTATION, exact(1.0 + 4.0 * (1.0 - score))),
            (measures::FREE_EXTENTS, exact(if aged { 14_203.0 } else { 61.0 })),
            (measures::FREE_MEAN_BYTES, exact(if aged { 90_624.0 } else { 21_100_000.5 })),
            (measures::FREE_LARGEST_BYTES, exact(f64::from(if aged { 9 << 20 } else { 700 << 20 }))),
            (measures::NEW_FILE_BYTES, exact(f64::from(64 << 20))),
            (measures::NEW_FILE_FRAGMENTS, exact(if aged { 212.0 } else { 1.0 })),
        ]),
        free_histogram: (12..31).map(free).collect(),
        by_size: (12..29).map(class).collect(),
        tree: None,
        block_map: block_map(scatter),
        mapped_files: Some(39_869),
        raw: (1..=5).map(scan).collect(),
    }
}

/// Consecutive files; a share of the extents is moved to random places on the disk.
fn block_map(scatter: f64) -> Vec<FileRow> {
    let mut random = Random(42);
    let mut cursor = SIZE / 50;
    (0..400)
        .map(|_| {
            let blocks = 1 + (random.next() * random.next() * random.next() * 8000.0) as u64;
            let mut extents = Vec::new();
            let mut offset = 0;
            while offset < blocks {
                let run = if scatter > 0.0 { 1 + (random.next() * 300.0) as u64 } else { blocks };
                let run = run.min(blocks - offset);
                let thrown = random.next() < scatter;
                let address = if thrown { (random.next() * 0.95 * SIZE as f64) as u64 } else { cursor };
                extents.push((offset * BLOCK, address / BLOCK * BLOCK, run * BLOCK));
                cursor += run * BLOCK;
                offset += run;
            }
            FileRow { size_bytes: blocks * BLOCK - 17, extents }
        })
        .collect()
}

fn aging() -> Aging {
    let bins = |labels: &[&str], slope: f64| {
        let weight = |i: usize| (-(i as f64 - slope).powi(2) / 6.0).exp();
        let all: f64 = (0..labels.len()).map(weight).sum();
        let bin = |(i, label): (usize, &&str)| FitBin {
            label: (*label).into(),
            target: weight(i) / all,
            reached: weight(i) / all * if i % 2 == 0 { 1.02 } else { 0.98 },
        };
        labels.iter().enumerate().map(bin).collect()
    };
    let sizes = [
        "≤ 1 KiB",
        "≤ 4 KiB",
        "≤ 16 KiB",
        "≤ 64 KiB",
        "≤ 256 KiB",
        "≤ 1 MiB",
        "≤ 4 MiB",
        "≤ 16 MiB",
        "larger",
    ];
    Aging {
        values: values([
            (measures::OPERATIONS, 1_204_331.0),
            (measures::CREATIONS, 622_100.0),
            (measures::DELETIONS, 582_231.0),
            (measures::OVERWRITES, 12.4),
            (measures::BOUND_OPERATIONS, 1_204_331.0),
            (measures::BOUND_OVERWRITES, 12.4),
            (measures::OPERATIONS_PER_S, 18_430.0),
            (measures::LIVE_FILES, 39_869.0),
            (measures::AGE_RMS_ERROR, 0.0004),
            (measures::SIZE_RMS_ERROR, 0.0011),
            (measures::DEPTH_RMS_ERROR, 0.0009),
            (measures::FIT_P_VALUE, 0.998),
        ]),
        stopped_by: "the profile was reached".into(),
        age: bins(&["0 – 2 %", "2 – 5 %", "5 – 12 %", "12 – 25 %", "25 – 50 %", "50 – 100 %"], 1.0),
        size: bins(&sizes, 3.0),
        depth: bins(&["0", "1", "2", "3", "4", "5", "6", "7", "8 and more"], 4.0),
    }
}

/// A linear congruential generator, so that the example is the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

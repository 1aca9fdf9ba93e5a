//! Experiments of the example page, one for each kind of figure. All numbers are invented.

use super::table;
use senesce_report::data::*;

const BLOCK: u64 = 4096;
const KIB: f64 = 1024.0;
const MIB: f64 = KIB * KIB;
const HDD: &str = "hdd-7200";
const SSD: &str = "ssd-sata";
/// File systems and the severity of their aging.
const KINDS: [(&str, f64); 3] = [("ext4", 0.3), ("xfs", 0.6), ("btrfs", 0.95)];
const SIDES: [&str; 2] = ["aged", "unaged"];

pub fn all() -> Vec<Experiment> {
    vec![
        transfer_size(),
        rounds("fast17-fig2", "Intrafile: files that grow side by side", 7.0),
        block_pictures(),
        rounds("fast17-fig4", "Interfile: files that are copied out of order", 4.0),
        git(),
        file_size(),
        warm_cache(),
        node_size(),
        mail(),
    ]
}

fn transfer_size() -> Experiment {
    let line = |disk, best: f64, half: f64| {
        let size = |power: i32| BLOCK as f64 * 2f64.powi(power);
        line("", disk, "", "", (0..15).map(|i| near(size(i), best / (1.0 + half / size(i)))))
    };
    Experiment {
        plots: vec![plot(
            "Random reads of one size",
            bytes("read size"),
            log("bandwidth", "MiB/s"),
            vec![line(HDD, 150.0, 1.6 * MIB), line(SSD, 480.0, 60.0 * KIB)],
        )],
        claims: vec![
            check("The natural transfer size is a few MiB", "about 4 MiB", "1.6 MiB", Some(true)),
            check(
                "Reads of 4 KiB get 2 to 3 orders of magnitude less on the HDD",
                "100–1000×",
                "390×",
                Some(true),
            ),
        ],
        ..experiment("fast17-fig1", "Bandwidth against read size")
    }
}

/// The score falls and the cost rises over 100 rounds; many points, no repetitions.
fn rounds(figure: &str, title: &str, worst: f64) -> Experiment {
    let series = |y: &dyn Fn(f64, f64, f64) -> f64, disks: &[(&str, f64)]| {
        let mut lines = Vec::new();
        for &(disk, base) in disks {
            for (fs, harm) in KINDS {
                let points =
                    (0..=100).step_by(2).map(|r| bare(f64::from(r), y(base, harm, f64::from(r) / 100.0)));
                lines.push(line(fs, disk, "", "", points));
            }
        }
        lines
    };
    let cost = |base: f64, harm: f64, age: f64| {
        base * (1.0 + worst * harm * (1.0 - (-6.0 * age).exp())) + wobble(age)
    };
    let score = |_: f64, harm: f64, age: f64| 0.97 - 0.9 * harm * age.sqrt();
    let round = || axis("round", "");
    Experiment {
        plots: vec![
            plot(
                "Cost of a grep",
                round(),
                axis("grep cost", "s/GiB"),
                series(&cost, &[(HDD, 8.0), (SSD, 2.4)]),
            ),
            plot(
                "Dynamic layout score",
                round(),
                axis("dynamic layout score", ""),
                series(&score, &[(HDD, 0.0)]),
            ),
        ],
        claims: vec![
            check(
                "The score falls with every round on XFS and Btrfs",
                "falls",
                "0.97 → 0.07 (Btrfs)",
                Some(true),
            ),
            check(
                "Score and cost go against each other",
                "r = −0.93",
                "r = −0.88 [−0.94 – −0.79]",
                Some(true),
            ),
        ],
        ..experiment(figure, title)
    }
}

fn block_pictures() -> Experiment {
    let picture = |fs: &str, round: u64, harm: f64| Picture {
        files: Some(2_000),
        title: String::new(),
        fs: fs.into(),
        round,
        rows: (0..10).map(|file| row(file, round, harm)).collect(),
    };
    Experiment {
        pictures: KINDS
            .iter()
            .flat_map(|&(fs, harm)| [0, 50, 100].map(|round| picture(fs, round, harm)))
            .collect(),
        failed: vec![FailedCell {
            cell: "btrfs, hdd-7200, seed 3".into(),
            why: "mkfs.btrfs ended with status 1: no space left on device; give --size 1GiB or more".into(),
        }],
        ..experiment("fast17-fig3", "Where the blocks of the intrafile test lie")
    }
}

/// One of ten files of 100 blocks, the last `round` of which are interleaved with the other files.
fn row(file: u64, round: u64, harm: f64) -> FileRow {
    let alone = if harm < 0.5 { 100 } else { 100 - round };
    let block = |i: u64| if i < alone { file * alone + i } else { 10 * i + file };
    FileRow {
        size_bytes: 100 * BLOCK,
        extents: (0..100).map(|i| (i * BLOCK, (5120 + block(i)) * BLOCK, BLOCK)).collect(),
    }
}

fn git() -> Experiment {
    let cost = |base: f64, harm: f64, pulls: f64| base * (1.0 + 8.0 * harm * (pulls / 400.0).sqrt());
    let score = |_: f64, harm: f64, pulls: f64| 0.9 - 0.6 * harm * (pulls / 400.0).sqrt();
    let series = |y: &dyn Fn(f64, f64, f64) -> f64, disks: &[(&str, f64)]| {
        let mut lines = Vec::new();
        for &(disk, base) in disks {
            for (fs, harm) in KINDS {
                for (side, share) in [("aged", 1.0), ("unaged", 0.08)] {
                    for (option, more) in [("gc on", 1.0), ("gc off", 0.6)] {
                        let value = |n: i32| near(f64::from(n), y(base, harm * share * more, f64::from(n)));
                        lines.push(line(fs, disk, side, option, (0..=400).step_by(50).map(value)));
                    }
                }
            }
        }
        lines
    };
    let pulls = || axis("pulls accrued", "");
    Experiment {
        plots: vec![
            Plot {
                note: "Cost of the whole working tree, .git included.".into(),
                published: vec![Published {
                    fs: vec!["ext4".into()],
                    disks: vec![HDD.into()],
                    low: 40.0,
                    high: 60.0,
                    text: "ext4, after 400 pulls".into(),
                    ..Published::default()
                }],
                ..plot("Cost of a grep", pulls(), axis("grep cost", "s/GiB"), series(&cost, &[(HDD, 9.0), (SSD, 2.2)]))
            },
            plot("Dynamic layout score", pulls(), axis("dynamic layout score", ""), series(&score, &[(HDD, 0.0)])),
        ],
        claims: vec![
            check("Aged ext4 is slower on the HDD", "8.8×", "3.3× [3.1× – 3.6×]", Some(true)),
            check("Btrfs ages more than ext4 on the HDD", "20.6× against 8.8×", "8.1× against 3.3×", Some(true)),
            Claim {
                why: "the SSD model sees requests and bytes only; the published drives also lose read-ahead depth".into(),
                ..check("Aged ext4 is slower on the SSD", "1.5–2.2×", "1.02× [1.01× – 1.04×]", Some(false))
            },
            Claim {
                why: "betreefs is not among the file systems of this run".into(),
                ..check("The Bε-tree file system stays flat", "flat", "–", None)
            },
        ],
        ..experiment("fast17-fig5", "Git: 400 pulls of a source repository")
    }
}

fn file_size() -> Experiment {
    let cost = |size: f64, harm: f64| 7.0 + 40.0 * harm * (64.0 * KIB / (size + 4.0 * KIB));
    let points =
        |harm: f64| (0..9).map(move |i| 4.0 * KIB * 2f64.powi(i)).map(move |x| near(x, cost(x, harm)));
    let lines = [(HDD, 1.0), (SSD, 0.2)].iter().flat_map(|&(disk, share)| {
        KINDS.iter().flat_map(move |&(fs, harm)| {
            SIDES.map(|side| {
                line(
                    fs,
                    disk,
                    side,
                    "",
                    points(if side == "aged" { harm * share } else { harm * share / 8.0 }),
                )
            })
        })
    });
    Experiment {
        plots: vec![plot(
            "Cost of a grep",
            bytes("size of every file"),
            log("grep cost", "s/GiB"),
            lines.collect(),
        )],
        claims: vec![check(
            "Aging costs least with large files",
            "falls",
            "117 → 7.9 s/GiB (xfs)",
            Some(true),
        )],
        ..experiment("fast17-fig6", "Cost against file size")
    }
}

fn warm_cache() -> Experiment {
    let cost =
        |memory: f64, harm: f64| (12.0 * (1.0 + 6.0 * harm) * (1.0 - memory / (1.1 * KIB * MIB))).max(0.4);
    let memory = |i: u32| 128.0 * MIB * f64::from(i);
    let points = |harm: f64| (1..=10).map(move |i| near(memory(i), cost(memory(i), harm)));
    let lines = KINDS.iter().flat_map(|&(fs, harm)| {
        SIDES.map(|side| line(fs, HDD, side, "", points(if side == "aged" { harm } else { harm * 0.1 })))
    });
    let memory = Axis { log: false, ..bytes("memory for the cache") };
    Experiment {
        plots: vec![plot("Cost of a grep, cache kept", memory, axis("grep cost", "s/GiB"), lines.collect())],
        claims: vec![check(
            "Aging costs until the tree fits into memory",
            "gap closes",
            "closes at 1.1 GiB",
            Some(true),
        )],
        ..experiment("fast17-fig7", "Warm cache against memory")
    }
}

fn node_size() -> Experiment {
    let sizes = || (0..5).map(|i| 4.0 * KIB * 2f64.powi(i));
    let costs = |share: f64| sizes().map(move |x| near(x, 9.0 + share * 90.0 / (x / (4.0 * KIB)).sqrt()));
    let written = sizes().map(|x| bare(x, 400.0 + 90.0 * x / (4.0 * KIB)));
    let cost = [("round 50", 0.6), ("round 100", 1.0)].iter().flat_map(|&(option, age)| {
        [("aged", 1.0), ("unaged", 0.1)]
            .map(|(side, share)| line("btrfs", HDD, side, option, costs(age * share)))
    });
    Experiment {
        plots: vec![
            plot("Cost of a grep", bytes("node size"), axis("grep cost", "s/GiB"), cost.collect()),
            plot(
                "Written while aging",
                bytes("node size"),
                axis("blocks written", "thousands"),
                vec![line("btrfs", HDD, "", "", written)],
            ),
        ],
        claims: vec![check(
            "Greater nodes age less and write more",
            "a trade-off",
            "99 → 31 s/GiB, 490 → 1840 thousand",
            Some(true),
        )],
        ..experiment("fast17-fig8", "Node size of Btrfs")
    }
}

fn mail() -> Experiment {
    let series = |y: &dyn Fn(f64, f64) -> f64| {
        let mut lines = Vec::new();
        for (fs, harm) in KINDS {
            for (side, share) in [("aged", 1.0), ("unaged", 0.05)] {
                lines.push(line(
                    fs,
                    HDD,
                    side,
                    "",
                    (0..=100).step_by(5).map(|day| near(f64::from(day), y(harm * share, f64::from(day)))),
                ));
            }
        }
        lines
    };
    let day = || axis("day", "");
    Experiment {
        plots: vec![
            plot(
                "Cost of a grep",
                day(),
                log("grep cost", "s/GiB"),
                series(&|harm, day| 10.0 * (1.0 + 30.0 * harm * day / 100.0)),
            ),
            plot(
                "Dynamic layout score",
                day(),
                axis("dynamic layout score", ""),
                series(&|harm, day| 0.8 - 0.7 * harm * (day / 100.0).sqrt()),
            ),
        ],
        claims: vec![check(
            "Btrfs ages most, ext4 least",
            "30×, XFS 7×, ext4 4.4×",
            "29×, XFS 19×, ext4 10×",
            Some(true),
        )],
        failed: vec![
            FailedCell {
                cell: "xfs, ssd-sata".into(),
                why: "dovecot ended with status 89: port 14143 is taken".into(),
            },
            FailedCell { cell: "ext4, ssd-sata".into(), why: "stopped by the user".into() },
        ],
        ..experiment("fast17-fig9", "Mail: 100 days of inserts and deletes")
    }
}

fn experiment(figure: &str, title: &str) -> Experiment {
    let number = figure.trim_start_matches("fast17-fig");
    Experiment {
        figure: figure.into(),
        title: title.into(),
        source: format!("Conway et al., File Systems Fated for Senescence?, FAST 2017, Figure {number}"),
        scale: "small".into(),
        method: table(&[
            ("Repetitions", "6 of each scan"),
            ("Seed", "7"),
            ("Disks", "modelled, service times counted"),
        ]),
        ..Experiment::default()
    }
}

fn check(states: &str, published: &str, measured: &str, holds: Option<bool>) -> Claim {
    let [states, published, measured] = [states, published, measured].map(Into::into);
    let verdict = match holds {
        Some(true) => ClaimVerdict::Holds,
        Some(false) => ClaimVerdict::DoesNotHold,
        None => ClaimVerdict::CannotBeTold,
    };
    Claim {
        section: "§5".into(),
        states,
        published,
        lines: vec![LineVerdict { line: String::new(), measured, verdict, why: "not measured".into() }],
        verdict,
        why: String::new(),
    }
}

fn plot(title: &str, x: Axis, y: Axis, lines: Vec<Line>) -> Plot {
    Plot { title: title.into(), x, y, lines, ..Plot::default() }
}

fn axis(label: &str, unit: &str) -> Axis {
    Axis { label: label.into(), unit: unit.into(), log: false }
}

fn log(label: &str, unit: &str) -> Axis {
    Axis { log: true, ..axis(label, unit) }
}

fn bytes(label: &str) -> Axis {
    log(label, "bytes")
}

fn line(fs: &str, disk: &str, side: &str, option: &str, points: impl Iterator<Item = Point>) -> Line {
    let [fs, disk, side, option] = [fs, disk, side, option].map(Into::into);
    Line { fs, disk, side, option, points: points.collect() }
}

fn bare(x: f64, y: f64) -> Point {
    Point { x, y, low: None, high: None }
}

/// A point with an interval of ±8 %.
fn near(x: f64, y: f64) -> Point {
    Point { low: Some(0.92 * y), high: Some(1.08 * y), ..bare(x, y) }
}

/// Deterministic noise.
fn wobble(age: f64) -> f64 {
    0.6 * (age * 97.0).sin()
}

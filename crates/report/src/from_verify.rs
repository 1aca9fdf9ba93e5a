//! Converts validations of replays to page data: layout scores of the real and the replayed file system by
//! day and by file size, as Smith and Seltzer (1997) plotted them, and their free extents.

use crate::data::{Axis, Claim, ClaimVerdict, Experiment, Line, LineVerdict, Plot, Point, Published};
use crate::method_rows;
use results::{Run, Store};
use run::{Error, Verified};
use std::collections::HashSet;

/// The last complete verification of each name; of the given names, or of all without names.
pub fn latest<'r>(
    store: &Store,
    runs: &'r [Run],
    names: &[String],
) -> Result<Vec<(&'r Run, Verified)>, Error> {
    let wanted = |run: &&Run| {
        run.kind == "verify" && run.state == "done" && (names.is_empty() || names.contains(&run.name))
    };
    let mut seen = HashSet::new();
    let mut latest = Vec::new();
    for run in runs.iter().rev().filter(wanted).filter(|run| seen.insert(&run.name)) {
        latest.extend(run::verified(store, run.id)?.map(|verified| (run, verified)));
    }
    latest.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    Ok(latest)
}

/// The published scores of the last day, real and simulated.
const PUBLISHED: (f64, f64) = (0.815, 0.876);

/// The page data of a verification.
pub fn verify(run: &Run, verified: &Verified) -> Experiment {
    let days = verified.days.len();
    Experiment {
        figure: run.name.clone(),
        title: format!("{}: real and replayed, {days} snapshots", verified.fs),
        source: "Smith and Seltzer, File System Aging, SIGMETRICS 1997".to_owned(),
        scale: "verification".to_owned(),
        claims: vec![claim(verified)],
        plots: vec![by_day(verified), by_size(verified), fullness(verified), free(verified)]
            .into_iter()
            .filter(|plot| plot.lines.iter().any(|line| !line.points.is_empty()))
            .collect(),
        method: [
            ("Command", run.command.clone()),
            ("Parameters", method_rows::words(&run.parameters)),
            ("Real file system", verified.fs.clone()),
            ("Replayed on", verified.replayed_fs.clone()),
        ]
        .map(|(name, text)| (name.to_owned(), text))
        .to_vec(),
        ..Experiment::default()
    }
}

fn claim(verified: &Verified) -> Claim {
    let ends = verified.real_final.zip(verified.replayed_final).map(|(a, b)| (a - b).abs());
    let (real, simulated) = PUBLISHED;
    let verdict = match ends {
        None => ClaimVerdict::CannotBeTold,
        Some(ends) if ends <= simulated - real => ClaimVerdict::Holds,
        Some(_) => ClaimVerdict::DoesNotHold,
    };
    let number =
        |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.3}"));
    let average = number(verified.mean_abs_difference);
    Claim {
        section: "§3.4, Figure 3".to_owned(),
        states: "The layout scores of the replayed and the real file system differ by no more at the end"
            .to_owned(),
        published: format!("{:.3}", simulated - real),
        lines: vec![LineVerdict {
            line: String::new(),
            measured: format!("{}, on average {average}", number(ends)),
            verdict,
            why: String::new(),
        }],
        verdict,
        why: String::new(),
    }
}

fn by_day(verified: &Verified) -> Plot {
    let points =
        |score: fn(&run::Day) -> Option<f64>| points(&verified.days, |day| (day.day as f64, score(day)));
    let by_day = plot(
        "Layout score by day",
        axis("day", "", false),
        axis("layout score", "", false),
        both(points(|day| day.real_score), points(|day| day.replayed_score)),
        "All files. Day 0 is the filling.",
    );
    let (real, simulated) = PUBLISHED;
    let published = |side: &str, score| Published {
        fs: vec![side.to_owned()],
        low: score,
        high: score,
        text: format!("{side}, after 215 days"),
        ..Published::default()
    };
    Plot { published: vec![published("real", real), published("replayed", simulated)], ..by_day }
}

fn by_size(verified: &Verified) -> Plot {
    let points = |score: fn(&run::SizeScores) -> Option<f64>| {
        points(&verified.by_size, |class| (class.upper_bytes as f64, score(class)))
    };
    plot(
        "Layout score by size of the files",
        axis("size", "bytes", true),
        axis("layout score", "", false),
        both(points(|class| class.real_score), points(|class| class.replayed_score)),
        "Last day. A point covers files of more than half its size, up to its size.",
    )
}

fn fullness(verified: &Verified) -> Plot {
    let points =
        |share: fn(&run::Day) -> Option<f64>| points(&verified.days, |day| (day.day as f64, share(day)));
    plot(
        "Share in use",
        axis("day", "", false),
        axis("share of the file system", "share", false),
        both(points(|day| day.real_fullness), points(|day| day.replayed_fullness)),
        "",
    )
}

fn free(verified: &Verified) -> Plot {
    let points =
        |free: &Option<probe::FreeSpace>| cumulative(free.as_ref().map_or(&[][..], |free| &free.histogram));
    plot(
        "Free space in extents of at least a length",
        axis("length of free extents, at least", "bytes", true),
        axis("share of the free space", "share", false),
        both(points(&verified.real_free), points(&verified.replayed_free)),
        "Last day.",
    )
}

/// The share of the free bytes in each bin and all longer ones, ending where no extent is as long.
fn cumulative(bins: &[probe::ExtentBin]) -> Vec<Point> {
    let all: u64 = bins.iter().map(|bin| bin.bytes).sum();
    let mut left = all;
    let mut points = Vec::new();
    for bin in bins.iter().filter(|_| all > 0) {
        points.push(point(bin.lower_bytes as f64, left as f64 / all as f64));
        left -= bin.bytes;
    }
    points.extend(bins.last().filter(|_| all > 0).map(|last| point(2.0 * last.lower_bytes as f64, 0.0)));
    points
}

fn points<T>(of: &[T], at: impl Fn(&T) -> (f64, Option<f64>)) -> Vec<Point> {
    let place = |of| {
        let (x, y) = at(of);
        y.filter(|_| x >= 0.0).map(|y| point(x, y))
    };
    of.iter().filter_map(place).collect()
}

fn point(x: f64, y: f64) -> Point {
    Point { x, y, ..Point::default() }
}

fn axis(label: &str, unit: &str, log: bool) -> Axis {
    Axis { label: label.to_owned(), unit: unit.to_owned(), log }
}

/// The lines of both file systems.
fn both(real: Vec<Point>, replayed: Vec<Point>) -> Vec<Line> {
    let line = |(side, points): (&str, Vec<Point>)| Line { fs: side.to_owned(), points, ..Line::default() };
    [("real", real), ("replayed", replayed)].map(line).to_vec()
}

fn plot(title: &str, x: Axis, y: Axis, lines: Vec<Line>, note: &str) -> Plot {
    Plot { title: title.to_owned(), x, y, lines, note: note.to_owned(), ..Plot::default() }
}

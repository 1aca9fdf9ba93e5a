//! The real series, by line.

use results::measures;

/// The cost of a file system on a real disk, pull by pull.
#[derive(Clone, Debug, PartialEq)]
pub struct RealLine {
    /// Kind of file system; that of BetrFS is `betreefs`.
    pub fs: String,
    /// The model of a disk of this kind.
    pub disk: String,
    /// The setting, as the experiment names it: `alone, gc off`.
    pub option: String,
    /// The measurements, in the order of their pulls.
    pub points: Vec<RealPoint>,
}

/// What was measured after a number of pulls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealPoint {
    /// The number of pulls.
    pub pull: u64,
    /// Size of the tree as `du` says, in GiB; not known of BetrFS.
    pub tree_gib: Option<f64>,
    /// Seconds of a recursive grep of the aged tree with a cold cache.
    pub aged_s: f64,
    /// Seconds of the same with a copy of the tree on a fresh file system.
    pub unaged_s: f64,
    /// Dynamic layout score of the aged tree.
    pub aged_score: f64,
}

impl RealPoint {
    /// What corresponds to a measure of aged trees, or to the aging ratio.
    pub fn value(&self, measure: &str) -> Option<f64> {
        match measure {
            _ if measure == measures::AGING_RATIO.name => Some(self.aged_s / self.unaged_s),
            _ if measure == measures::MODELLED_S_PER_GIB.name => Some(self.aged_s / self.tree_gib?),
            _ if measure == measures::DYNAMIC_LAYOUT_SCORE.name => Some(self.aged_score),
            _ => None,
        }
    }
}

/// All real series.
pub fn real_lines() -> Vec<RealLine> {
    parse(include_str!("../../../../experiments/referee/git-aging.csv")).expect("a test parses it")
}

const HEADER: &str = "tree,fs,disk,gc,pull,du_kib,aged_s,unaged_s,aged_score,unaged_score";

/// Parses the file; returns what is wrong, with its line.
fn parse(text: &str) -> Result<Vec<RealLine>, String> {
    let mut rows = text.lines();
    if rows.next() != Some(HEADER) {
        return Err(format!("line 1 is not {HEADER:?}"));
    }
    let mut lines: Vec<RealLine> = Vec::new();
    for (row, number) in rows.zip(2..) {
        let (line, point) = parse_row(row).map_err(|why| format!("line {number}: {why}"))?;
        let same = |other: &&mut RealLine| {
            (&other.fs, &other.disk, &other.option) == (&line.fs, &line.disk, &line.option)
        };
        match lines.iter_mut().find(same) {
            Some(line) if line.points.last().is_some_and(|last| last.pull >= point.pull) => {
                return Err(format!("line {number}: pull {} is not behind the one before", point.pull));
            }
            Some(line) => line.points.push(point),
            None => lines.push(RealLine { points: vec![point], ..line }),
        }
    }
    Ok(lines)
}

/// Parses a row: the line that it belongs to, without points, and its point.
fn parse_row(row: &str) -> Result<(RealLine, RealPoint), String> {
    let fields: Vec<&str> = row.split(',').collect();
    let &[tree, fs, disk, gc, pull, du_kib, aged_s, unaged_s, aged_score, _] = fields.as_slice() else {
        return Err(format!("it has {} fields, not 10", fields.len()));
    };
    let disk = match disk {
        "hdd" => "hdd-7200",
        "ssd" => "ssd-sata",
        other => return Err(format!("disk {other:?} is neither hdd nor ssd")),
    };
    let line = RealLine {
        fs: if fs == "betrfs" { "betreefs" } else { fs }.to_owned(),
        disk: disk.to_owned(),
        option: format!("{}, gc {gc}", tree.replace('-', " ")),
        points: Vec::new(),
    };
    let tree_gib = if du_kib.is_empty() { None } else { Some(number(du_kib)? / 1_048_576.0) };
    let point = RealPoint {
        pull: pull.parse().map_err(|_| format!("pull {pull:?} is not a number"))?,
        tree_gib,
        aged_s: number(aged_s)?,
        unaged_s: number(unaged_s)?,
        aged_score: number(aged_score)?,
    };
    Ok((line, point))
}

/// A positive number.
fn number(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    if number.is_finite() && number > 0.0 { Ok(number) } else { Err(format!("{text} is not above 0")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn file_is_read() {
        let lines = real_lines();
        assert_eq!(lines.len(), 36);
        assert!(lines.iter().all(|line| line.points.len() == 25 && line.points[24].pull == 10_000));
        let ext4 = lines.iter().find(|line| {
            (line.fs.as_str(), line.disk.as_str(), line.option.as_str())
                == ("ext4", "hdd-7200", "alone, gc off")
        });
        let last = ext4.unwrap().points[24];
        assert!((last.value("aging_ratio").unwrap() - 12.65).abs() < 0.01, "{last:?}");
        assert!((last.value("modelled_s_per_gib").unwrap() - 822.8).abs() < 0.1, "{last:?}");
        assert_eq!(last.value("files"), None);
        let betreefs = lines.iter().find(|line| line.fs == "betreefs").unwrap();
        assert_eq!(betreefs.points[0].value("modelled_s_per_gib"), None);
    }

    #[test]
    fn damage_is_told_with_its_line() {
        let row = "alone,ext4,hdd,off,100,1048576,2.0,1.0,0.5,0.6";
        let of = |rows: &[&str]| parse(&format!("{HEADER}\n{}\n", rows.join("\n")));
        assert_eq!(of(&[row]).unwrap()[0].points[0].value("modelled_s_per_gib"), Some(2.0));
        for (rows, said) in [
            (vec![row, row], "line 3: pull 100"),
            (vec![row, "alone"], "line 3: it has 1 fields"),
            (vec![&row.replace("hdd", "tape")], "neither hdd nor ssd"),
            (vec![&row.replace("2.0", "0")], "line 2: 0 is not above 0"),
            (vec![&row.replace("2.0", "inf")], "inf is not above 0"),
            (vec![&row.replace("2.0", "two")], "\"two\" is not a number"),
            (vec![&row.replace(",100,", ",-1,")], "pull \"-1\""),
        ] {
            let error = of(&rows).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        assert!(parse("").unwrap_err().contains("line 1"));
    }

    proptest! {
        #[test]
        fn arbitrary_rows_do_not_panic(rows in "([a-z0-9,.-]{0,40}\n){0,4}") {
            let _ = parse(&format!("{HEADER}\n{rows}"));
        }
    }
}

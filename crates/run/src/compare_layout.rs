//! Compares two file systems by free space, extents, layout scores, and the fragments of a new file (Kadekodi, Nagarajan and Gibson, "Aging
//! Gracefully with Geriatrix", CMU-PDL-17-106, 2017, Figures 2 and 3).

mod look;
mod new_file;
mod subject;

pub use look::Look;
pub use subject::Subject;

use crate::verify::{distances, lengths};
use crate::{Distances, Error};
use disk::Session;
use look::look;
use results::Watch;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Parameters of a comparison.
#[derive(Clone, Debug)]
pub struct CompareLayoutSpec {
    /// The two file systems.
    pub subjects: [Subject; 2],
    /// The new file.
    pub new_file: NewFileSize,
    /// Directory with space for temporary copies.
    pub scratch: PathBuf,
}

/// Size of the new file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewFileSize {
    /// No new file.
    None,
    /// 2 GB as published, or half of the smaller free space.
    Published,
    /// This number of bytes, or as many as fit.
    Bytes(u64),
}

/// The comparison of two file systems.
#[derive(Clone, Debug, Serialize)]
pub struct LayoutComparison {
    /// The observations of each.
    pub sides: [Look; 2],
    /// The distances.
    pub apart: Apart,
    /// Layout scores by file size.
    pub by_size: Vec<ScoresBySize>,
}

/// Distances between two file systems; `None` if one of them does not report the data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Apart {
    /// Of the lengths of free extents, weighted by extent.
    pub free_extents: Option<Distances>,
    /// Of the lengths of free extents, weighted by byte.
    pub free_bytes: Option<Distances>,
    /// Of the lengths of file extents.
    pub file_extents: Option<Distances>,
    /// Difference of the layout scores of all files, the second minus the first.
    pub layout_score: Option<f64>,
    /// Mean absolute difference of the layout scores, over the file sizes of both.
    pub layout_score_by_size: Option<f64>,
    /// Fragments of the new file, the second over the first.
    pub new_file_fragments: Option<f64>,
}

/// Files larger than half of `upper_bytes` and at most `upper_bytes`, on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScoresBySize {
    /// A power of two; the first class is 4 KiB and contains all smaller files.
    pub upper_bytes: u64,
    /// Number of files of each.
    pub files: [u64; 2],
    /// Their layout scores.
    pub scores: [Option<f64>; 2],
}

impl LayoutComparison {
    /// Number of extents by length, in classes of powers of two from the shortest to the longest: free extents of both sides, then file
    /// extents of both sides.
    pub fn histogram(&self) -> Vec<(u64, [u64; 4])> {
        let mut bins: BTreeMap<u64, [u64; 4]> = BTreeMap::new();
        for (n, side) in self.sides.iter().enumerate() {
            let free = side.free.iter().flat_map(|free| &free.histogram).map(|bin| (n, bin));
            let files =
                side.layout.iter().flat_map(|layout| &layout.extents_by_length).map(|bin| (n + 2, bin));
            free.chain(files).for_each(|(n, bin)| bins.entry(bin.lower_bytes).or_default()[n] += bin.extents);
        }
        bins.into_iter().collect()
    }
}

/// Inspects both file systems and compares them. Writes to neither.
pub fn compare_layout(spec: &CompareLayoutSpec, watch: &mut dyn Watch) -> Result<LayoutComparison, Error> {
    let session = Session::begin()?;
    let scratch = std::fs::canonicalize(&spec.scratch).map_err(Error::io("finding", &spec.scratch))?;
    let mut seen = Vec::new();
    for subject in &spec.subjects {
        seen.push(look(&session, subject, &scratch, watch)?);
    }
    new_file::measure(&session, &mut seen, spec.new_file, &scratch, watch)?;
    let sides: Vec<Look> = seen.into_iter().map(|seen| seen.look).collect();
    let sides: [Look; 2] = sides.try_into().unwrap_or_else(|_| unreachable!("two were looked at"));
    Ok(of(sides))
}

/// Compares the observations of two file systems.
fn of(sides: [Look; 2]) -> LayoutComparison {
    let [a, b] = &sides;
    let free = a.free.as_ref().zip(b.free.as_ref());
    let layouts = a.layout.as_ref().zip(b.layout.as_ref());
    let in_bytes = |bins: &[probe::ExtentBin]| -> Vec<(f64, f64)> {
        bins.iter().map(|bin| ((bin.lower_bytes as f64).log2(), bin.bytes as f64)).collect()
    };
    let by_size = by_size(&sides);
    let both: Vec<f64> =
        by_size.iter().filter_map(|class| Some((class.scores[0]? - class.scores[1]?).abs())).collect();
    let score = |side: &Look| side.layout.as_ref()?.layout_score;
    let fragments = |side: &Look| Some(side.new_file?.fragments as f64);
    let apart = Apart {
        free_extents: free.map(|(a, b)| distances(&lengths(&a.histogram), &lengths(&b.histogram))),
        free_bytes: free.map(|(a, b)| distances(&in_bytes(&a.histogram), &in_bytes(&b.histogram))),
        file_extents: layouts
            .map(|(a, b)| distances(&lengths(&a.extents_by_length), &lengths(&b.extents_by_length))),
        layout_score: score(a).zip(score(b)).map(|(a, b)| b - a),
        layout_score_by_size: (!both.is_empty()).then(|| both.iter().sum::<f64>() / both.len() as f64),
        new_file_fragments: fragments(a).zip(fragments(b)).map(|(a, b)| b / a),
    };
    LayoutComparison { sides, apart, by_size }
}

fn by_size(sides: &[Look; 2]) -> Vec<ScoresBySize> {
    let mut classes: BTreeMap<u64, ScoresBySize> = BTreeMap::new();
    for (n, side) in sides.iter().enumerate() {
        for class in side.layout.iter().flat_map(|layout| &layout.by_size) {
            let upper_bytes = class.upper_bytes;
            let none = ScoresBySize { upper_bytes, files: [0; 2], scores: [None; 2] };
            let scores = classes.entry(upper_bytes).or_insert(none);
            (scores.files[n], scores.scores[n]) = (class.files, class.layout_score);
        }
    }
    classes.into_values().collect()
}

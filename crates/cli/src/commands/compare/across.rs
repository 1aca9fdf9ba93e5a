//! Tables of a comparison across kernels: one for each kind of file system, with columns for each kernel.

use super::{label, ratio, shown};
use crate::output::{self, number};
use anyhow::Result;
use run::Pair;

/// Prints the tables. The pairs are grouped by kernel.
pub fn show(pairs: &[Pair]) -> Result<()> {
    let mut kinds: Vec<&str> = pairs.iter().map(|pair| pair.fs.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
        .into_iter()
        .try_for_each(|kind| table(kind, &pairs.iter().filter(|pair| pair.fs == kind).collect::<Vec<_>>()))
}

fn table(kind: &str, pairs: &[&Pair]) -> Result<()> {
    let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else { return Ok(()) };
    let mut headings = vec![kind.to_owned()];
    for pair in pairs {
        let kernel = &pair.kernel;
        headings.extend([format!("{kernel}: aged"), "unaged".to_owned(), "aged/unaged".to_owned()]);
    }
    headings.extend(["aged, last/first".to_owned(), "unaged, last/first".to_owned()]);
    let rows = shown(first).map(|measure| {
        let mut row = vec![label(measure, first)];
        for pair in pairs {
            let (aged, unaged) = (pair.aged.value(measure), pair.unaged.value(measure));
            row.extend([number(aged), number(unaged), number(ratio(aged, unaged))]);
        }
        row.push(number(ratio(last.aged.value(measure), first.aged.value(measure))));
        row.push(number(ratio(last.unaged.value(measure), first.unaged.value(measure))));
        row
    });
    output::table(&headings.iter().map(String::as_str).collect::<Vec<_>>(), rows)
}

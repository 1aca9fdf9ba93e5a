//! Tables of a comparison across kernels: one for each kind of file system, with columns for each kernel.

use super::{label, mean, shown, sides};
use crate::output::{self, number};
use anyhow::Result;
use run::Replicates;

/// Prints the tables. The conditions are grouped by kernel.
pub fn show(conditions: &[Replicates]) -> Result<()> {
    let mut kinds: Vec<&str> = conditions.iter().filter_map(kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.into_iter().try_for_each(|of| {
        table(of, &conditions.iter().filter(|condition| kind(condition) == Some(of)).collect::<Vec<_>>())
    })
}

fn kind(condition: &Replicates) -> Option<&str> {
    condition.pairs.first().map(|pair| pair.fs.as_str())
}

fn kernel(condition: &Replicates) -> &str {
    condition.pairs.first().map_or("", |pair| &pair.kernel)
}

fn table(kind: &str, conditions: &[&Replicates]) -> Result<()> {
    let (Some(first), Some(last)) = (conditions.first(), conditions.last()) else { return Ok(()) };
    let mut headings = vec![kind.to_owned()];
    for condition in conditions {
        headings.extend([
            format!("{}: aged", kernel(condition)),
            "unaged".to_owned(),
            "aged/unaged".to_owned(),
        ]);
    }
    headings.extend(["aged, last/first".to_owned(), "unaged, last/first".to_owned()]);
    let rows = shown(first).map(|measure| {
        let mut row = vec![label(measure, first)];
        for condition in conditions {
            let means = condition.means(measure);
            row.extend(sides(means).map(mean));
            row.push(mean(means.and_then(|means| means.ratio.as_ref())));
        }
        let [of, to] = [last, first].map(|condition| sides(condition.means(measure)));
        for (of, to) in of.into_iter().zip(to) {
            let means = of.zip(to).filter(|(_, to)| to.mean != 0.0);
            row.push(number(means.map(|(of, to)| of.mean / to.mean)));
        }
        row
    });
    output::table(&headings.iter().map(String::as_str).collect::<Vec<_>>(), rows)
}

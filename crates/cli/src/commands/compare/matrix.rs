//! The table of a matrix: how each condition compares with the first, and what each value does over all combinations.

use super::with_interval;
use crate::output;
use anyhow::Result;
use run::{Effect, Matrix, Shift};

pub fn show(matrix: &Matrix) -> Result<()> {
    let sides = |shifts: &Option<[Shift; 2]>| match shifts {
        Some(shifts) => shifts.each_ref().map(in_words),
        None => [(); 2].map(|()| "the first".to_owned()),
    };
    let facts = matrix.facts.iter().map(String::as_str);
    let headings: Vec<&str> = facts.chain(["aged/unaged", "aged", "unaged"]).collect();
    output::table(
        &headings,
        matrix.cells.iter().map(|cell| {
            let values = cell.values.iter().map(|value| or_default(value));
            values.chain([with_interval(cell.ratio.as_ref())]).chain(sides(&cell.against_first)).collect()
        }),
    )?;
    output::table(
        &["all else equal", "against", "aged", "slower in", "unaged", "slower in"],
        matrix.effects.iter().map(|effect| {
            let Effect { fact, value, against, combinations, slower_in, sides: [aged, unaged] } = effect;
            let slower = |side: usize| format!("{} of {combinations}", slower_in[side]);
            let what = format!("{fact} {}", or_default(value));
            vec![what, or_default(against), in_words(aged), slower(0), in_words(unaged), slower(1)]
        }),
    )?;
    output::line(&format!(
        "Scan costs {}. * significant: below 5 % for all ratios of a table together (Holm), and at least 2 %",
        matrix.how
    ))
}

fn in_words(shift: &Shift) -> String {
    format!("{}{}", shift.verdict.text, if shift.is_significant { " *" } else { "" })
}

fn or_default(value: &str) -> String {
    if value.is_empty() { "default".to_owned() } else { value.to_owned() }
}

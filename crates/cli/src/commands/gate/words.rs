//! What a gate found, in words.

use crate::output::number;
use results::{Scale, measures};
use run::gate::{Judgement, Moved, Movement};

pub const HEADINGS: [&str; 7] = ["", "side", "baseline", "now", "change", "by chance", ""];

/// The row of a measure under [`HEADINGS`].
pub fn row(moved: &Moved) -> Vec<String> {
    let movement = match moved.movement {
        Movement::Regressed => "regressed",
        Movement::Improved => "improved",
        Movement::Unchanged => "",
    };
    vec![
        measures::label(&moved.measure),
        moved.side.clone(),
        number(Some(moved.baseline)),
        number(Some(moved.now)),
        signed(moved.scale, moved.change),
        format!("≤ {}", unsigned(moved.scale, moved.bound)),
        movement.to_owned(),
    ]
}

/// A change with its sign: `+18 %`, or a difference of shares.
fn signed(scale: Scale, change: f64) -> String {
    let sign = if change < 0.0 { "−" } else { "+" };
    format!("{sign}{}", unsigned(scale, change.abs()))
}

/// The size of a change.
pub fn unsigned(scale: Scale, change: f64) -> String {
    match scale {
        Scale::Difference => format!("{change:.3}"),
        Scale::Ratio if change >= 0.0995 => format!("{:.0} %", 100.0 * change),
        Scale::Ratio => format!("{:.1} %", 100.0 * change),
    }
}

/// A measure that moved, in a sentence.
pub fn sentence(moved: &Moved) -> String {
    format!(
        "{}, {}: {} (was {}), {}; chance explains at most {}",
        measures::label(&moved.measure),
        moved.side,
        number(Some(moved.now)),
        number(Some(moved.baseline)),
        signed(moved.scale, moved.change),
        unsigned(moved.scale, moved.bound)
    )
}

/// The result in a sentence.
pub fn summary(judgement: &Judgement) -> String {
    let Judgement { seeds, baseline_pairs, measures, false_alarms, .. } = judgement;
    let count = measures.iter().filter(|of| of.movement == Movement::Regressed).count();
    let among = format!("{} of {} measures regressed{}", count, measures.len(), tested(judgement));
    let agings = if seeds.len() == 1 { "aging" } else { "agings" };
    let rate = 100.0 * false_alarms;
    format!(
        "{among}: {} {agings} against {baseline_pairs} pairs; false alarms in at most {rate} % of gates",
        seeds.len()
    )
}

/// What is tested, if it was named.
fn tested(judgement: &Judgement) -> String {
    if judgement.changed.is_empty() {
        return String::new();
    }
    let changed = judgement.changed.iter().map(run::Differing::in_words).collect::<Vec<_>>().join(", ");
    format!(" with {changed}")
}

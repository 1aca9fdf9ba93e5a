//! What a ratio tells, in the same words on terminals, on pages and in JSON.

use super::{Estimate, NEGLIGIBLE};
use serde::{Deserialize, Serialize};

/// An interval that ends within this of 1 shows that there is no difference worth mentioning.
const SMALL: f64 = 0.10;

/// From this ratio on, "2.0× slower" reads better than "slower by 100 %".
const TIMES: f64 = 2.0;

/// The words of a verdict.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// What a ratio above 1 is.
    pub more: &'static str,
    /// What a ratio below 1 is.
    pub less: &'static str,
    /// What there are several of.
    pub evidence: &'static str,
}

impl Words {
    /// For costs, over agings.
    pub const COST: Words = Words { more: "slower", less: "faster", evidence: "aging" };
}

/// What a ratio tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// The first is larger; of costs, slower.
    More,
    /// The first is smaller; of costs, faster.
    Less,
    /// There is no difference worth mentioning.
    NoDifference,
    /// The agings differ too much among each other, or there is only one.
    CannotBeTold,
}

/// A verdict on a ratio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What the ratio tells.
    pub told: Told,
    /// The same as the rest of a sentence: `slower by 18 % [11 – 25 %], 5 agings`.
    pub text: String,
}

impl Verdict {
    /// The verdict on a ratio: a difference is told if the interval excludes 1 and the ratio is at least 2 % away from it.
    pub fn on(ratio: &Estimate, words: Words) -> Verdict {
        let Words { more, less, evidence } = words;
        let n = format!("{} {evidence}s", ratio.n);
        let change =
            if ratio.mean >= 1.0 { change(ratio.mean, more) } else { change(1.0 / ratio.mean, less) };
        let Some((low, high)) = ratio.ends() else {
            let text = format!("{change} in one {evidence}, which cannot tell how much {evidence}s differ");
            return Verdict { told: Told::CannotBeTold, text };
        };
        let largest = (high - 1.0).max(1.0 / low - 1.0);
        let is_negligible = ratio.mean.max(1.0 / ratio.mean) - 1.0 < NEGLIGIBLE;
        let (told, text) = if low > 1.0 && !is_negligible {
            (Told::More, format!("{change} {}, {n}", ends(ratio.mean, low, high)))
        } else if high < 1.0 && !is_negligible {
            (Told::Less, format!("{change} {}, {n}", ends(1.0 / ratio.mean, 1.0 / high, 1.0 / low)))
        } else if largest <= SMALL {
            (Told::NoDifference, format!("no difference larger than {}, {n}", percent(largest)))
        } else {
            let width = (high / low).sqrt();
            let unseen = if width >= TIMES { times(width) } else { percent(width - 1.0) };
            (
                Told::CannotBeTold,
                format!("cannot be told: with {n} a difference under {unseen} could not be seen"),
            )
        };
        Verdict { told, text }
    }
}

/// A ratio of at least 1 in words.
fn change(by: f64, word: &str) -> String {
    if by >= TIMES { format!("{} {word}", times(by)) } else { format!("{word} by {}", percent(by - 1.0)) }
}

/// The ends of an interval in the unit of `mean`, all at least 1 or nearly so.
fn ends(mean: f64, low: f64, high: f64) -> String {
    if mean >= TIMES {
        return format!("[{} – {}]", times(low), times(high));
    }
    format!("[{} – {}]", percent(low - 1.0), percent(high - 1.0))
}

fn times(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1}×") } else { format!("{ratio:.0}×") }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(mean: f64, low: f64, high: f64) -> Verdict {
        Verdict::on(&Estimate { mean, low: Some(low), high: Some(high), n: 5 }, Words::COST)
    }

    #[test]
    fn verdicts_are_sentences() {
        for (ratio, told, text) in [
            ((1.18, 1.11, 1.25), Told::More, "slower by 18 % [11 % – 25 %], 5 agings"),
            ((2.9, 2.4, 3.4), Told::More, "2.9× slower [2.4× – 3.4×], 5 agings"),
            ((0.8, 0.75, 0.85), Told::Less, "faster by 25 % [18 % – 33 %], 5 agings"),
            ((1.01, 0.97, 1.05), Told::NoDifference, "no difference larger than 5.0 %, 5 agings"),
            // Significant, but too small to mention.
            ((1.01, 1.005, 1.015), Told::NoDifference, "no difference larger than 1.5 %, 5 agings"),
            (
                (1.3, 0.9, 1.9),
                Told::CannotBeTold,
                "cannot be told: with 5 agings a difference under 45 % could not be seen",
            ),
            (
                (1.1, 0.1, 10.0),
                Told::CannotBeTold,
                "cannot be told: with 5 agings a difference under 10× could not be seen",
            ),
        ] {
            let (mean, low, high) = ratio;
            assert_eq!(on(mean, low, high), Verdict { told, text: text.to_owned() });
        }
    }

    #[test]
    fn one_aging_tells_nothing() {
        let one = Verdict::on(&Estimate { mean: 3.5, low: None, high: None, n: 1 }, Words::COST);
        assert_eq!(one.told, Told::CannotBeTold);
        assert_eq!(one.text, "3.5× slower in one aging, which cannot tell how much agings differ");
    }

    #[test]
    fn exchanging_both_sides_exchanges_slower_and_faster() {
        let (one, other) = (on(1.3, 1.1, 1.5), on(1.0 / 1.3, 1.0 / 1.5, 1.0 / 1.1));
        assert_eq!(one.text.replace("slower", "faster"), other.text);
    }
}

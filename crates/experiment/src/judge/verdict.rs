//! Verdicts on claims and figures.

use crate::claim::Claim;
use results::Estimate;
use serde::{Deserialize, Serialize};

/// The verdict on a claim, in ascending order of what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It goes in another direction, or has another order.
    DoesNotHold,
    /// It was not measured, or the agings differ too much.
    CannotBeTold,
    /// It goes in the published direction, but the value is another.
    TrendOnly,
    /// It is as published.
    Holds,
}

/// The verdict on a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The claim.
    #[serde(flatten)]
    pub claim: Claim,
    /// The verdict: the worst of its lines, or the best if one is enough.
    pub verdict: Verdict,
    /// The verdicts on its lines.
    pub lines: Vec<LineVerdict>,
}

/// The verdict on a claim for a line of the figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineVerdict {
    /// The file system, setting and disk, as far as there are several.
    pub line: String,
    /// The value and its interval over the agings; empty if it could not be told.
    pub measured: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What decided, or why it could not be told.
    pub why: String,
}

/// The verdict on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureVerdict {
    /// Every claim holds, at least in its trend.
    Holds,
    /// More than half of the claims hold, at least in their trend.
    TrendOnly,
    /// More than half of the claims that can be told do not hold.
    DoesNotHold,
    /// Too few claims can be told.
    CannotBeTold,
}

impl Verdict {
    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::DoesNotHold => "does NOT hold",
            Verdict::CannotBeTold => "cannot be told",
            Verdict::TrendOnly => "trend only",
            Verdict::Holds => "holds",
        }
    }
}

impl Judged {
    pub(super) fn new(claim: &Claim, lines: Vec<LineVerdict>) -> Judged {
        let verdicts = lines.iter().map(|line| line.verdict);
        let verdict = if claim.any { verdicts.max() } else { verdicts.min() };
        Judged { claim: claim.clone(), verdict: verdict.unwrap_or(Verdict::CannotBeTold), lines }
    }

    /// A claim that nothing was measured for yet.
    pub(crate) fn unmeasured(claim: &Claim) -> Judged {
        Judged::new(claim, Vec::new())
    }

    /// What was published: its value or order; empty for a direction alone.
    pub fn published(&self) -> String {
        match (self.claim.published, self.claim.order.as_slice()) {
            (Some(published), _) => published.told(),
            (None, []) => String::new(),
            (None, order) => order.join(" > "),
        }
    }

    /// What was measured, line by line.
    pub fn measured(&self) -> String {
        let of = |line: &LineVerdict| {
            let told = if line.measured.is_empty() { &line.why } else { &line.measured };
            if line.line.is_empty() { told.clone() } else { format!("{}: {told}", line.line) }
        };
        self.lines.iter().map(of).collect::<Vec<_>>().join("; ")
    }
}

impl LineVerdict {
    pub(super) fn untold(line: String, why: String) -> LineVerdict {
        LineVerdict { line, measured: String::new(), verdict: Verdict::CannotBeTold, why }
    }
}

impl FigureVerdict {
    /// The verdict on a figure with these claims. A figure with series missing holds at most in its trend.
    pub(crate) fn of(claims: &[Judged], is_complete: bool) -> FigureVerdict {
        let count = |wanted: fn(Verdict) -> bool| claims.iter().filter(|claim| wanted(claim.verdict)).count();
        let (shown, failing) = (
            count(|verdict| verdict >= Verdict::TrendOnly),
            count(|verdict| verdict == Verdict::DoesNotHold),
        );
        match () {
            () if claims.is_empty() => FigureVerdict::CannotBeTold,
            () if shown == claims.len() && is_complete => FigureVerdict::Holds,
            () if 2 * shown > claims.len() => FigureVerdict::TrendOnly,
            () if failing > shown => FigureVerdict::DoesNotHold,
            () => FigureVerdict::CannotBeTold,
        }
    }

    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            FigureVerdict::Holds => Verdict::Holds.words(),
            FigureVerdict::TrendOnly => Verdict::TrendOnly.words(),
            FigureVerdict::DoesNotHold => Verdict::DoesNotHold.words(),
            FigureVerdict::CannotBeTold => Verdict::CannotBeTold.words(),
        }
    }
}

/// A mean with its interval and number of agings, if there are several.
pub(super) fn told(estimate: &Estimate) -> String {
    match estimate.ends() {
        Some((low, high)) => {
            format!("{} [{} – {}], {} agings", number(estimate.mean), number(low), number(high), estimate.n)
        }
        None => number(estimate.mean),
    }
}

fn number(value: f64) -> String {
    if value.abs() >= 1000.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

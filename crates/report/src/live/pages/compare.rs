//! Comparison of two runs.

use super::{Frame, PageError, open, state, title};
use crate::live::clock::number;
use crate::live::html::Html;
use crate::live::query::Query;
use crate::live::stores::{Opened, Place, RunAt};
use results::{Interval, Run};
use run::{Compared, RunComparison, compare_runs};

/// Maximum number of measures on a page; series of hundreds of checkpoints have more than a reader can use.
const MOST: usize = 1000;

/// The page that compares runs `a` and `b`.
pub fn compare(places: &[Place], a: RunAt, b: RunAt) -> Result<String, PageError> {
    let (first, second) = (open(places, a)?, open(places, b)?);
    let found = |opened: &Opened, at: RunAt| opened.run(at.run.0).expect("the run was found").clone();
    let runs = [found(&first, a), found(&second, b)];
    let comparison = compare_runs((&first.store, &runs[0]), (&second.store, &runs[1]))?;
    let heading = format!("Run {} compared with run {}", b.run.0, a.run.0);
    Ok(Frame::new(&heading).page(|html| {
        html.leaf("h1", &[], &heading);
        html.el("dl", &[], |html| {
            for (name, at, run, opened) in [("A", a, &runs[0], &first), ("B", b, &runs[1], &second)] {
                html.el("div", &[], |html| {
                    html.leaf("dt", &[], name);
                    html.el("dd", &[], |html| {
                        html.link(&at.address(), title(run));
                        html.text(", ");
                        state(html, opened.state(run));
                        html.text(format!(", started {}", crate::live::clock::time(&run.started)));
                    });
                });
            }
        });
        html.el("p", &[], |html| {
            let turned = Query::default().with("a", Some(&b.name())).with("b", Some(&a.name()));
            html.link(&turned.at("/compare"), "Swap A and B");
        });
        cautions(html, &runs, &comparison);
        measures(html, &comparison);
        conditions(html, &comparison);
    }))
}

/// Caveats about the comparison.
fn cautions(html: &mut Html, [a, b]: &[Run; 2], comparison: &RunComparison) {
    let mut said = Vec::new();
    if a.state != "done" || b.state != "done" {
        said.push("Not both runs are complete: the comparison uses the measurements so far.".to_owned());
    }
    if a.kind != b.kind {
        said.push(format!(
            "The runs are of different kinds, {} and {}: measures of the same name may not be comparable.",
            a.kind, b.kind
        ));
    }
    if a.machine != b.machine {
        said.push(
            "The runs are from different machines: measured times cannot be compared, modelled times \
             and layouts can."
                .to_owned(),
        );
    }
    if a.tool != b.tool {
        said.push(format!("The runs are from different versions, {} and {}.", a.tool, b.tool));
    }
    if !comparison.conditions.is_empty() {
        said.push(format!(
            "{} conditions differ, as listed below: any of them may cause a difference.",
            comparison.conditions.len()
        ));
    }
    let few = comparison.measures.iter().filter(|measure| !measure.difference.can_detect()).count();
    if few > 0 {
        said.push(format!(
            "Of {} measures, {few} have too few repetitions to detect a difference: the test needs 4 of \
             each, or 3 and 5. A median interval needs 6.",
            comparison.measures.len()
        ));
    }
    let tested = comparison.measures.len() - few;
    if tested > 0 {
        said.push(format!(
            "{tested} measures are tested at 5 % each: between equal runs, one test in twenty \
             shows a difference by chance."
        ));
    }
    html.el("section", &[("aria-labelledby", "cautions")], |html| {
        html.leaf("h2", &[("id", "cautions")], "Limits of this comparison");
        html.el("ul", &[], |html| said.iter().for_each(|one| html.leaf("li", &[], one)));
    });
}

fn measures(html: &mut Html, comparison: &RunComparison) {
    html.el("section", &[("aria-labelledby", "measures")], |html| {
        html.leaf("h2", &[("id", "measures")], "Measures of both runs");
        if comparison.measures.is_empty() {
            return html.leaf("p", &[("class", "missing")], "The runs have no measure in common.");
        }
        let columns = [
            ("Subject", ""),
            ("Measure", ""),
            ("Unit", ""),
            ("A", "number"),
            ("B", "number"),
            ("B/A", "number"),
            ("p", "number"),
            ("Verdict", ""),
        ];
        let caption = "Medians with 95 % intervals and the number of repetitions. B/A is the median of all \
                       ratios (Hodges and Lehmann) with its 95 % interval; p is that of the rank-sum test of \
                       Wilcoxon, Mann and Whitney, exact and two-sided.";
        html.table(caption, &columns, |html| {
            comparison.measures.iter().take(MOST).for_each(|measure| row(html, measure))
        });
        if comparison.measures.len() > MOST {
            html.leaf(
                "p",
                &[("class", "aside")],
                format!(
                    "{} more are not shown; compare checkpoints one by one.",
                    comparison.measures.len() - MOST
                ),
            );
        }
        let [a, b] = comparison.alone;
        if a + b > 0 {
            html.leaf("p", &[("class", "aside")], format!("{a} measures exist in A only, {b} in B only."));
        }
    });
}

fn row(html: &mut Html, measure: &Compared) {
    let difference = &measure.difference;
    html.el("tr", &[], |html| {
        html.leaf("td", &[], &measure.subject);
        html.leaf("th", &[("scope", "row")], &measure.measure);
        html.leaf("td", &[], &measure.unit);
        for median in &measure.medians {
            html.leaf("td", &[("class", "number")], with_interval(median));
        }
        let ends = difference.low.zip(difference.high);
        let ends =
            ends.map_or_else(String::new, |(low, high)| format!(" [{} – {}]", number(low), number(high)));
        html.leaf(
            "td",
            &[("class", "number")],
            difference.ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{}{ends}", number(ratio))),
        );
        html.leaf(
            "td",
            &[("class", "number")],
            if difference.can_detect() { number(difference.p) } else { "–".to_owned() },
        );
        let [a, b] = &measure.medians;
        html.leaf(
            "td",
            &[],
            match (difference.can_detect(), difference.is_significant()) {
                (false, _) if a.median == b.median => "equal, too few repetitions",
                (false, _) => "too few repetitions",
                (true, false) => "no detected difference",
                (true, true) if b.median > a.median => "B is larger",
                (true, true) if b.median < a.median => "B is smaller",
                (true, true) => "different",
            },
        );
    });
}

fn with_interval(interval: &Interval) -> String {
    let ends = interval.low.zip(interval.high);
    let ends = ends.map_or_else(String::new, |(low, high)| format!(" [{} – {}]", number(low), number(high)));
    format!("{}{ends} ({})", number(interval.median), interval.n)
}

fn conditions(html: &mut Html, comparison: &RunComparison) {
    html.el("section", &[("aria-labelledby", "conditions")], |html| {
        html.leaf("h2", &[("id", "conditions")], "Different conditions");
        if comparison.conditions.is_empty() {
            return html.leaf("p", &[], "None recorded: parameters, seed, machine and version are the same.");
        }
        html.table("Different conditions.", &[("Condition", ""), ("A", ""), ("B", "")], |html| {
            for (name, [a, b]) in comparison.conditions.iter().take(MOST) {
                html.el("tr", &[], |html| {
                    html.leaf("th", &[("scope", "row")], name);
                    html.leaf("td", &[], a);
                    html.leaf("td", &[], b);
                });
            }
        });
    });
}

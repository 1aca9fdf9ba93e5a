//! Comparison of two runs.

use super::{Frame, PageError, cards, open, state, title};
use crate::live::clock::{remaining_unit, value};
use crate::live::html::Html;
use crate::live::query::Query;
use crate::live::stores::{Opened, Place, RunAt};
use results::measures::{self, Topic};
use results::{Estimate, Run, Told};
use run::{Compared, RunComparison, compare_runs};

/// Maximum number of measures on a page; series of hundreds of checkpoints have more than a reader can use.
const MOST: usize = 1000;

/// Number of measures that are shown at once.
const FIRST: usize = 10;

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
        common_measures(html, &comparison);
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
        said.push(match comparison.conditions.len() {
            1 => "One condition differs, as listed below: it may cause a difference.".to_owned(),
            n => format!("{n} conditions differ, as listed below: any of them may cause a difference."),
        });
    }
    let told = |told: &[Told]| {
        let is = |measure: &&Compared| {
            measure.verdict.as_ref().is_some_and(|verdict| told.contains(&verdict.told))
        };
        comparison.measures.iter().filter(is).count()
    };
    let untold = told(&[Told::CannotBeTold]);
    if untold > 0 {
        let (all, evidence) = (comparison.measures.len(), comparison.evidence);
        said.push(format!(
            "Of {all} measures, {untold} cannot be told: more {evidence}s would narrow the intervals."
        ));
    }
    let tested = told(&[Told::More, Told::Less, Told::NoDifference]);
    if tested > 0 {
        said.push(format!(
            "{tested} measures are judged by 95 % intervals: between equal runs, one in twenty shows a difference \
             by chance."
        ));
    }
    html.el("section", &[("aria-labelledby", "cautions")], |html| {
        html.leaf("h2", &[("id", "cautions")], "Limits of this comparison");
        html.el("ul", &[], |html| said.iter().for_each(|one| html.leaf("li", &[], one)));
    });
}

fn common_measures(html: &mut Html, comparison: &RunComparison) {
    html.el("section", &[("aria-labelledby", "measures")], |html| {
        html.leaf("h2", &[("id", "measures")], "Measures of both runs");
        if comparison.measures.is_empty() {
            return html.leaf("p", &[("class", "missing")], "The runs have no measure in common.");
        }
        let shown = comparison.measures.len().min(MOST);
        let (first, rest) = comparison.measures[..shown].split_at(shown.min(FIRST));
        table(html, first, comparison.evidence);
        for (topic, group) in by_topic(rest) {
            html.el("details", &[], |html| {
                html.leaf("summary", &[], format!("{topic}: {} more, with smaller differences", group.len()));
                table(html, group, comparison.evidence);
            });
        }
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

/// The measures by topic, those of a topic in their order.
fn by_topic(measures: &[Compared]) -> Vec<(&'static str, Vec<&Compared>)> {
    let mut groups: Vec<(&'static str, Vec<&Compared>)> = Vec::new();
    for compared in measures {
        let name = match measures::find(&compared.measure).and_then(|known| known.topic) {
            Some(Topic::Cost) => "Cost of a scan",
            Some(Topic::Causes) => "Cost of a scan with one cause taken away",
            Some(Topic::Work) => "Work of a scan",
            Some(Topic::Layout) => "Layout",
            Some(Topic::FreeSpace | Topic::NewFile) => "Free space",
            Some(Topic::Tree) => "Tree",
            Some(Topic::Aging) => "Aging",
            None => "Other measures",
        };
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, group)) => group.push(compared),
            None => groups.push((name, vec![compared])),
        }
    }
    groups
}

fn table<'c>(html: &mut Html, measures: impl IntoIterator<Item = &'c Compared>, evidence: &str) {
    let columns = [
        ("B against A", ""),
        ("Measure", ""),
        ("Subject", ""),
        ("Unit", ""),
        ("A", "number"),
        ("B", "number"),
        ("B/A", "number"),
    ];
    let caption = format!(
        "Means over the {evidence}s with 95 % intervals of Student's t. B/A is the ratio of geometric means, paired by \
         seed if both have the same seeds."
    );
    cards(html, &caption, &columns, |html| measures.into_iter().for_each(|measure| row(html, measure)));
}

fn row(html: &mut Html, measure: &Compared) {
    let (verdict, [a, b]) = (&measure.verdict, &measure.means);
    let verdict = match verdict {
        Some(verdict) => verdict.text.as_str(),
        None if a == b => "equal",
        None => "–",
    };
    let label = measures::label(&measure.measure);
    html.el("tr", &[], |html| {
        html.leaf("td", &[], verdict);
        html.el("th", &[("scope", "row"), ("title", &measure.measure)], |html| html.text(&label));
        html.leaf("td", &[], &measure.subject);
        html.leaf("td", &[], remaining_unit(&measure.unit));
        for (label, mean) in [("A", Some(a)), ("B", Some(b)), ("B/A", measure.ratio.as_ref())] {
            // The ratio has no unit.
            let unit = if label == "B/A" { "" } else { &measure.unit };
            let told = mean.map_or_else(|| "–".to_owned(), |mean| with_interval(mean, unit));
            html.leaf("td", &[("class", "number"), ("data-label", label)], told);
        }
    });
}

/// A mean with its interval, in human units.
fn with_interval(estimate: &Estimate, unit: &str) -> String {
    let ends = estimate.ends().map(|(low, high)| format!(" [{} – {}]", value(low, unit), value(high, unit)));
    format!("{}{}", value(estimate.mean, unit), ends.unwrap_or_default())
}

fn conditions(html: &mut Html, comparison: &RunComparison) {
    html.el("section", &[("aria-labelledby", "conditions")], |html| {
        html.leaf("h2", &[("id", "conditions")], "Different conditions");
        if comparison.conditions.is_empty() {
            return html.leaf("p", &[], "None recorded: parameters, seed, machine and version are the same.");
        }
        let columns = [("Condition", ""), ("A", ""), ("B", "")];
        cards(html, "What differs, apart from the measures.", &columns, |html| {
            for (name, values) in comparison.conditions.iter().take(MOST) {
                html.el("tr", &[], |html| {
                    html.leaf("th", &[("scope", "row")], name);
                    for (label, value) in ["A", "B"].into_iter().zip(values) {
                        html.leaf("td", &[("data-label", label)], condition(name, value));
                    }
                });
            }
        });
    });
}

/// The value of a condition, in human units.
fn condition(name: &str, value: &str) -> String {
    let bytes = value.parse().ok().filter(|_| name.ends_with("_bytes"));
    bytes.map_or_else(|| value.to_owned(), input::bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::Measure;

    fn compared(measure: &Measure, subject: &str) -> Compared {
        let mean = Estimate { mean: 1.0, low: None, high: None, n: 1 };
        let (measure, unit) = (measure.name.to_owned(), measure.unit.to_owned());
        Compared { subject: subject.to_owned(), measure, unit, means: [mean; 2], ratio: None, verdict: None }
    }

    #[test]
    fn measures_are_grouped_by_topic_in_their_order() {
        let (free, new) = (measures::FREE_EXTENTS, measures::NEW_FILE_FRAGMENTS);
        let all = [(&free, "aged"), (&measures::TIME_S, "aged"), (&new, "aged"), (&free, "unaged")];
        let all = all.map(|(measure, subject)| compared(measure, subject));
        let groups: Vec<(&str, Vec<(&str, &str)>)> = by_topic(&all)
            .into_iter()
            .map(|(topic, group)| (topic, group.iter().map(|one| (&*one.measure, &*one.subject)).collect()))
            .collect();
        assert_eq!(
            groups,
            [
                ("Free space", vec![(free.name, "aged"), (new.name, "aged"), (free.name, "unaged")]),
                ("Other measures", vec![("time_s", "aged")])
            ]
        );
    }

    #[test]
    fn bytes_are_in_human_units() {
        let estimate = Estimate { mean: 1_048_576.0, low: Some(524_288.0), high: Some(2_097_152.0), n: 3 };
        assert_eq!(with_interval(&estimate, "B"), "1 MiB [512 KiB – 2 MiB]");
        assert_eq!(
            (condition("made.size_bytes", "1024"), condition("seed", "1024")),
            ("1 KiB".to_owned(), "1024".to_owned())
        );
    }
}

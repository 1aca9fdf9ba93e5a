//! One run: its progress, partial figures, measurements and conditions.

use super::{Frame, PageError, cards, meaning, open, state, time, title};
use crate::live::clock::{number, remaining_unit, stamp, stretch, value};
use crate::live::html::Html;
use crate::live::query::Query;
use crate::live::stores::{Opened, Place, RunAt};
use results::{Measurement, Progress, Run, measures, median_interval};
use std::collections::{BTreeMap, BTreeSet};

/// Refresh interval of an unfinished run in seconds.
const EVERY: u32 = 2;

/// The page of a run.
pub fn run(places: &[Place], at: RunAt) -> Result<String, PageError> {
    let opened = open(places, at)?;
    let run = opened.run(at.run.0).expect("the run was found");
    let (page, numbers) = crate::from_run(&opened.store, run)
        .and_then(|page| Ok((page, opened.store.measurements(run.id)?)))?;
    let (title, state) = (title(run), opened.state(run));
    let progress = opened.progress(run);
    let has_figures = !page.comparisons.is_empty() || !page.experiments.is_empty();
    let mut frame = Frame::new(&title).figures();
    if run.state == "running" {
        frame = frame.live(EVERY, announcement(run, state, progress.as_ref()));
    }
    Ok(frame.page(|html| {
        html.leaf("h1", &[], &title);
        html.el("section", &[("aria-labelledby", "how-far")], |html| {
            html.leaf("h2", &[("id", "how-far")], "Progress");
            html.el("div", &[("id", "status"), ("data-live", "-")], |html| {
                status(html, &opened, run, progress.as_ref())
            });
        });
        html.el("p", &[], |html| {
            html.link(
                &Query::default().with("with", Some(&at.name())).at("/"),
                "Compare this run with another",
            );
        });
        html.el("div", &[("id", "figures-so-far"), ("data-live", "-")], |html| {
            if !has_figures {
                html.leaf(
                    "p",
                    &[("class", "aside")],
                    "No figures for this run: there is no data yet, or its kind has none.",
                );
            }
        });
        html.el("noscript", &[], |html| {
            html.leaf(
                "p",
                &[("class", "note")],
                "Figures need JavaScript, which is turned off. The numbers below do not need it.",
            )
        });
        html.leaf("div", &[("id", "report"), ("data-part", "-")], "");
        html.data("data", &crate::embedded(&page));
        html.el("section", &[("aria-labelledby", "numbers")], |html| {
            html.leaf("h2", &[("id", "numbers")], "Numbers");
            html.el("div", &[("id", "numbers-so-far"), ("data-live", "-")], |html| {
                self::numbers(html, &numbers)
            });
        });
        conditions(html, run);
    }))
}

/// Announcements for assistive technology: few, and only important changes.
fn announcement(run: &Run, state: &str, progress: Option<&Progress>) -> String {
    let share = progress.and_then(|progress| match progress.steps {
        Some((done, of)) if of > 0 => Some(done as f64 / of as f64),
        _ => progress.share(),
    });
    let tenths =
        share.map_or_else(String::new, |share| format!(", {:.0} % done", (share * 10.0).floor() * 10.0));
    format!("Run {} is {state}{tenths}.", run.id.0)
}

fn status(html: &mut Html, opened: &Opened, run: &Run, progress: Option<&Progress>) {
    let shown = opened.state(run);
    html.el("dl", &[], |html| {
        let mut row = |name: &str, value: &dyn Fn(&mut Html)| {
            html.el("div", &[], |html| {
                html.leaf("dt", &[], name);
                html.el("dd", &[], value);
            });
        };
        row("State", &|html| {
            state(html, shown);
            if let Some(meaning) = meaning(shown) {
                html.text(format!(". {meaning}"));
            }
        });
        if let Some(error) = &run.error {
            row("Why", &|html| html.text(error));
        }
        row("Started", &|html| time(html, &run.started));
        if let Some(finished) = &run.finished {
            row("Ended", &|html| time(html, finished));
        }
        let Some(progress) = progress else { return };
        row("Last heartbeat", &|html| time(html, &stamp(progress.at_s)));
        if let Some((done, of)) = progress.steps {
            row("Steps", &|html| bar(html, "steps done", done, of));
        }
        if !progress.phase.is_empty() {
            row("Phase", &|html| html.text(&progress.phase));
        }
        if let Some(total) = progress.total {
            row("Phase progress", &|html| bar(html, "of the phase done", progress.done, total));
        } else if progress.done > 0 {
            row("Phase progress", &|html| html.text(format!("{} done", number(progress.done as f64))));
        }
        if let Some(rate) = progress.recent_per_s {
            row("Rate", &|html| html.text(format!("{}/s", number(rate))));
        }
        let running = shown == "running";
        if let Some(left) = progress.steady_left_s.filter(|_| running && progress.steps.is_some()) {
            row("Phase time left", &|html| {
                html.text(format!("about {}, at the current rate", stretch(left)))
            });
        }
        if let Some(left) = progress.left_s().filter(|_| running) {
            let supposed = match progress.steps {
                Some(_) => "if the remaining steps take as long as those done",
                None => "of this phase, at the current rate",
            };
            row("Left", &|html| html.text(format!("about {}, {supposed}", stretch(left))));
        }
    });
}

/// The progress as text and as a bar.
fn bar(html: &mut Html, label: &str, done: u64, of: u64) {
    let (max, value) = (of.max(1).to_string(), done.min(of).to_string());
    let share = 100.0 * done.min(of) as f64 / of.max(1) as f64;
    html.el("progress", &[("max", &max), ("value", &value), ("aria-label", label)], |_| {});
    html.text(format!(" {} of {} ({share:.0} %)", number(done as f64), number(of as f64)));
}

fn numbers(html: &mut Html, numbers: &[Measurement]) {
    // By measure, in the order of the table of measures: the values of each subject.
    let mut found: BTreeMap<(usize, &str, &str), BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for m in numbers {
        let known = measures::find(&m.measure);
        let place = measures::MEASURES.iter().position(|measure| Some(*measure) == known);
        let key = (place.unwrap_or(usize::MAX), &*m.measure, &*m.unit);
        found.entry(key).or_default().entry(&m.subject).or_default().push(m.value);
    }
    if found.is_empty() {
        let why = "This run has no numbers of its own yet. The numbers of an experiment or a series belong \
                   to its checkpoints, which are listed as runs.";
        return html.leaf("p", &[("class", "aside")], why);
    }
    let subjects: BTreeSet<&str> = found.values().flat_map(|of| of.keys().copied()).collect();
    let mut columns = vec![("Measure", "")];
    columns.extend(subjects.iter().map(|subject| (heading(subject, &subjects), "number")));
    columns.extend([("Unit", ""), ("Repetitions", "number")]);
    cards(html, "Medians of the repetitions.", &columns, |html| {
        for ((_, measure, unit), of) in &found {
            html.el("tr", &[], |html| {
                html.leaf("th", &[("scope", "row"), ("title", measure)], measures::label(measure));
                for subject in &subjects {
                    let median = of.get(subject).and_then(|values| median_interval(values));
                    let median = median.map_or_else(String::new, |median| value(median.median, unit));
                    html.leaf(
                        "td",
                        &[("class", "number"), ("data-label", heading(subject, &subjects))],
                        median,
                    );
                }
                html.leaf("td", &[], remaining_unit(unit));
                let repetitions = of.values().map(Vec::len).max().unwrap_or_default();
                html.leaf("td", &[("class", "number"), ("data-label", "Repetitions")], repetitions);
            });
        }
    });
}

/// The heading of the numbers of a subject among all subjects of a run.
fn heading<'s>(subject: &'s str, all: &BTreeSet<&str>) -> &'s str {
    match subject {
        "" if all.len() == 1 => "Median",
        "" => "no side",
        side => side,
    }
}

fn conditions(html: &mut Html, run: &Run) {
    html.el("section", &[("aria-labelledby", "conditions")], |html| {
        html.leaf("h2", &[("id", "conditions")], "Conditions");
        html.leaf("p", &[], "Command:");
        html.el("pre", &[], |html| html.leaf("code", &[], &run.command));
        let m = &run.machine;
        let memory = input::bytes(m.memory_bytes);
        let processors = if m.cpus == 1 { "processor" } else { "processors" };
        let machine =
            format!("{}; {} {processors}, {}, {memory}; {}, {}", run.tool, m.cpus, m.cpu, m.system, m.kernel);
        html.leaf("p", &[], machine);
        html.el("details", &[], |html| {
            html.leaf("summary", &[], "All parameters");
            let text = serde_json::to_string_pretty(&run.parameters).unwrap_or_default();
            html.el("pre", &[], |html| html.leaf("code", &[], text));
        });
    });
}

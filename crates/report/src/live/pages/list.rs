//! The list of all runs.

use super::{Frame, PageError, state, time};
use crate::live::clock::{number, stamp, stretch};
use crate::live::html::Html;
use crate::live::list::{ORDERS, PAGE, Row, Selection, rows};
use crate::live::query::Query;
use crate::live::stores::{Place, RunAt};
use results::Progress;
use std::collections::{BTreeMap, BTreeSet};

/// Refresh interval of the list in seconds.
const EVERY: u32 = 3;

/// The list, or the requested part of it.
pub fn list(places: &[Place], query: &Query) -> Result<String, PageError> {
    let (mut all, mut broken) = (Vec::new(), Vec::new());
    for (at, place) in places.iter().enumerate() {
        match place.open().and_then(|opened| rows(at, &opened)) {
            Ok(rows) => all.extend(rows),
            Err(error) => broken.push(error),
        }
    }
    if broken.len() == places.len() {
        return Err(broken.swap_remove(0).into());
    }
    let list = List { places, query, all: &all, selection: Selection::of(query) };
    let title = if query.get("with").is_some() { "Compare with" } else { "Runs" };
    let frame = Frame::new(title).live(EVERY, list.announcement());
    Ok(frame.page(|html| {
        html.leaf("h1", &[], title);
        for error in broken {
            html.leaf("p", &[("role", "alert"), ("class", "note")], format!("Not shown: {error}."));
        }
        list.show(html);
    }))
}

struct List<'a> {
    places: &'a [Place],
    query: &'a Query,
    all: &'a [Row],
    selection: Selection<'a>,
}

impl List<'_> {
    /// The run to compare with, if the list serves to select the second run of a comparison.
    fn with(&self) -> Option<RunAt> {
        self.query.get("with").and_then(RunAt::parse)
    }

    fn states(&self) -> BTreeMap<&str, usize> {
        let mut states = BTreeMap::new();
        for row in self.all.iter().filter(|row| row.kind != "checkpoint") {
            *states.entry(row.state.as_str()).or_default() += 1;
        }
        states
    }

    /// The number of runs in each state, announced when it changes.
    fn announcement(&self) -> String {
        let states = self.states().into_iter().map(|(state, n)| format!("{n} {state}"));
        states.collect::<Vec<_>>().join(", ")
    }

    fn show(&self, html: &mut Html) {
        let live = |id| [("id", id), ("data-live", "-")];
        html.el("p", &live("states"), |html| {
            let said = self.announcement();
            html.text(if said.is_empty() { "No runs yet.".to_owned() } else { format!("{said}.") });
        });
        if let Some(with) = self.with() {
            html.el("p", &[("class", "note")], |html| {
                html.text("Choose the run to compare with ");
                html.link(&with.address(), format!("run {}", with.run.0));
                html.text(". ");
                html.link(&self.query.with("with", None).at("/"), "Cancel");
            });
        }
        self.filter(html);
        let (rows, page, pages, found) = self.selection.page(self.all);
        html.el("div", &live("runs"), |html| {
            let first = (page - 1) * PAGE + usize::from(found > 0);
            let last = (page - 1) * PAGE + rows.len();
            html.leaf(
                "p",
                &[("class", "aside")],
                format!("Shown: {first} to {last} of {found}, page {page} of {pages}."),
            );
            self.table(html, &rows);
            self.pages(html, page, pages);
        });
    }

    /// The filter form, which works without scripts.
    fn filter(&self, html: &mut Html) {
        let attributes = [("class", "filter"), ("role", "search"), ("action", "/"), ("aria-label", "Runs")];
        html.el("form", &attributes, |html| {
            for kept in ["sort", "with"] {
                if let Some(value) = self.query.get(kept) {
                    html.open("input", &[("type", "hidden"), ("name", kept), ("value", value)]);
                }
            }
            html.el("label", &[], |html| {
                html.text("Name, kind or file system ");
                html.open(
                    "input",
                    &[("type", "search"), ("name", "q"), ("value", self.query.get("q").unwrap_or_default())],
                );
            });
            let states: BTreeSet<&str> = self.all.iter().map(|row| row.state.as_str()).collect();
            let states: Vec<(&str, &str)> = states.into_iter().map(|state| (state, state)).collect();
            self.choice(html, "State ", "state", &[&[("", "any")][..], &states].concat());
            let kinds: BTreeSet<&str> = self.all.iter().map(|row| row.kind.as_str()).collect();
            let kinds: Vec<(&str, &str)> = kinds.into_iter().map(|kind| (kind, kind)).collect();
            self.choice(
                html,
                "Kind ",
                "kind",
                &[&[("", "all but checkpoints"), ("all", "any")][..], &kinds].concat(),
            );
            html.leaf("button", &[("type", "submit")], "Show");
        });
    }

    fn choice(&self, html: &mut Html, label: &str, name: &str, values: &[(&str, &str)]) {
        let chosen = self.query.get(name).unwrap_or_default();
        html.el("label", &[], |html| {
            html.text(label);
            html.el("select", &[("name", name)], |html| {
                for (value, shown) in values {
                    let selected = [("value", *value), ("selected", "-")];
                    html.leaf("option", if *value == chosen { &selected[..] } else { &selected[..1] }, shown);
                }
            });
        });
    }

    fn table(&self, html: &mut Html, rows: &[Row]) {
        let scroll = [
            ("class", "scroll cards"),
            ("tabindex", "0"),
            ("role", "region"),
            ("aria-label", "Table of runs"),
        ];
        html.el("div", &scroll, |html| {
            html.el("table", &[("class", "runs"), ("aria-label", "Runs")], |html| {
                html.el("thead", &[], |html| html.el("tr", &[], |html| self.headings(html)));
                html.el("tbody", &[], |html| rows.iter().for_each(|row| self.row(html, row)));
            });
        });
    }

    fn headings(&self, html: &mut Html) {
        for (order, label) in ORDERS {
            let here = self.selection.order == order;
            let (sorted, mark) = match (here, self.selection.falling) {
                (false, _) => ("none", ""),
                (true, false) => ("ascending", " ▲"),
                (true, true) => ("descending", " ▼"),
            };
            // A second click reverses the order.
            let next = if here && !self.selection.falling { format!("-{order}") } else { order.to_owned() };
            let to = self.query.with("sort", Some(&next)).with("page", None).at("/");
            let class = if order == "numbers" { "number" } else { "text" };
            html.el("th", &[("scope", "col"), ("aria-sort", sorted), ("class", class)], |html| {
                html.el("a", &[("href", &to)], |html| {
                    html.text(label);
                    html.leaf("span", &[("aria-hidden", "true")], mark);
                });
            });
        }
        for label in ["Progress", "Last heartbeat", "Compare"] {
            html.leaf("th", &[("scope", "col")], label);
        }
    }

    fn row(&self, html: &mut Html, row: &Row) {
        let name = match self.places.len() {
            1 => row.at.run.0.to_string(),
            _ => format!("{} in {}", row.at.run.0, self.places[row.at.place].shown()),
        };
        html.el("tr", &[], |html| {
            html.el("td", &[], |html| html.link(&row.at.address(), name));
            html.el("td", &[], |html| state(html, &row.state));
            html.leaf("td", &[], &row.kind);
            html.leaf("th", &[("scope", "row"), ("class", "name")], &row.name);
            html.leaf("td", &[], &row.fs);
            html.leaf("td", &[("class", "number"), ("data-label", "Numbers")], number(row.numbers as f64));
            html.el("td", &[("data-label", "Started")], |html| time(html, &row.started));
            html.el("td", &[("data-label", "Progress")], |html| {
                row.progress.iter().for_each(|progress| short(html, progress, &row.state))
            });
            html.el("td", &[("data-label", "Last heartbeat")], |html| {
                let heard = row.progress.as_ref().map(|progress| stamp(progress.at_s));
                heard.or_else(|| row.finished.clone()).iter().for_each(|at| time(html, at));
            });
            html.el("td", &[], |html| self.compare(html, row));
        });
    }

    fn compare(&self, html: &mut Html, row: &Row) {
        let id = row.at.run.0;
        let to = match self.with() {
            Some(with) if with == row.at => return html.text("this run"),
            Some(with) => {
                Query::default().with("a", Some(&with.name())).with("b", Some(&row.at.name())).at("/compare")
            }
            None => self.query.with("with", Some(&row.at.name())).with("page", None).at("/"),
        };
        let text = if self.with().is_some() { "compare with it" } else { "compare" };
        html.leaf("a", &[("href", &to), ("aria-label", &format!("{text}: run {id}"))], text);
    }

    fn pages(&self, html: &mut Html, page: usize, pages: usize) {
        if pages == 1 {
            return;
        }
        html.el("nav", &[("aria-label", "Pages"), ("class", "pages")], |html| {
            for n in 1..=pages {
                let to = self.query.with("page", Some(&n.to_string())).at("/");
                let label = format!("page {n}");
                let here = [("href", to.as_str()), ("aria-label", label.as_str()), ("aria-current", "page")];
                html.leaf("a", if n == page { &here[..] } else { &here[..2] }, n);
            }
        });
    }
}

/// The progress of a run in one line.
fn short(html: &mut Html, progress: &Progress, state: &str) {
    let steps = progress.steps.map(|(done, of)| format!("step {} of {of}", (done + 1).min(of)));
    let share = progress.share().map(|share| format!("{:.0} %", 100.0 * share));
    let left =
        progress.left_s().filter(|_| state == "running").map(|left| format!("about {} left", stretch(left)));
    let phase = Some(progress.phase.clone()).filter(|phase| !phase.is_empty());
    let parts: Vec<String> = [steps, phase, share, left].into_iter().flatten().collect();
    html.text(parts.join(", "));
}

//! The pages, drawn from the current contents of the stores.

mod compare;
mod frame;
mod list;
mod run;

pub use compare::compare;
pub use list::list;
pub use run::run;

use crate::html::Html;
use crate::http::Response;
use crate::stores::{Opened, Place, RunAt};
use frame::Frame;
use results::Run;

/// An error page.
pub fn error(status: u16, why: &str) -> Response {
    Response::page(
        status,
        Frame::new("Not shown").page(|html| {
            html.leaf("h1", &[], "Not shown");
            html.leaf("p", &[("role", "alert")], why);
            html.el("p", &[], |html| html.link("/", "All runs"));
        }),
    )
}

/// Opens the store of a run, or returns an error page.
fn open(places: &[Place], at: RunAt) -> Result<Opened, Response> {
    let place = places.get(at.place).ok_or_else(|| error(404, "No such store."))?;
    let opened = place.open().map_err(failed)?;
    match opened.run(at.run.0) {
        Some(_) => Ok(opened),
        None => Err(error(404, &format!("No run {} in {}.", at.run.0, place.shown()))),
    }
}

/// An error page for a store that cannot be read now.
fn failed(error: ::run::Error) -> Response {
    self::error(503, &format!("The results cannot be read: {error}. Reload the page to try again."))
}

/// A short title of a run.
fn title(run: &Run) -> String {
    format!("Run {}: {} {}", run.id.0, run.kind, run.name)
}

/// A state, with a symbol that does not depend on colour.
fn state(html: &mut Html, state: &str) {
    let mark = match state {
        "running" => "▶",
        "done" => "✓",
        "silent" => "…",
        "failed" | "killed" => "✗",
        _ => "–",
    };
    html.el("span", &[("class", &format!("state {state}"))], |html| {
        html.leaf("span", &[("aria-hidden", "true")], mark);
        html.text(format!(" {state}"));
    });
}

/// An explanation of a state, unless it is obvious.
fn meaning(state: &str) -> Option<&'static str> {
    match state {
        "killed" => Some(
            "The run has not ended, but its heartbeat has stopped: its process was killed, or its machine \
             crashed. Measurements so far are kept.",
        ),
        "silent" => Some(
            "Its heartbeat has stopped, but a process still holds its work directory: it may be suspended.",
        ),
        "replaced" => Some("A later run replaced its measurements."),
        _ => None,
    }
}

/// A time, for people and for programs.
fn time(html: &mut Html, stamp: &str) {
    html.leaf("time", &[("datetime", stamp)], crate::clock::time(stamp));
}

//! The pages, drawn from the current contents of the stores.

mod compare;
mod frame;
mod list;
mod run;

pub use compare::compare;
pub use list::list;
pub use run::run;

use super::html::Html;
use super::stores::{Opened, Place, RunAt};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use frame::Frame;
use results::Run;

/// The reason why a page cannot be shown, which is shown instead.
pub struct PageError {
    status: StatusCode,
    why: String,
}

impl PageError {
    pub fn new(status: StatusCode, why: impl Into<String>) -> PageError {
        PageError { status, why: why.into() }
    }

    /// The page does not exist.
    pub fn not_found(why: impl Into<String>) -> PageError {
        PageError::new(StatusCode::NOT_FOUND, why)
    }
}

/// A store cannot be read now.
impl From<::run::Error> for PageError {
    fn from(error: ::run::Error) -> PageError {
        let why = format!("The results cannot be read: {error}. Reload the page to try again.");
        PageError::new(StatusCode::SERVICE_UNAVAILABLE, why)
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let page = Frame::new("Not shown").page(|html| {
            html.leaf("h1", &[], "Not shown");
            html.leaf("p", &[("role", "alert")], &self.why);
            html.el("p", &[], |html| html.link("/", "All runs"));
        });
        (self.status, axum::response::Html(page)).into_response()
    }
}

/// Opens the store of a run.
fn open(places: &[Place], at: RunAt) -> Result<Opened, PageError> {
    let place = places.get(at.place).ok_or_else(|| PageError::not_found("No such store."))?;
    let opened = place.open()?;
    match opened.run(at.run.0) {
        Some(_) => Ok(opened),
        None => Err(PageError::not_found(format!("No run {} in {}.", at.run.0, place.shown()))),
    }
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

/// A table whose rows are cards on a phone.
fn cards(html: &mut Html, caption: &str, columns: &[(&str, &str)], rows: impl FnOnce(&mut Html)) {
    html.el("div", &[("class", "cards")], |html| html.table(caption, columns, rows));
}

/// A time, for people and for programs.
fn time(html: &mut Html, stamp: &str) {
    html.leaf("time", &[("datetime", stamp)], super::clock::time(stamp));
}

//! The report: one self-contained HTML page, drawn in the browser from numbers embedded in it; and the [`live`]
//! page, which draws running and finished runs with the same parts.
//!
//! [`data`] is the interface between results and the page; [`render`] combines the numbers, the style and the
//! script (`web/`, bundled into `web/dist/page.js`) in one file that needs no network.

mod answer;
pub mod data;
mod from_experiment;
mod from_metadata;
mod from_run;
mod from_series;
mod from_store;
mod from_tree;
mod from_verify;
pub mod live;
mod method_rows;
mod page;

pub use data::Page;
pub use from_run::from_run;
pub use from_store::from_store;
pub use page::{SCRIPT, STYLE, embedded, render};

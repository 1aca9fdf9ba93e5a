//! Integration tests of the page: its HTML, its appearance in a browser, and its bundled script.

mod browser;
mod bundle;
#[path = "../chromium/mod.rs"]
mod chromium;
mod content;
mod example;
mod experiments;
mod matrix;
mod measures;
mod trees;

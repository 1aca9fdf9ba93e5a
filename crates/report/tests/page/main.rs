//! The page: what it holds, what a browser makes of it, and that its script is what its source gives.

mod browser;
mod bundle;
#[path = "../chromium/mod.rs"]
mod chromium;
mod content;
mod example;
mod experiments;
mod trees;

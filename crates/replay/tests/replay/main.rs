//! The results of replays on file systems, with real and with generated traces.

mod clones;
mod common;
mod contents;
mod descriptors;
mod full;
mod layout;
mod tree;

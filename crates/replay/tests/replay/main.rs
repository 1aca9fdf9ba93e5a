//! What a replay leaves on file systems, of real traces and of made-up ones.

mod common;
mod contents;
mod descriptors;
mod full;
mod git;
mod layout;
mod tree;

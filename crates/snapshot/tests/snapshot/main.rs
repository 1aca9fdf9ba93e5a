//! Snapshots, from outside.

mod damage;
mod file;
mod import;
mod pair;
mod support;

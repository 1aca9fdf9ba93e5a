//! Integration tests of snapshots.

mod damage;
mod file;
mod import;
mod pair;
mod support;

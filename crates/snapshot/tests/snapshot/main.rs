//! Snapshots, from outside.

mod damage;
mod file;
mod support;

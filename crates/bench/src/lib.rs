//! Benchmarks that run on a file system, fresh or aged, or on whatever else keeps objects.

pub mod memory;
pub mod metadata;
pub mod personality;

//! Benchmarks of file systems, fresh or aged, and of other object storage.

pub mod memory;
pub mod metadata;
pub mod personality;

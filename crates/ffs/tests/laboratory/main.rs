//! Tests of the public interface of the allocator laboratory.

mod common;
mod extents;
mod fast;
mod invariants;
mod layouts;
mod own_policy;
mod trends;

//! Tests of the allocator laboratory as its users see it.

mod common;
mod extents;
mod fast;
mod invariants;
mod layouts;
mod own_policy;
mod trends;

//! Each interface with a real server on loopback, which the test starts and stops.

mod cluster;
mod mongodb;
mod object_store;
mod postgres;
mod scenario;
#[allow(dead_code, reason = "tests of other crates need more of it")]
mod server;

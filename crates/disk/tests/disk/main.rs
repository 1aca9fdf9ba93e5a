//! Tests of the crate, in one binary.

mod common;
mod log;
mod modelled_disk;
mod modelled_faults;
mod modelled_flash;
mod modelled_kill;
mod modelled_memory;
mod modelled_store;
mod models;
mod teardown;

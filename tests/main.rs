//! Tests of the whole program in one binary, which is linked once and runs short tests next to long ones.

#[path = "../crates/report/tests/chromium/mod.rs"]
mod chromium;
#[macro_use]
mod common;

mod activity;
mod age;
mod bench;
mod betreefs;
mod betreefs_pictures;
mod betreefs_probes;
mod compare;
mod compare_layout;
mod crash;
mod disk;
mod experiments;
mod extract;
mod ffs;
mod files;
mod from_snapshots;
mod gate;
mod hostile;
mod images;
mod imports;
mod isolation;
mod json;
mod latencies;
mod machines;
mod mail;
mod measures;
mod modelled;
mod mpi;
mod notebooks;
mod personalities;
mod probes;
mod profiles;
mod refusals;
mod reproduction;
mod serve;
mod snapshots;
mod stores;
mod strange_images;
mod terminal;
mod verify;
mod virtual_time;
mod workloads;
mod zfs;

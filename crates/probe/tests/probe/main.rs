//! Measures of real file systems and disks, against values worked out by hand and those of other programs.

mod blocktrace;
mod bulk;
mod common;
mod layout;
mod on_disk;
mod snapshot;

//! Measurements of real file systems and disks, compared with values calculated by hand and with other programs.

mod blocktrace;
mod bulk;
mod common;
mod layout;
mod on_disk;
mod snapshot;

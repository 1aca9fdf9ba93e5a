//! File systems: create, mount, drop caches, check, list free extents, get versions; and walk and copy the trees on them.
//!
//! To add a file system, add a file below `kind/` that submits a [`Kind`], and its `mod` line.

mod address_map;
mod bulk;
mod config;
mod copy;
mod detect;
mod dir;
mod error;
mod ioctl;
mod kind;
mod mounted;
mod snapshot;
mod target;
mod volume;
mod walk;

pub use address_map::AddressMap;
pub use betreefs::{LevelStat, TreeStat};
pub use bulk::{BulkReader, InodeVisitor, bulk_reader};
pub use config::{Location, READ_AHEAD_KB, VolumeConfig};
pub use copy::{CopyTotals, copy_tree};
pub use detect::{detect, detect_modelled};
pub use dir::DirTarget;
pub use error::Error;
pub use kind::{
    FileSystem, INODES_PER_GROUP, Kind, can_mount, find, kinds, memory_limit_note, modules, ready,
    require_tools,
};
pub use snapshot::{delete_snapshot, take_snapshot};
pub use target::{CheckReport, Target, can_make, check, make, open};
pub use walk::walk;

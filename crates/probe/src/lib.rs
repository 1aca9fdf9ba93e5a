//! Measurements of a file system, one file each (DESIGN §2 and §3): the cost of reading it, the on-disk layout of its files and
//! free space, and the requests that a workload causes.

pub mod activity;
mod block_picture;
pub mod blocktrace;
mod causes;
mod census;
mod dynamic_layout;
mod error;
mod free_space;
mod hot_files;
mod incompressible;
mod mapped;
mod new_file;
mod pieces;
mod sample;
mod scan;
mod sequential;
mod snapshot;
mod static_layout;
mod transfer;
mod transfer_size;
mod write_amplification;

pub use self::snapshot::{snapshot, snapshot_by_syscalls};
pub use block_picture::{FileBlocks, block_picture};
pub use blocktrace::RequestRecorder;
pub use causes::{Cause, Causes, FilePlaces, ScannedDisk, Without, causes};
pub use census::{Census, census};
pub use dynamic_layout::{DynamicLayout, dynamic_layout};
pub use error::Error;
pub use fiemap::{ExtentFlags, FileExtent, file_extents};
pub use free_space::{ExtentBin, FreeSpace, free_space};
pub use hot_files::{FileTime, HotCriterion, HotFiles, HotLayout};
pub use new_file::{NewFile, new_file, new_file_bytes};
pub use sample::FileMap;
pub use scan::{Reader, Scan, scan, scan_limited};
pub use sequential::{FileSet, SequentialPlan};
pub use static_layout::{SizeClass, StaticLayout, static_layout};
pub use transfer::Transfer;
pub use transfer_size::{
    Clock, TransferPlan, TransferPoint, TransferSize, transfer_size, transfer_size_of_modelled,
};
pub use write_amplification::{WriteAmplification, command_write_amplification, write_amplification};

/// The result of every probe.
pub type Result<T> = std::result::Result<T, Error>;

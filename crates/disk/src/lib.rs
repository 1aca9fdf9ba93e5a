//! Images, loop devices, named block devices and modelled disks below a file system, and the logs of their requests.
//!
//! Loop devices, mounts, control groups and temporary files outlive the process that creates them. Each is recorded in a [`Session`] before
//! it is created and removed on drop; [`cleanup`] removes it if the process was killed before that.

mod block_device;
mod cache;
mod cache_dir;
mod cgroup;
mod checksum;
mod child;
mod counters;
mod dirty_limit;
mod error;
mod extent;
mod file_lock;
mod image;
mod interrupt;
mod isolate;
mod lock;
pub mod log;
mod loop_device;
pub mod model;
pub mod modelled;
mod mount;
mod mount_table;
mod observe;
mod read_ahead;
mod registry;
mod request;
mod restore;
mod restore_note;
mod rotation;
mod scratch;
mod served_mount;
mod setting;
mod tool;
mod uuid;
mod zeros;

pub use block_device::{BCACHEFS_MAGIC, BETREE_MAGIC, BlockDevice};
pub use cache::{CacheResidency, drop_device_cache, drop_file_cache, drop_inode_cache, drop_pages};
pub use cache_dir::cache_dir;
pub use cgroup::MemoryLimit;
pub use checksum::checksum;
pub use child::wait_timeout;
pub use counters::DeviceCounters;
pub use digest::Digest;
pub use dirty_limit::DirtyLimit;
pub use error::{Error, IoContext};
pub use extent::Extent;
pub use file_lock::FileLock;
pub use image::{CopyMethod, Image, copy_image, free_bytes, is_on_tmpfs};
pub use interrupt::{catch_interrupts, interrupted};
pub use isolate::{current_exe, isolate};
pub use lock::WorkLock;
pub use loop_device::LoopDevice;
pub use model::{Model, ModelClock};
pub use mount::Mount;
pub use mount_table::{MountPoint, mount_holding, mount_points};
pub use observe::{observe_commands, observed};
pub use read_ahead::ReadAhead;
pub use registry::{CleanupReport, Entry, EntryGuard, POOL_PREFIX, Session, cleanup, cleanup_in, run_dir};
pub use request::{Request, RequestKind, SECTOR_BYTES};
pub use restore::{restore_all, restore_ranges, save_image, written_ranges};
pub use restore_note::{RestoreMethod, RestoreNote, needs_restore, restore_from_note};
pub use scratch::Scratch;
pub use served_mount::{FuseServerSpec, ServedMount, report_error, report_ready};
pub use tool::{command, find_tool, require_tool, run_to_success, run_tool};
pub use uuid::{is_our_uuid, new_uuid};

/// Label of the file systems that this program creates.
pub const LABEL: &str = "senesce";

/// Name of the file that marks a directory as owned by this program. Only directories with this file are ever aged or have their contents
/// deleted.
pub const MARKER: &str = ".senesce";

//! The modelled disk (DESIGN §5): a file served by a separate process and turned into a disk by a loop device. It logs every request, takes
//! instant snapshots, and injects faults.
//!
//! Path of a write: file system → loop device → FUSE → `server` → `store`. This module is the client side: it mounts, starts the server and
//! sends it requests.

mod attach;
mod chunks;
mod control;
mod flash;
mod harden;
mod in_use;
mod log;
mod map;
mod queue;
mod serve;
mod served;
mod server;
mod settings;
mod snapshots;
mod store;
mod write_cache;

pub use attach::ModelledDisk;
pub use control::{ControlRequest, Fault, Status, call, take_log};
pub use flash::saved_flash;
pub use harden::Hardening;
pub use serve::serve;
pub use settings::{Clock, DiskSettings, is_store};
pub use snapshots::{Snapshot, list_snapshots};
pub use store::{CHUNK_BYTES, Store, model_of};
pub use write_cache::LostWrites;

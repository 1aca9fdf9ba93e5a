//! The modelled disk (DESIGN §5): one file, served by a process of its own, that a loop device makes a disk of. It
//! knows every request, takes snapshots in no time, and fails when told to.
//!
//! The road of a write: file system → loop device → FUSE → `server` → `store`. This module is the near end of it,
//! which mounts, starts the server and asks things of it.

mod attach;
mod chunks;
mod control;
mod harden;
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
pub use control::{Ask, Fault, Status, call, take_log};
pub use harden::Hardening;
pub use serve::serve;
pub use settings::{Clock, DiskSettings, is_store};
pub use snapshots::{Snapshot, list};
pub use store::{CHUNK_BYTES, Store, model_of};
pub use write_cache::Loss;

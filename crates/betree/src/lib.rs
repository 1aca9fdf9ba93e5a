//! A key-value store that does not age: a Bε-tree in one image or device.
//!
//! Writes are messages. They go to a log and to memory, from there in batches into the buffers of a tree of large nodes, and from buffer to
//! buffer down to the leaves. A random write thus costs a small fraction of a large sequential one, and adjacent keys are adjacent on disk, in
//! pieces of megabytes, whatever the history. Reads merge the buffers on the path to the leaf.
//!
//! ```
//! use std::sync::Arc;
//! use senesce_betree::{MemoryStorage, Options, Params, Store};
//!
//! let disk = Arc::new(MemoryStorage::new(64 << 20));
//! Store::create(&*disk, Params::for_image(64 << 20))?;
//! let store = Store::open(disk.clone(), Options::default())?;
//! store.insert(b"key", b"value")?;
//! store.patch(b"key", 5, b"!")?;
//! store.sync()?;
//! assert_eq!(store.get(b"key")?.as_deref(), Some(&b"value!"[..]));
//! for entry in store.scan(b"a", Some(b"z")) {
//!     let (key, value) = entry?;
//!     assert_eq!((&key[..], &value[..]), (&b"key"[..], &b"value!"[..]));
//! }
//! store.close()?;
//! # Ok::<(), senesce_betree::Error>(())
//! ```
//!
//! One process has a store open; its threads share a [`Store`] by reference. Writers take turns in memory; readers never wait for
//! the disk on behalf of a writer. `FORMAT.md` describes the format.

mod aligned;
mod arena;
mod batch;
mod cache;
mod check;
mod codec;
mod error;
mod flusher;
mod get;
mod log;
mod memory;
mod memtable;
mod node;
mod node_format;
mod open;
mod pager;
mod params;
mod payload;
mod pointer;
mod prefetch;
mod run;
mod scan;
mod space;
mod stat;
mod storage;
mod store;
mod sum;
mod superblock;
mod tree;
mod view;
mod write_behind;

pub use batch::Batch;
pub use check::{CheckReport, check};
pub use error::{Error, Result};
pub use params::{Options, Params};
pub use scan::Scan;
pub use stat::{LevelStat, Stat, free_extents, stat};
pub use storage::{CrashStorage, FailingStorage, Failure, FileStorage, MemoryStorage, PowerCut, Storage};
pub use store::Store;
pub use view::Snapshot;

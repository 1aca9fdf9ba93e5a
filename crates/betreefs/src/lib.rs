//! A POSIX file system that does not age: files and directories as keys of a Bε-tree, served through FUSE.
//!
//! Keys are full paths, so data that tools read in sequence is adjacent on disk. `FORMAT.md` describes keys, values and invariants.
//!
//! [`mkfs`] creates a file system on a [`Storage`](betree::Storage). [`Fs`] is an open file system, with one operation per system call.

mod attr;
mod check;
mod create;
mod data;
mod dir;
mod error;
mod fs;
mod fuse;
pub mod image;
mod inode;
mod key;
mod mount;
mod moving;
mod options;
mod overlay;
mod prune;
mod read_ahead;
mod record;
mod remove;
mod rename;
mod space;
mod stream;
mod superblock;
mod table;
mod tree;
mod xattr;

pub use attr::{Attr, SetAttr};
pub use check::{CheckReport, check};
pub use create::NewInode;
pub use data::FILE_MAX;
pub use dir::DirEntry;
pub use error::{Error, Result};
pub use fs::{Caller, Fs, ROOT};
pub use fuse::checkpoint;
pub use key::NAME_MAX;
pub use mount::{FS_TYPE, kernel_options, mount, serve};
pub use options::MountOptions;
pub use read_ahead::set_read_ahead;
pub use record::Time;
pub use rename::Rename;
pub use space::SpaceUsage;
pub use superblock::{MIN_BYTES, label, mkfs};
pub use tree::{LevelStat, TreeStat, free_extents, tree_stat};
pub use xattr::SetXattr;

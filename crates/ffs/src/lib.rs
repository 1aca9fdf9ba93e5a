//! The allocator laboratory: file systems simulated down to where each block lies, with policies that can be exchanged, at
//! the speed of memory.
//!
//! Two file systems below one interface: [`FastFs`], the fast file system of 4.4BSD, for what Smith and Seltzer published of
//! it in 1996 and 1997, and [`Extents`](extents::Extents), a model of today's extent allocators. A [`Volume`] puts names and
//! sizes above either; [`Kind`] makes one by the names of file system and policy.

mod allocator;
pub mod benchmark;
mod bits;
mod cost;
mod error;
pub mod extents;
mod fast;
mod files;
pub mod geometry;
mod history;
mod inodes;
mod laboratory;
mod layout;
mod measure;
mod packed;
pub mod policy;
mod volume;

pub use allocator::{Allocator, NoSpace};
pub use error::Error;
pub use fast::{Counts, FastFs, Groups};
pub use geometry::Geometry;
pub use history::{DAYS, History, LAST_FULLNESS};
pub use laboratory::{Kind, Laboratory, run};
pub use layout::{Layout, Piece};
pub use measure::{FreeBin, FreeSpace, Measures, Score, SizeClass, measure};
pub use volume::{Done, FileView, Volume};

//! The allocator laboratory: file systems simulated in memory down to the place of each block, with exchangeable
//! policies.
//!
//! Two file systems behind one interface: [`FastFs`], the fast file system of 4.4BSD, as in the publications of Smith and Seltzer of 1996 and
//! 1997, and [`ExtentFs`](extents::ExtentFs), a model of current extent allocators. A [`Volume`] adds names and sizes to either; [`SimulatedFs`] creates
//! one from the names of file system and policy.

mod allocator;
pub mod benchmark;
mod bits;
mod configuration;
mod cost;
mod error;
pub mod extents;
mod fast;
mod files;
pub mod geometry;
mod history;
mod inodes;
mod interleaved;
mod layout;
mod measure;
mod packed;
pub mod policy;
mod simulation;
mod volume;

pub use allocator::{Allocator, NoSpace};
pub use configuration::Configuration;
pub use error::Error;
pub use fast::{FastFs, GroupSummary, Groups};
pub use geometry::Geometry;
pub use history::{FINAL_FULLNESS, HISTORY_DAYS, History, HistoryShape};
pub use interleaved::Interleaved;
pub use layout::{Extent, Layout};
pub use measure::{FreeBin, FreeSpace, LayoutScore, Measures, SizeClass, measure};
pub use simulation::{SimulatedFs, Simulation, run};
pub use volume::{FileView, OperationCounts, Volume};

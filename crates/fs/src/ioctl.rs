//! Queries that only an ioctl answers: the free extents.

pub mod btrfs;
mod chunk;
mod free_space_tree;
pub mod fsmap;

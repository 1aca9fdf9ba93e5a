//! Questions to file systems that only an ioctl answers: where is free space?

pub mod btrfs;
mod chunk;
mod free_space_tree;
pub mod fsmap;

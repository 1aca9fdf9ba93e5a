//! The disk below a file system: images, loop devices, named block devices, and what was asked of them.

mod extent;
mod request;

pub use extent::Extent;
pub use request::{Request, RequestKind, SECTOR_BYTES};

//! Why a scan is slow: the cost of its requests on a modelled disk, with one cause taken away at a time.
//!
//! The causes work together, so what they cost does not add up: files in one piece that do not lie in order still cost a seek each. Pieces and
//! order are the fragmentation within and between files of Conway et al. (2017, section 3.3). Fragments are slow on flash because requests are
//! split according to Park and Eom (FragPicker, SOSP 2021), and because pages collide on dies according to Jun et al. (FAST 2024).

mod log;
mod places;

pub use places::FilePlaces;

use disk::Request;
use disk::model::{Ftl, Model, Pricing};
use log::LocatedLog;
use serde::Serialize;

/// What makes reading slower than the transfer of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Files lie in pieces. Without it, each lies in one piece in the order of its bytes, where its first byte is, or as near to it as other files
    /// leave room; requests that only a gap kept apart are one, up to the longest read of the scan.
    Pieces,
    /// Files do not lie one behind the other in the order in which they are read. Without it, each begins where the last one ended; its pieces
    /// are as far apart as they were, and metadata is where it was.
    Order,
    /// Directories, inodes and maps are read too. Without it, only data of files is.
    Metadata,
    /// A part of a file takes several requests. Without it, the device receives them as one command, up to the longest read of the scan; the
    /// data is read from where it is.
    Splitting,
    /// Pages of a flash drive wait for each other on one die while others are idle. Without it, they are on one die after another.
    DieCollisions,
    /// Data is not on the flash in the order of its addresses, because it was written in another order or moved by garbage collection.
    FlashOrder,
}

/// The cost of the requests of a scan, with one cause taken away at a time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Causes {
    /// Seconds with all causes.
    pub total_s: f64,
    /// Seconds without each cause that this disk can have.
    pub without: Vec<Without>,
    /// Seconds without any of them: the data of all files, one after the other.
    pub least_s: f64,
    /// Bytes read of files.
    pub file_bytes: u64,
    /// Bytes read of anything else.
    pub metadata_bytes: u64,
}

/// The cost of a scan without a cause.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Without {
    /// The cause.
    pub cause: Cause,
    /// Seconds without it.
    pub total_s: f64,
}

/// A modelled disk, as it was before a scan.
#[derive(Clone, Copy, Debug)]
pub struct ScannedDisk<'a> {
    /// Its model.
    pub model: &'a Model,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// The state of its flash; `None` for a device without a translation layer, or a fresh one.
    pub flash: Option<&'a Ftl>,
}

impl ScannedDisk<'_> {
    /// A drive whose flash has this state.
    fn pricing(&self, flash: Option<&Ftl>) -> Pricing {
        Pricing::on(self.model, self.size_bytes, flash)
    }
}

/// The causes of the cost of a scan: its requests, and where the files lay. `None` if none of the requests read data of a file, because the
/// addresses are not those of the device.
pub fn causes(requests: &[Request], places: &FilePlaces, disk: &ScannedDisk) -> Option<Causes> {
    let log = LocatedLog::new(requests, places);
    let (file_bytes, metadata_bytes) = log.bytes();
    if file_bytes == 0 || disk.size_bytes == 0 {
        return None;
    }
    let as_it_was = || disk.pricing(disk.flash);
    let mut without = vec![
        (Cause::Pieces, log.in_one_piece(as_it_was(), disk.size_bytes)),
        (Cause::Order, log.in_order(as_it_was(), disk.size_bytes)),
        (Cause::Metadata, log.without_metadata(as_it_was())),
        (Cause::Splitting, log.unsplit(as_it_was())),
    ];
    if disk.model.has_dies() {
        without.push((Cause::DieCollisions, log.unchanged(as_it_was().taking_dies_in_turn())));
    }
    if disk.flash.is_some_and(|flash| disk.model.has_flash_of(flash, disk.size_bytes)) {
        without.push((Cause::FlashOrder, log.unchanged(disk.pricing(None))));
    }
    let without = without.into_iter().map(|(cause, cost)| Without { cause, total_s: cost.total_s() });
    Some(Causes {
        total_s: log.unchanged(as_it_was()).total_s(),
        without: without.collect(),
        least_s: log.ideal(disk.pricing(None).taking_dies_in_turn()).total_s(),
        file_bytes,
        metadata_bytes,
    })
}

#[cfg(test)]
mod tests;

//! Imports snapshots from listings of other programs. Attributes that a listing lacks are named in `lacks` of
//! the snapshot's [`Info`].

mod btrfs;
mod find;
mod rsync;
mod text;
mod tree;
mod zfs_diff;

use crate::{Error, Info, Snapshot};
use std::io::Read as _;
use std::path::Path;

/// The format of a listing, by the program that prints it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListingFormat {
    /// `find PATH -xdev -printf '%y\t%i\t%n\t%s\t%b\t%C@\t%T@\t%B@\t%P\n'`, or with `\0` at the end.
    Find,
    /// `TZ=UTC rsync --list-only -r PATH/`.
    Rsync,
    /// `zfs diff -H -F -t`: changes since a snapshot.
    ZfsDiff,
    /// `btrfs receive --dump` of `btrfs send --no-data`: a whole subvolume, or changes since a snapshot.
    Btrfs,
}

impl ListingFormat {
    fn name(self) -> &'static str {
        match self {
            ListingFormat::Find => "find",
            ListingFormat::Rsync => "rsync",
            ListingFormat::ZfsDiff => "zfs diff",
            ListingFormat::Btrfs => "btrfs receive --dump",
        }
    }
}

/// Parameters of an import.
pub struct Import<'i> {
    /// The format of the listing.
    pub format: ListingFormat,
    /// The program to record as the creator of the snapshot.
    pub tool: &'i str,
    /// The time of the listing, in nanoseconds since 1970.
    pub at_ns: i64,
    /// The base snapshot of an incremental listing.
    pub base: Option<&'i Snapshot>,
    /// The directory that all paths of the listing begin with; it becomes the root.
    pub below: Option<&'i Path>,
}

impl Import<'_> {
    /// Imports the listing in the file `path`.
    pub fn read(&self, path: &Path) -> Result<Snapshot, Error> {
        let mut listing = Vec::new();
        input::open_stream(path)
            .and_then(|mut file| file.read_to_end(&mut listing))
            .map_err(Error::io("reading", path))?;
        let kind = self.format.name();
        self.parse(&listing).map_err(|why| Error::Listing { path: path.to_owned(), kind, why })
    }

    /// Converts a listing to a snapshot; an error says what is wrong with the listing.
    pub fn parse(&self, listing: &[u8]) -> Result<Snapshot, String> {
        let wants_base = match self.format {
            ListingFormat::Find | ListingFormat::Rsync => false,
            ListingFormat::ZfsDiff => true,
            ListingFormat::Btrfs => btrfs::is_increment(listing),
        };
        if wants_base != self.base.is_some() {
            return Err(match wants_base {
                true => "it lists changes since a snapshot: give that snapshot with --base".to_owned(),
                false => "it is a full listing, not changes since --base; leave --base out".to_owned(),
            });
        }
        if self.base.is_some_and(|base| base.info().key_id.is_some()) {
            return Err(
                "its base has hashed names, which cannot be compared with the listing; give a base with names"
                    .into(),
            );
        }
        let info = Info {
            tool: format!("{}, of a listing of {}", self.tool, self.format.name()),
            begun_ns: self.at_ns,
            ended_ns: self.at_ns,
            vanished: 0,
            ..self.base.map_or_else(unknown, |base| base.info().clone())
        };
        match (self.format, self.base, self.below) {
            (ListingFormat::Find, ..) => find::parse(listing, info),
            (ListingFormat::Rsync, ..) => rsync::parse(listing, info),
            (ListingFormat::Btrfs, base, _) => btrfs::parse(listing, info, base),
            (ListingFormat::ZfsDiff, Some(base), Some(below)) => zfs_diff::parse(listing, info, base, below),
            (ListingFormat::ZfsDiff, ..) => {
                Err("its paths are absolute: give the mount point of the file system with --below".into())
            }
        }
    }
}

/// The info of a listing, whose file system is unknown.
fn unknown() -> Info {
    Info { fs: "unknown".to_owned(), ..Info::default() }
}

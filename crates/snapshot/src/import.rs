//! Snapshots made of what other programs list. What a listing does not carry is absent, and `lacks` of the snapshot's
//! [`Info`] names it.

mod btrfs;
mod find;
mod rsync;
mod text;
mod tree;
mod zfs_diff;

use crate::{Error, Info, Snapshot};
use std::io::Read as _;
use std::path::Path;

/// A program whose listings can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lister {
    /// `find PATH -xdev -printf '%y\t%i\t%n\t%s\t%b\t%C@\t%T@\t%B@\t%P\n'`, or with `\0` at its end.
    Find,
    /// `TZ=UTC rsync --list-only -r PATH/`.
    Rsync,
    /// `zfs diff -H -F -t`: changes since a snapshot.
    ZfsDiff,
    /// `btrfs receive --dump` of `btrfs send --no-data`: a whole subvolume, or changes since a snapshot.
    Btrfs,
}

impl Lister {
    fn name(self) -> &'static str {
        match self {
            Lister::Find => "find",
            Lister::Rsync => "rsync",
            Lister::ZfsDiff => "zfs diff",
            Lister::Btrfs => "btrfs receive --dump",
        }
    }
}

/// What an import takes beside the listing.
pub struct Import<'i> {
    /// What made the listing.
    pub from: Lister,
    /// The program to be named as the maker of the snapshot.
    pub tool: &'i str,
    /// When the listing was made, in nanoseconds since 1970.
    pub at_ns: i64,
    /// The snapshot that the listing is the changes since.
    pub base: Option<&'i Snapshot>,
    /// The directory that the paths of the listing begin with, which is the root.
    pub below: Option<&'i Path>,
}

impl Import<'_> {
    /// Reads the listing in the file `path`.
    pub fn read(&self, path: &Path) -> Result<Snapshot, Error> {
        let mut listing = Vec::new();
        input::open_stream(path)
            .and_then(|mut file| file.read_to_end(&mut listing))
            .map_err(Error::io("reading", path))?;
        let kind = self.from.name();
        self.parse(&listing).map_err(|why| Error::Listing { path: path.to_owned(), kind, why })
    }

    /// Makes a snapshot of a listing, or says what is wrong with it.
    pub fn parse(&self, listing: &[u8]) -> Result<Snapshot, String> {
        let wants_base = match self.from {
            Lister::Find | Lister::Rsync => false,
            Lister::ZfsDiff => true,
            Lister::Btrfs => btrfs::is_increment(listing),
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
            tool: format!("{}, of a listing of {}", self.tool, self.from.name()),
            begun_ns: self.at_ns,
            ended_ns: self.at_ns,
            vanished: 0,
            ..self.base.map_or_else(unknown, |base| base.info().clone())
        };
        match (self.from, self.base, self.below) {
            (Lister::Find, ..) => find::parse(listing, info),
            (Lister::Rsync, ..) => rsync::parse(listing, info),
            (Lister::Btrfs, base, _) => btrfs::parse(listing, info, base),
            (Lister::ZfsDiff, Some(base), Some(below)) => zfs_diff::parse(listing, info, base, below),
            (Lister::ZfsDiff, ..) => {
                Err("its paths are absolute: give the mount point of the file system with --below".into())
            }
        }
    }
}

/// What is known of the file system of a listing.
fn unknown() -> Info {
    Info { fs: "unknown".to_owned(), ..Info::default() }
}

//! Free space in pieces, made in one step: large files with alternating holes, as maintainers of file systems make them with
//! `punch-alternating` of xfstests, and new files that must fit into the holes.

use crate::interface::last_of;
use crate::micro::{LAST_ROUND, check_round};
use crate::planner::{MAX_FILE_BYTES, check_fullness};
use crate::traced::{Ops, apply, options};
use crate::{Driver, Error, Site, Start, Workload};
use replay::Replay;
use serde::{Deserialize, Serialize};
use trace::{Content, FileId, Op, ROOT};

/// Files that fill the file system, every other unit of which is punched out. In round r new files take r percent of the space that the
/// holes free, so that round 100 ends at the same fullness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Punched {
    /// Share of the capacity that the large files occupy; less if the file system cannot be filled that far.
    pub fullness: f64,
    /// Size of each large file in bytes.
    pub file_bytes: u64,
    /// Size of each hole, and of what stays between two, in bytes.
    pub unit_bytes: u64,
    /// Size of each new file in bytes.
    pub new_file_bytes: u64,
}

impl Default for Punched {
    /// Holes of one block, which is what `punch-alternating` makes by default.
    fn default() -> Punched {
        Punched { fullness: 0.7, file_bytes: 16 << 20, unit_bytes: 4 << 10, new_file_bytes: 1 << 20 }
    }
}

impl Punched {
    fn check(&self, round: u64) -> Result<(), Error> {
        check_round(round)?;
        let Punched { fullness, file_bytes, unit_bytes, new_file_bytes } = *self;
        check_fullness(fullness)?;
        if unit_bytes == 0 || file_bytes < 2 * unit_bytes.min(MAX_FILE_BYTES) || file_bytes > MAX_FILE_BYTES {
            return Err(Error::Conditions(format!(
                "files of {file_bytes} bytes cannot have holes of {unit_bytes} bytes: a file has at least two units and at most 1 TiB"
            )));
        }
        if new_file_bytes == 0 || new_file_bytes > MAX_FILE_BYTES {
            return Err(Error::Conditions(format!(
                "new files of {new_file_bytes} bytes are not between 1 byte and 1 TiB"
            )));
        }
        Ok(())
    }

    /// The number of large files on such a file system.
    fn files(self, capacity_bytes: u64, max_fullness: f64) -> u64 {
        (capacity_bytes as f64 * self.fullness.min(max_fullness)) as u64 / self.file_bytes
    }

    /// The operations of a round on a file system that files can fill up to `max_fullness` of `capacity_bytes`.
    fn round(self, capacity_bytes: u64, max_fullness: f64, round: u64) -> impl Iterator<Item = Op> + use<> {
        let Punched { file_bytes, unit_bytes, new_file_bytes, .. } = self;
        let files = self.files(capacity_bytes, max_fullness);
        let holes = file_bytes / unit_bytes / 2;
        let new_files = (u128::from(files * holes * unit_bytes) * u128::from(round)
            / u128::from(LAST_ROUND)
            / u128::from(new_file_bytes)) as u64;
        let all = files..files + new_files;
        // All files exist before the first hole, which no other large file may fill. XFS takes inodes from contiguous blocks only.
        let created =
            (0..all.end).flat_map(move |file| create(file, if file < files { file_bytes } else { 0 }));
        let punched = (0..files).flat_map(move |file| {
            let (file, parent) = (FileId(file), ROOT);
            let hole =
                move |hole| Op::Punch { file, parent, offset: (2 * hole + 1) * unit_bytes, len: unit_bytes };
            (0..holes).map(hole).chain([Op::Fsync { file, parent }])
        });
        let grown = all.flat_map(move |file| {
            let (file, parent) = (FileId(file), ROOT);
            [Op::Append { file, parent, len: new_file_bytes }, Op::Fsync { file, parent }]
        });
        created.chain(punched).chain(grown).chain([Op::Checkpoint { number: round }])
    }
}

/// Creates a file whose blocks are allocated before the next operation.
fn create(file: u64, size: u64) -> [Op; 2] {
    let (file, parent) = (FileId(file), ROOT);
    [Op::Create { file, parent, size, content: Content::Written }, Op::Fsync { file, parent }]
}

#[typetag::serde(name = "punched")]
impl Workload for Punched {
    fn check(&self, _seed: u64, rounds: &[u64]) -> Result<(), Error> {
        self.check(last_of(rounds))
    }

    fn start(&self, start: &Start) -> Result<Box<dyn Driver>, Error> {
        let (capacity_bytes, max_fullness) = (start.volume.size_bytes, start.volume.max_fullness());
        if self.files(capacity_bytes, max_fullness) == 0 {
            return Err(Error::Conditions(format!(
                "no file of {} bytes fits in a share of {} of {capacity_bytes} bytes: use a larger --size or smaller files",
                self.file_bytes,
                self.fullness.min(max_fullness)
            )));
        }
        Ok(Box::new(Rounds { punched: *self, capacity_bytes, max_fullness, seed: start.seed }))
    }

    fn default_last_round(&self) -> Option<u64> {
        Some(LAST_ROUND)
    }
}

/// Rounds, each on a fresh file system.
struct Rounds {
    punched: Punched,
    capacity_bytes: u64,
    max_fullness: f64,
    seed: u64,
}

impl Driver for Rounds {
    fn is_fresh(&self) -> bool {
        true
    }

    fn advance(&mut self, site: &mut Site, round: u64) -> Result<(), Error> {
        let mut ops = Ops(self.punched.round(self.capacity_bytes, self.max_fullness, round));
        let mut replay = Replay::posix(site.target.root(), &options(self.seed))?;
        apply(&mut replay, &mut ops, round, site.observer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Punched =
        Punched { fullness: 0.5, file_bytes: 40 << 10, unit_bytes: 8 << 10, new_file_bytes: 4 << 10 };

    fn bytes_by_kind(ops: impl Iterator<Item = Op>) -> [u64; 3] {
        let mut bytes = [0; 3];
        for op in ops {
            match op {
                Op::Create { size, .. } => bytes[0] += size,
                Op::Append { len, .. } => bytes[1] += len,
                Op::Punch { offset, len, .. } => {
                    assert_eq!(offset / len % 2, 1, "{op}");
                    assert!(offset + len <= SMALL.file_bytes, "{op}");
                    bytes[2] += len;
                }
                _ => {}
            }
        }
        bytes
    }

    #[test]
    fn new_files_take_the_space_of_the_holes() {
        // 12 files of 40 KiB, each with 2 holes of 8 KiB.
        let (large, holes) = (12 * (40 << 10), 12 * 2 * (8 << 10));
        for (round, new) in [(0, 0), (25, holes / 4), (100, holes)] {
            assert_eq!(bytes_by_kind(SMALL.round(1 << 20, 0.98, round)), [large, new, holes], "{round}");
        }
        assert_eq!(bytes_by_kind(SMALL.round(1 << 20, 0.25, 0))[0], large / 2, "as far as it can be filled");
    }

    #[test]
    fn impossible_parameters_are_refused() {
        SMALL.check(100).unwrap();
        for (wrong, round) in [
            (SMALL, 101),
            (Punched { fullness: 0.0, ..SMALL }, 0),
            (Punched { fullness: f64::NAN, ..SMALL }, 0),
            (Punched { unit_bytes: 0, ..SMALL }, 0),
            (Punched { unit_bytes: u64::MAX, ..SMALL }, 0),
            (Punched { file_bytes: 12 << 10, ..SMALL }, 0),
            (Punched { file_bytes: u64::MAX, ..SMALL }, 0),
            (Punched { new_file_bytes: 0, ..SMALL }, 0),
        ] {
            assert!(wrong.check(round).is_err(), "{wrong:?} {round}");
        }
    }
}

//! Shared blocks: large files whose blocks are overwritten in place while clones or snapshots of them are kept, as images of virtual machines or
//! files of databases are backed up where files can share blocks (reflinks of XFS and Btrfs) or file systems have snapshots (Btrfs, ZFS). A shared
//! block cannot be overwritten where it is.

use crate::interface::last_of;
use crate::planner::{MAX_FILE_BYTES, check_fullness};
use crate::random::Random;
use crate::traced::{Ops, Traced};
use crate::{Driver, Error, Start, Workload};
use serde::{Deserialize, Serialize};
use std::iter::once;
use trace::{Content, DirId, FileId, Op, ROOT};

/// Files that fill a part of the file system in round 0. In each further round they are backed up, an old backup is deleted, and blocks of the
/// files, drawn at random, are overwritten. A backup is a clone of every file in a directory of the round, or a snapshot of the file system.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cloned {
    /// The sizes of all files and kept backups over the capacity, so that a copy in which nothing is shared fits; less if the file system
    /// cannot be filled that far.
    pub fullness: f64,
    /// Size of each file in bytes.
    pub file_bytes: u64,
    /// Size of each overwrite in bytes.
    pub unit_bytes: u64,
    /// Bytes overwritten in each round, as a share of all bytes of the files; some of them twice.
    pub overwritten: f64,
    /// How many rounds a backup is kept; with 0 there are none, which shows what the overwrites do alone.
    pub kept: u32,
    /// Whether backups are snapshots.
    pub snapshots: bool,
}

impl Default for Cloned {
    /// A tenth changes each day, and the backups of three days are kept.
    fn default() -> Cloned {
        Cloned {
            fullness: 0.7,
            file_bytes: 16 << 20,
            unit_bytes: 4 << 10,
            overwritten: 0.1,
            kept: 3,
            snapshots: false,
        }
    }
}

/// The most backups, and the last round: with both, the numbers of files and directories stay in their ranges.
const MAX_KEPT: u32 = 10_000;
const MAX_ROUND: u64 = 1_000_000;

impl Cloned {
    fn check(&self, round: u64) -> Result<(), Error> {
        let Cloned { fullness, file_bytes, unit_bytes, overwritten, kept, snapshots: _ } = *self;
        check_fullness(fullness)?;
        let wrong = if round > MAX_ROUND {
            format!("no round {round}: rounds go from 0 to {MAX_ROUND}")
        } else if unit_bytes == 0 || unit_bytes > file_bytes || file_bytes > MAX_FILE_BYTES {
            format!(
                "files of {file_bytes} bytes cannot be overwritten {unit_bytes} bytes at a time: a file has at least one unit and at most 1 TiB"
            )
        } else if !(0.0..=1.0).contains(&overwritten) {
            format!("overwritten = {overwritten} is no share from 0 to 1")
        } else if kept > MAX_KEPT {
            format!("kept = {kept} exceeds {MAX_KEPT}")
        } else {
            return Ok(());
        };
        Err(Error::Conditions(wrong))
    }

    /// The number of files on such a file system.
    fn files(self, capacity_bytes: u64, max_fullness: f64) -> u64 {
        let all = (capacity_bytes as f64 * self.fullness.min(max_fullness)) as u64;
        all / (1 + u64::from(self.kept)) / self.file_bytes
    }

    /// The operations of a round with this number of files.
    fn round(self, files: u64, round: u64, seed: u64) -> Box<dyn Iterator<Item = Op>> {
        let end = once(Op::Checkpoint { number: round });
        if round == 0 {
            return Box::new((0..files).flat_map(move |file| self.create(file)).chain(end));
        }
        let kept = u64::from(self.kept);
        let deleted = (kept > 0 && round > kept).then(|| self.delete(files, round - kept));
        let taken = (kept > 0).then(|| self.back_up(files, round));
        let backups = deleted.into_iter().flatten().chain(taken.into_iter().flatten());
        Box::new(backups.chain(self.overwrite(files, round, seed)).chain(end))
    }

    fn back_up(self, files: u64, round: u64) -> Box<dyn Iterator<Item = Op>> {
        match self.snapshots {
            true => Box::new(once(Op::Snapshot { number: round })),
            false => Box::new(clone(files, round)),
        }
    }

    fn delete(self, files: u64, round: u64) -> Box<dyn Iterator<Item = Op>> {
        match self.snapshots {
            true => Box::new(once(Op::DeleteSnapshot { number: round })),
            false => Box::new(delete_clones(files, round)),
        }
    }

    fn create(self, file: u64) -> [Op; 2] {
        let (file, parent) = (FileId(file), ROOT);
        let content = Content::Written;
        [Op::Create { file, parent, size: self.file_bytes, content }, Op::Fsync { file, parent }]
    }

    fn overwrite(self, files: u64, round: u64, seed: u64) -> impl Iterator<Item = Op> {
        let Cloned { file_bytes, unit_bytes, overwritten, .. } = self;
        let units = files * (file_bytes / unit_bytes);
        let mut rng = Random::new(seed, round);
        (0..(units as f64 * overwritten) as u64).map(move |_| {
            let unit = rng.below_wide(units);
            Op::Write {
                file: FileId(unit % files),
                parent: ROOT,
                offset: unit / files * unit_bytes,
                len: unit_bytes,
            }
        })
    }
}

/// The directory of the clones of a round.
fn directory(round: u64) -> DirId {
    DirId(u32::try_from(round).expect("a checked round"))
}

/// Clones all files into the directory of the round.
fn clone(files: u64, round: u64) -> impl Iterator<Item = Op> {
    let dir = directory(round);
    let clone = move |file| Op::Clone {
        file: FileId(file),
        parent: ROOT,
        to_file: FileId(files * round + file),
        to_parent: dir,
    };
    once(Op::Mkdir { dir, parent: ROOT }).chain((0..files).map(clone))
}

/// Deletes the clones of a round and their directory.
fn delete_clones(files: u64, round: u64) -> impl Iterator<Item = Op> {
    let dir = directory(round);
    let first = files * round;
    let clones = (first..first + files).map(move |file| Op::Delete { file: FileId(file), parent: dir });
    clones.chain([Op::Rmdir { dir, parent: ROOT }])
}

#[typetag::serde(name = "cloned")]
impl Workload for Cloned {
    fn check(&self, _seed: u64, rounds: &[u64]) -> Result<(), Error> {
        self.check(last_of(rounds))
    }

    fn start(&self, start: &Start) -> Result<Box<dyn Driver>, Error> {
        let (capacity_bytes, max_fullness) = (start.volume.size_bytes, start.volume.max_fullness());
        let files = self.files(capacity_bytes, max_fullness);
        if files == 0 {
            return Err(Error::Conditions(format!(
                "no file of {} bytes fits with {} backups in a share of {} of {capacity_bytes} bytes: use a larger --size, smaller files, or \
                 fewer backups",
                self.file_bytes,
                self.kept,
                self.fullness.min(max_fullness)
            )));
        }
        let (cloned, seed) = (*self, start.seed);
        let rounds = (0..=start.last_round).flat_map(move |round| cloned.round(files, round, seed));
        Ok(Box::new(Traced::new(Box::new(Ops(rounds)), seed, None)))
    }

    fn default_last_round(&self) -> Option<u64> {
        Some(20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Source, Stat, ValidatingSource};

    const SMALL: Cloned = Cloned {
        fullness: 0.5,
        file_bytes: 40 << 10,
        unit_bytes: 8 << 10,
        overwritten: 0.4,
        kept: 2,
        snapshots: false,
    };

    fn rounds(last: u64, seed: u64) -> Vec<Op> {
        (0..=last).flat_map(|round| SMALL.round(4, round, seed)).collect()
    }

    #[test]
    fn files_and_kept_clones_fit_without_sharing() {
        assert_eq!(SMALL.files(1 << 20, 0.98), (1 << 19) / 3 / (40 << 10));
        assert_eq!(SMALL.files(1 << 20, 0.25), (1 << 18) / 3 / (40 << 10), "as far as it can be filled");
        assert_eq!(SMALL.files(100 << 10, 0.98), 0);
    }

    #[test]
    fn each_file_has_the_clones_of_the_last_rounds() {
        for (round, clones) in [(0, 0), (1, 1), (2, 2), (3, 2), (9, 2)] {
            let stat = Stat::of(rounds(round, 7).into_iter()).unwrap();
            assert_eq!(stat.live_files, 4 * (1 + clones), "{round}");
            assert_eq!(stat.directories, clones, "{round}");
            assert!(stat.peak_live_files <= 4 * 3, "{round}");
        }
    }

    #[test]
    fn without_clones_only_the_overwrites_remain() {
        let plain = Cloned { kept: 0, ..SMALL };
        for round in [1, 3] {
            let overwrites = SMALL.round(4, round, 7).filter(|op| matches!(op, Op::Write { .. }));
            let end = [Op::Checkpoint { number: round }];
            assert_eq!(
                plain.round(4, round, 7).collect::<Vec<_>>(),
                overwrites.chain(end).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn snapshots_take_the_place_of_clones() {
        let by_snapshots = Cloned { snapshots: true, ..SMALL };
        let overwrites = |op: &Op| matches!(op, Op::Write { .. } | Op::Checkpoint { .. });
        let taken = |round| Op::Snapshot { number: round };
        for (round, backups) in
            [(1, vec![taken(1)]), (2, vec![taken(2)]), (3, vec![Op::DeleteSnapshot { number: 1 }, taken(3)])]
        {
            let rest = SMALL.round(4, round, 7).filter(overwrites);
            let expected: Vec<Op> = backups.into_iter().chain(rest).collect();
            assert_eq!(by_snapshots.round(4, round, 7).collect::<Vec<_>>(), expected);
        }
        Stat::of((0..=9).flat_map(|round| by_snapshots.round(4, round, 7)).collect::<Vec<_>>().into_iter())
            .unwrap();
    }

    #[test]
    fn units_of_files_are_overwritten_at_random() {
        let mut source = ValidatingSource::new(rounds(50, 7).into_iter());
        let (mut drawn, mut batch) = ([[0; 5]; 4], Vec::new());
        loop {
            source.next_batch(&mut batch).unwrap();
            if batch.is_empty() {
                break;
            }
            for op in &batch {
                if let Op::Write { file, parent, offset, len } = *op {
                    assert_eq!((parent, len, offset % (8 << 10)), (ROOT, 8 << 10, 0), "{op}");
                    drawn[file.0 as usize][(offset / len) as usize] += 1;
                }
            }
        }
        // 40 % of 20 units in each of 50 rounds, so 20 of each unit are expected.
        assert_eq!(drawn.iter().flatten().sum::<u32>(), 50 * 8);
        assert!(drawn.iter().flatten().all(|&times| (5..40).contains(&times)), "{drawn:?}");
        assert_ne!(rounds(3, 7), rounds(3, 8), "another seed draws others");
    }

    #[test]
    fn impossible_parameters_are_refused() {
        SMALL.check(MAX_ROUND).unwrap();
        for (wrong, round) in [
            (SMALL, MAX_ROUND + 1),
            (Cloned { fullness: 0.0, ..SMALL }, 0),
            (Cloned { fullness: f64::NAN, ..SMALL }, 0),
            (Cloned { unit_bytes: 0, ..SMALL }, 0),
            (Cloned { unit_bytes: u64::MAX, ..SMALL }, 0),
            (Cloned { file_bytes: 0, ..SMALL }, 0),
            (Cloned { file_bytes: u64::MAX, ..SMALL }, 0),
            (Cloned { overwritten: -0.1, ..SMALL }, 0),
            (Cloned { overwritten: f64::NAN, ..SMALL }, 0),
            (Cloned { kept: u32::MAX, ..SMALL }, 0),
        ] {
            assert!(wrong.check(round).is_err(), "{wrong:?} {round}");
        }
    }
}

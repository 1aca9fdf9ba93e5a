//! Intrafile fragmentation (Conway et al. 2017, §5): files that grow at the same time.

use super::check_round;
use crate::Error;
use serde::{Deserialize, Serialize};
use trace::{Content, FileId, Op, ROOT};

/// A few files that grow to one size. In round r the first 100 − r percent of each file are written in one
/// go, file after file; the rest is appended to all files in turn, unit by unit. An fsync follows the first part
/// and each append, so that the file system cannot delay the allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Intrafile {
    /// Number of files.
    pub files: u64,
    /// Final size of each file in bytes.
    pub file_bytes: u64,
    /// Bytes per append.
    pub unit_bytes: u64,
}

impl Default for Intrafile {
    /// The published parameters: ten files of 400 KiB, in units of 4 KiB.
    fn default() -> Intrafile {
        Intrafile { files: 10, file_bytes: 400 << 10, unit_bytes: 4 << 10 }
    }
}

impl Intrafile {
    /// The operations of a round.
    pub fn round(&self, round: u64) -> Result<Vec<Op>, Error> {
        check_round(round)?;
        let &Intrafile { files, file_bytes, unit_bytes } = self;
        if files == 0 || unit_bytes == 0 || file_bytes < unit_bytes || file_bytes % unit_bytes != 0 {
            return Err(Error::Conditions(format!(
                "{files} files of {file_bytes} bytes cannot grow by {unit_bytes} bytes: at least one file is \
                 needed, with a size that is a multiple of the append"
            )));
        }
        let units = file_bytes / unit_bytes;
        let Some(operations) = units.checked_mul(files).filter(|&appends| appends <= MAX_APPENDS) else {
            return Err(Error::Conditions(format!(
                "{files} files of {units} appends each exceed {MAX_APPENDS} appends per round"
            )));
        };
        let in_turn = units * round / super::LAST_ROUND;
        let mut ops = Vec::with_capacity(2 * operations as usize + files as usize + 1);
        for file in 0..files {
            ops.push(Op::Create { file: FileId(file), parent: ROOT, size: 0, content: Content::Written });
            append(file, (units - in_turn) * unit_bytes, &mut ops);
        }
        for _ in 0..in_turn {
            (0..files).for_each(|file| append(file, unit_bytes, &mut ops));
        }
        ops.push(Op::Checkpoint { number: round });
        Ok(ops)
    }
}

fn append(file: u64, len: u64, ops: &mut Vec<Op>) {
    let (file, parent) = (FileId(file), ROOT);
    if len > 0 {
        ops.extend([Op::Append { file, parent, len }, Op::Fsync { file, parent }]);
    }
}

/// Upper limit of the appends of a round, which is held in memory.
const MAX_APPENDS: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// File and units of each append.
    fn appended(ops: &[Op]) -> Vec<(u64, u64)> {
        let of = |op: &Op| match op {
            Op::Append { file, len, .. } => Some((file.0, len >> 12)),
            _ => None,
        };
        ops.iter().filter_map(of).collect()
    }

    #[test]
    fn first_round_is_sequential_and_last_interleaved() {
        let two = Intrafile { files: 2, file_bytes: 16 << 10, unit_bytes: 4 << 10 };
        assert_eq!(appended(&two.round(0).unwrap()), [(0, 4), (1, 4)]);
        assert_eq!(appended(&two.round(50).unwrap()), [(0, 2), (1, 2), (0, 1), (1, 1), (0, 1), (1, 1)]);
        assert_eq!(appended(&two.round(100).unwrap()), [(0, 1), (1, 1)].repeat(4));
    }

    #[test]
    fn every_write_is_synced() {
        let ops = Intrafile::default().round(37).unwrap();
        let units: u64 = appended(&ops).iter().map(|(_, units)| units).sum();
        assert_eq!((units, appended(&ops).len()), (1000, 10 + 370));
        for pair in ops.windows(2) {
            if let [Op::Append { file, .. }, then] = pair {
                assert_eq!(*then, Op::Fsync { file: *file, parent: ROOT });
            }
        }
        assert_eq!(ops.last(), Some(&Op::Checkpoint { number: 37 }));
    }

    #[test]
    fn invalid_parameters_are_rejected() {
        let one = Intrafile { files: 1, file_bytes: 4096, unit_bytes: 4096 };
        assert!(one.round(0).is_ok());
        assert!(one.round(101).is_err());
        for wrong in [
            Intrafile { files: 0, ..one },
            Intrafile { unit_bytes: 0, ..one },
            Intrafile { unit_bytes: 4095, ..one },
            Intrafile { file_bytes: 0, ..one },
            Intrafile { files: u64::MAX, file_bytes: 8192, ..one },
        ] {
            assert!(wrong.round(0).is_err(), "{wrong:?}");
        }
    }
}

//! Divides a trace between several processes, on machines that share one file system.
//!
//! All files of a directory belong to one process, so their operations keep their order without communication. One process
//! creates the directories; a run that creates some ends before any process works in them.

use serde::{Deserialize, Serialize};
use trace::{DirId, Op};

use crate::Error;

/// The part of a trace that one of several processes applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Shard {
    /// The number of the process, starting at 0.
    #[serde(rename = "part")]
    pub rank: u32,
    /// Number of processes.
    #[serde(rename = "parts")]
    pub ranks: u32,
}

impl Shard {
    /// The whole trace, for a single process.
    pub const WHOLE: Shard = Shard { rank: 0, ranks: 1 };

    /// Whether the files of a directory belong to this process.
    pub fn contains(self, dir: DirId) -> bool {
        // Mixed (Fibonacci hashing), because the threads of a process take the numbers in turn.
        (dir.0.wrapping_mul(0x9e37_79b9) >> 16) % self.ranks == self.rank
    }

    /// Whether this process creates the directories; the others only record them.
    pub(crate) fn makes_directories(self) -> bool {
        self.rank == 0
    }

    /// Replaces `picked` by the operations of `ops` that belong to this process.
    pub(crate) fn pick(self, ops: &[Op], picked: &mut Vec<Op>) -> crate::Result<()> {
        picked.clear();
        for op in ops {
            let its = match *op {
                Op::Mkdir { .. } => true,
                Op::Create { parent, .. }
                | Op::Write { parent, .. }
                | Op::Append { parent, .. }
                | Op::Truncate { parent, .. }
                | Op::Punch { parent, .. }
                | Op::Delete { parent, .. }
                | Op::Fsync { parent, .. } => self.contains(parent),
                Op::Rename { parent, to_parent, .. }
                | Op::Link { parent, to_parent, .. }
                | Op::Clone { parent, to_parent, .. }
                    if parent == to_parent =>
                {
                    self.contains(parent)
                }
                Op::Rename { .. }
                | Op::Link { .. }
                | Op::Clone { .. }
                | Op::Rmdir { .. }
                | Op::Snapshot { .. }
                | Op::DeleteSnapshot { .. }
                | Op::Checkpoint { .. } => {
                    return Err(Error::NotShared { op: op.to_string() });
                }
            };
            if its {
                picked.push(*op);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::FileId;

    #[test]
    fn directories_are_distributed_evenly() {
        for ranks in [1, 2, 3, 7] {
            let mut counts = vec![0; ranks as usize];
            for dir in (0..7000).map(DirId) {
                let owners: Vec<u32> =
                    (0..ranks).filter(|&rank| Shard { rank, ranks }.contains(dir)).collect();
                assert_eq!(owners.len(), 1);
                counts[owners[0] as usize] += 1;
            }
            let even = 7000 / ranks;
            assert!(counts.iter().all(|&n| n > even * 9 / 10 && n < even * 11 / 10), "{counts:?}");
        }
    }

    #[test]
    fn operations_on_several_directories_are_rejected() {
        let (file, to_file) = (FileId(1), FileId(2));
        let rename = |to_parent| Op::Rename { file, parent: DirId(1), to_file, to_parent };
        let mut picked = Vec::new();
        let shard = Shard { rank: 0, ranks: 2 };
        shard.pick(&[rename(DirId(1))], &mut picked).unwrap();
        for op in [rename(DirId(2)), Op::Rmdir { dir: DirId(2), parent: DirId(1) }] {
            let error = shard.pick(&[op], &mut picked).unwrap_err().to_string();
            assert!(error.contains(&op.to_string()), "{error}");
        }
    }
}

//! Files that are written at the same time: the operations of several programs take turns.

use crate::History;
use crate::geometry::BLOCK_BYTES;
use crate::history::below;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use std::collections::VecDeque;
use trace::{BATCH, Error, FileId, Op, Source};

/// Bytes of a write call: a block of the fast file system, which is what buffered output of programs writes at once.
const PIECE_BYTES: u64 = BLOCK_BYTES;

/// A history of which several operations are under way at the same time. A file is written in pieces, and each next piece belongs to a random
/// one of the operations. Operations on the same file keep their order, and all are complete at a checkpoint or a new directory.
pub struct Interleaved {
    history: History,
    concurrency: usize,
    random: ChaCha8Rng,
    waiting: VecDeque<Op>,
    /// The remaining pieces of the operations under way, none empty.
    active: Vec<VecDeque<Op>>,
}

impl Interleaved {
    /// A history with up to `concurrency` operations at the same time, at least 1.
    pub fn new(history: History, concurrency: usize, seed: u64) -> Interleaved {
        let (waiting, active) = (VecDeque::new(), Vec::new());
        let concurrency = concurrency.max(1);
        Interleaved { history, concurrency, random: ChaCha8Rng::seed_from_u64(seed), waiting, active }
    }

    /// Begins waiting operations, in their order.
    fn admit(&mut self) {
        while self.active.len() < self.concurrency
            && let Some(op) = self.waiting.front()
        {
            // The end of a day, and a new directory, are alone.
            let file = file_of(op);
            let is_busy = |pieces: &VecDeque<Op>| file.is_none() || file_of(&pieces[0]) == file;
            if self.active.iter().any(is_busy) {
                return;
            }
            let op = self.waiting.pop_front().expect("an operation waits");
            self.active.push(pieces(op));
            if file.is_none() {
                return;
            }
        }
    }

    /// The next piece of a random operation.
    fn next_piece(&mut self) -> Option<Op> {
        let count = self.active.len() as u64;
        if count == 0 {
            return None;
        }
        let chosen = below(&mut self.random, count) as usize;
        let piece = self.active[chosen].pop_front();
        if self.active[chosen].is_empty() {
            self.active.swap_remove(chosen);
        }
        piece
    }
}

impl Source for Interleaved {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        batch.clear();
        let mut more = Vec::with_capacity(BATCH);
        while batch.len() < BATCH {
            if self.waiting.len() < BATCH {
                self.history.next_batch(&mut more)?;
                self.waiting.extend(more.drain(..));
            }
            self.admit();
            match self.next_piece() {
                Some(piece) => batch.push(piece),
                None => break,
            }
        }
        Ok(())
    }
}

/// The file that an operation of a history changes.
fn file_of(op: &Op) -> Option<FileId> {
    match *op {
        Op::Create { file, .. }
        | Op::Append { file, .. }
        | Op::Truncate { file, .. }
        | Op::Delete { file, .. } => Some(file),
        _ => None,
    }
}

/// An operation in pieces.
fn pieces(op: Op) -> VecDeque<Op> {
    let (file, parent, len) = match op {
        Op::Create { file, parent, size, .. } => (file, parent, size),
        Op::Append { file, parent, len } => (file, parent, len),
        _ => return VecDeque::from([op]),
    };
    let first = match op {
        Op::Create { content, .. } => Op::Create { file, parent, size: len.min(PIECE_BYTES), content },
        _ => Op::Append { file, parent, len: len.min(PIECE_BYTES) },
    };
    let further = (PIECE_BYTES..len).step_by(PIECE_BYTES as usize);
    let further = further.map(|done| Op::Append { file, parent, len: PIECE_BYTES.min(len - done) });
    std::iter::once(first).chain(further).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// The files at each checkpoint, with their sizes.
    fn nights(mut source: impl Source) -> Vec<HashMap<FileId, u64>> {
        let (mut files, mut nights, mut batch) = (HashMap::new(), Vec::new(), Vec::new());
        loop {
            source.next_batch(&mut batch).unwrap();
            if batch.is_empty() {
                return nights;
            }
            for op in &batch {
                match *op {
                    Op::Create { file, size, .. } => assert_eq!(files.insert(file, size), None),
                    Op::Append { file, len, .. } => *files.get_mut(&file).unwrap() += len,
                    Op::Truncate { file, size, .. } => *files.get_mut(&file).unwrap() = size,
                    Op::Delete { file, .. } => drop(files.remove(&file).unwrap()),
                    Op::Checkpoint { .. } => nights.push(files.clone()),
                    _ => {}
                }
            }
        }
    }

    fn history() -> History {
        History::with_shape(32 << 20, crate::HistoryShape { days: 4, ..Default::default() }, 7)
    }

    #[test]
    fn each_night_has_the_files_of_the_history() {
        let expected = nights(history());
        assert_eq!(expected.len(), 4);
        for concurrency in [1, 5] {
            assert!(nights(Interleaved::new(history(), concurrency, 7)) == expected, "{concurrency}");
        }
    }

    #[test]
    fn several_files_grow_at_the_same_time() {
        let switches = |concurrency| {
            let (mut source, mut batch) = (Interleaved::new(history(), concurrency, 7), Vec::new());
            source.next_batch(&mut batch).unwrap();
            let grows = |pair: &&[Op]| matches!(pair[1], Op::Append { len: PIECE_BYTES, .. });
            let others = |pair: &&[Op]| file_of(&pair[0]) != file_of(&pair[1]);
            batch.windows(2).filter(grows).filter(others).count()
        };
        assert_eq!(switches(1), 0);
        assert!(switches(5) > 10, "{}", switches(5));
    }
}

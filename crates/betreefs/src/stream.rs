//! Sequential reads. A program that reads files in name order reads keys in order. A scan that continues from read to read lets the store read
//! ahead, and reads the buffers of a node once instead of once per block lookup.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use betree::{Scan, Store};
use parking_lot::Mutex;

use crate::error::Result;
use crate::key;

/// This many reads in ascending order start a scan.
const RISING: u32 = 3;
/// Maximum number of blocks to skip; a larger gap is not a sequential read.
const SKIPPED: usize = 32;

/// The running scan, if any.
#[derive(Default)]
pub(crate) struct Stream {
    state: Mutex<StreamState>,
    running: AtomicBool,
    /// The file that the scan read last, as a hash; other readers of that file wait for the lock.
    file: AtomicU64,
    /// Number of written batches.
    writes: AtomicU64,
}

#[derive(Default)]
struct StreamState {
    /// The key of the last read, and the number of ascending reads before it.
    last: Vec<u8>,
    rising: u32,
    running: Option<Running>,
}

struct Running {
    scan: Scan,
    /// The number of written batches when the scan started; the scan does not see later ones.
    writes: u64,
    /// No key exists between this one and the current entry of the scan; the scan has passed, or never covered, the keys before it.
    from: Vec<u8>,
}

impl Stream {
    /// Must be called after a batch was written, before its result is reported.
    pub fn wrote(&self) {
        self.writes.fetch_add(1, SeqCst);
        // A scan keeps old space on the disk from being reused. A running reader detects the write itself.
        if self.running.load(SeqCst)
            && let Some(mut state) = self.state.try_lock()
        {
            self.stop(&mut state);
        }
    }

    fn stop(&self, state: &mut StreamState) {
        state.running = None;
        state.rising = 0;
        self.running.store(false, SeqCst);
    }

    /// Passes the stored blocks of a file to `add` and returns true; returns false if the read is not sequential, or if a sequential read of
    /// another file is running.
    pub fn read(
        &self,
        store: &Store,
        prefix: &[u8],
        blocks: &Range<u64>,
        mut add: impl FnMut(u64, &[u8]),
    ) -> Result<bool> {
        let file = hash(prefix);
        let mut state = match self.state.try_lock() {
            Some(state) => state,
            None if self.file.load(SeqCst) == file => self.state.lock(),
            None => return Ok(false),
        };
        let read = self.read_on(&mut state, store, prefix, blocks, &mut add);
        self.file.store(if let Ok(true) = read { file } else { 0 }, SeqCst);
        if read.is_err() {
            // The scan has ended; the next read must meet the error again, not an apparent hole.
            self.stop(&mut state);
        }
        read
    }

    fn read_on(
        &self,
        state: &mut StreamState,
        store: &Store,
        prefix: &[u8],
        blocks: &Range<u64>,
        add: &mut impl FnMut(u64, &[u8]),
    ) -> Result<bool> {
        let writes = self.writes.load(SeqCst);
        let first = key::data(prefix, blocks.start);
        if state.running.as_ref().is_some_and(|running| running.writes != writes) {
            self.stop(state);
        }
        if state.running.is_none() {
            state.rising = if state.last < first { state.rising + 1 } else { 0 };
            state.last.clone_from(&first);
            if state.rising < RISING {
                return Ok(false);
            }
            let (_, end) = key::below(key::DATA, &[]);
            let mut scan = store.scan(&first, Some(&end));
            scan.read_sequentially();
            let mut running = Running { scan, writes, from: first.clone() };
            running.step()?;
            state.running = Some(running);
            self.running.store(true, SeqCst);
        }
        let running = state.running.as_mut().expect("the scan was just started");
        if first < running.from {
            return Ok(false);
        }
        let mut skipped = 0;
        while running.is_before(&first) {
            if skipped == SKIPPED {
                self.stop(state);
                state.last = first;
                return Ok(false);
            }
            skipped += 1;
            running.step()?;
        }
        let end = key::data(prefix, blocks.end);
        let last = key::data(prefix, blocks.end - 1);
        while let Some((key, value)) = running.scan.entry()
            && key < &*end
        {
            if let Some((_, block)) = key::split_data(key) {
                add(block, value);
            }
            // The next read may need the rest of the last block.
            if key == last {
                break;
            }
            running.step()?;
        }
        Ok(true)
    }
}

fn hash(prefix: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(prefix)
}

impl Running {
    fn is_before(&self, key: &[u8]) -> bool {
        self.scan.entry().is_some_and(|(at, _)| at < key)
    }

    fn step(&mut self) -> Result<()> {
        if let Some((passed, _)) = self.scan.entry() {
            self.from.clear();
            // The smallest key behind the current one.
            self.from.extend_from_slice(passed);
            self.from.push(0);
        }
        self.scan.next_entry()?;
        Ok(())
    }
}

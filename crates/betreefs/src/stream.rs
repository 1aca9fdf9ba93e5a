//! Reading on where the last read ended. Whoever reads files in the order of their names reads keys in their order; a scan that is kept from
//! read to read lets the store read ahead, and buffers of nodes once and not piece by piece, as looking up each block does not.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use betree::{Scan, Store};
use parking_lot::Mutex;

use crate::error::Result;
use crate::key;

/// So many reads, each behind the one before, begin a scan.
const RISING: u32 = 3;
/// So many blocks are passed over; what lies farther ahead is no reading on.
const SKIPPED: usize = 32;

/// The scan, if there is one.
#[derive(Default)]
pub(crate) struct Stream {
    state: Mutex<State>,
    running: AtomicBool,
    /// The file that was read last by the scan, by its hash: who reads on there waits for his turn.
    file: AtomicU64,
    /// How many batches were written.
    writes: AtomicU64,
}

#[derive(Default)]
struct State {
    /// Where the last read began, and how many rose before it.
    last: Vec<u8>,
    rising: u32,
    running: Option<Running>,
}

struct Running {
    scan: Scan,
    /// What was written when it began: what is written since it does not see.
    writes: u64,
    /// No key lies from here up to that of the entry that the scan is at; what lies before, it has passed or never seen.
    from: Vec<u8>,
}

impl Stream {
    /// To be called when a batch was written, before anybody is told.
    pub fn wrote(&self) {
        self.writes.fetch_add(1, SeqCst);
        // It would keep places on the disk from being used again. Whoever reads just now finds out himself.
        if self.running.load(SeqCst)
            && let Some(mut state) = self.state.try_lock()
        {
            self.stop(&mut state);
        }
    }

    fn stop(&self, state: &mut State) {
        state.running = None;
        state.rising = 0;
        self.running.store(false, SeqCst);
    }

    /// Gives the blocks of a file that are there to `add`, and true; or does nothing, and false, if the read is none that goes on, or one of another file
    /// does so now.
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
            // The scan is at its end; whoever asks again is to meet the error again, and not what looks like a hole.
            self.stop(&mut state);
        }
        read
    }

    fn read_on(
        &self,
        state: &mut State,
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
            scan.read_far();
            let mut running = Running { scan, writes, from: first.clone() };
            running.step()?;
            state.running = Some(running);
            self.running.store(true, SeqCst);
        }
        let running = state.running.as_mut().expect("it was just begun");
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
            // The last one may be read once more, for the rest of it.
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
            // The least key behind it.
            self.from.extend_from_slice(passed);
            self.from.push(0);
        }
        self.scan.next_entry()?;
        Ok(())
    }
}

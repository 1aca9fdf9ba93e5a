//! Random choice of files by threads. The state of each file is whether it exists and how many threads have it open; a thread takes a
//! random file by changing its state, without a lock.

use super::random::Random;
use std::sync::atomic::{AtomicU32, Ordering};

/// The file does not exist.
const MISSING: u32 = 0;

/// A thread is creating or deleting the file.
const BUSY: u32 = 1;

/// The file exists and no thread has it open; each thread that opens it adds one.
const IDLE: u32 = 2;

/// Number of random tries before all files are tried in order: if a fifth of the files match, all tries fail once in a thousand
/// cases.
const CHANCES: u32 = 31;

/// The states of the files of a set.
pub(super) struct FileStates(Box<[AtomicU32]>);

impl FileStates {
    /// The states of files that exist or not, as given.
    pub fn new(there: impl Iterator<Item = bool>) -> FileStates {
        FileStates(there.map(|there| AtomicU32::new(if there { IDLE } else { MISSING })).collect())
    }

    /// Takes an existing file, which stays until it is [released](FileStates::release).
    pub fn take_existing(&self, random: &mut Random) -> Option<usize> {
        self.take(random, |state| (state >= IDLE).then(|| state + 1))
    }

    /// Marks a file as closed by this thread.
    pub fn release(&self, file: usize) {
        self.0[file].fetch_sub(1, Ordering::Release);
    }

    /// Takes a missing file, to create it.
    pub fn take_missing(&self, random: &mut Random) -> Option<usize> {
        self.take(random, |state| (state == MISSING).then_some(BUSY))
    }

    /// Takes an existing file that no thread has open, to delete it.
    pub fn take_idle(&self, random: &mut Random) -> Option<usize> {
        self.take(random, |state| (state == IDLE).then_some(BUSY))
    }

    /// Marks a file taken for creation as created and open.
    pub fn made(&self, file: usize) {
        self.0[file].store(IDLE + 1, Ordering::Release);
    }

    /// Marks a taken file as missing.
    pub fn gone(&self, file: usize) {
        self.0[file].store(MISSING, Ordering::Release);
    }

    /// Marks a file taken for deletion as still existing.
    pub fn stays(&self, file: usize) {
        self.0[file].store(IDLE, Ordering::Release);
    }

    /// Takes a file whose state `change` accepts, and changes its state.
    fn take(&self, random: &mut Random, change: impl Fn(u32) -> Option<u32>) -> Option<usize> {
        let files = self.0.len();
        let chance = |random: &mut Random| random.below(files as u64) as usize;
        let try_take = |file: &usize| {
            let state = &self.0[*file];
            let now = state.load(Ordering::Relaxed);
            let next = change(now)?;
            state.compare_exchange(now, next, Ordering::AcqRel, Ordering::Relaxed).ok()
        };
        let found = (0..CHANCES).map(|_| chance(random)).find(|file| try_take(file).is_some());
        found.or_else(|| {
            let start = chance(random);
            (start..files).chain(0..start).find(|file| try_take(file).is_some())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_chosen_by_their_state() {
        let choice = FileStates::new([true, false].into_iter());
        let mut random = Random::new(1, 1);
        assert_eq!(choice.take_existing(&mut random), Some(0));
        assert_eq!(choice.take_idle(&mut random), None, "the file is open");
        assert_eq!(choice.take_missing(&mut random), Some(1));
        assert_eq!(choice.take_missing(&mut random), None, "the file is being created");
        choice.made(1);
        choice.release(1);
        choice.release(0);
        let mut taken = [choice.take_idle(&mut random), choice.take_idle(&mut random)];
        taken.sort();
        assert_eq!((taken, choice.take_existing(&mut random)), ([Some(0), Some(1)], None));
        choice.gone(0);
        choice.stays(1);
        assert_eq!(choice.take_existing(&mut random), Some(1));
    }

    /// All files are equally likely, found at random or in order.
    #[test]
    fn every_file_is_found() {
        let choice = FileStates::new((0..1000).map(|file| file == 777));
        let mut random = Random::new(1, 1);
        assert_eq!(choice.take_idle(&mut random), Some(777));
        let choice = FileStates::new((0..10).map(|_| true));
        let mut counts = [0; 10];
        for _ in 0..10_000 {
            let file = choice.take_existing(&mut random).unwrap();
            counts[file] += 1;
            choice.release(file);
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    /// No file is created or deleted twice at the same time, whatever the threads do.
    #[test]
    fn threads_never_take_the_same_file() {
        let choice = FileStates::new((0..8).map(|_| false));
        let owners: Vec<AtomicU32> = (0..8).map(|_| AtomicU32::new(0)).collect();
        std::thread::scope(|threads| {
            for thread in 0..4 {
                let (choice, owners) = (&choice, &owners);
                threads.spawn(move || {
                    let mut random = Random::new(5, thread);
                    for _ in 0..20_000 {
                        let Some(file) = choice.take_missing(&mut random) else { continue };
                        assert_eq!(owners[file].fetch_add(1, Ordering::SeqCst), 0);
                        owners[file].fetch_sub(1, Ordering::SeqCst);
                        choice.made(file);
                        choice.release(file);
                        if let Some(file) = choice.take_idle(&mut random) {
                            assert_eq!(owners[file].fetch_add(1, Ordering::SeqCst), 0);
                            owners[file].fetch_sub(1, Ordering::SeqCst);
                            choice.gone(file);
                        }
                    }
                });
            }
        });
    }
}

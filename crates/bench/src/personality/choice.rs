//! Which file a thread takes. Of each file it is known whether it is there and how many have it open; a thread takes one at random
//! by changing that, without a lock.

use super::random::Random;
use std::sync::atomic::{AtomicU32, Ordering};

/// The file is not there.
const MISSING: u32 = 0;

/// A thread makes or deletes it just now.
const BUSY: u32 = 1;

/// It is there and nobody has it open; each who has it open is one more.
const IDLE: u32 = 2;

/// So many files are looked at by chance before all are looked at in turn: where a fifth can be taken, all of them fail once in
/// a thousand times.
const CHANCES: u32 = 31;

/// The files of a set.
pub(super) struct Choice(Box<[AtomicU32]>);

impl Choice {
    /// Files of which it is told whether they are there.
    pub fn new(there: impl Iterator<Item = bool>) -> Choice {
        Choice(there.map(|there| AtomicU32::new(if there { IDLE } else { MISSING })).collect())
    }

    /// A file that is there, which stays as long as it is not [put back](Choice::release).
    pub fn take_existing(&self, random: &mut Random) -> Option<usize> {
        self.take(random, |state| (state >= IDLE).then(|| state + 1))
    }

    /// The end of having a file open.
    pub fn release(&self, file: usize) {
        self.0[file].fetch_sub(1, Ordering::Release);
    }

    /// A file that is not there, to be made.
    pub fn take_missing(&self, random: &mut Random) -> Option<usize> {
        self.take(random, |state| (state == MISSING).then_some(BUSY))
    }

    /// A file that is there and that nobody has open, to be deleted.
    pub fn take_idle(&self, random: &mut Random) -> Option<usize> {
        self.take(random, |state| (state == IDLE).then_some(BUSY))
    }

    /// The file that was taken to be made is there, and open.
    pub fn made(&self, file: usize) {
        self.0[file].store(IDLE + 1, Ordering::Release);
    }

    /// The file that was taken is not there.
    pub fn gone(&self, file: usize) {
        self.0[file].store(MISSING, Ordering::Release);
    }

    /// The file that was taken to be deleted is still there.
    pub fn stays(&self, file: usize) {
        self.0[file].store(IDLE, Ordering::Release);
    }

    /// Takes a file whose state may change to another.
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
    fn files_are_chosen_by_what_they_are() {
        let choice = Choice::new([true, false].into_iter());
        let mut random = Random::new(1, 1);
        assert_eq!(choice.take_existing(&mut random), Some(0));
        assert_eq!(choice.take_idle(&mut random), None, "it is open");
        assert_eq!(choice.take_missing(&mut random), Some(1));
        assert_eq!(choice.take_missing(&mut random), None, "it is being made");
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

    /// All are as likely, whether they are found by chance or in turn.
    #[test]
    fn every_file_is_found() {
        let choice = Choice::new((0..1000).map(|file| file == 777));
        let mut random = Random::new(1, 1);
        assert_eq!(choice.take_idle(&mut random), Some(777));
        let choice = Choice::new((0..10).map(|_| true));
        let mut counts = [0; 10];
        for _ in 0..10_000 {
            let file = choice.take_existing(&mut random).unwrap();
            counts[file] += 1;
            choice.release(file);
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    /// No file is made twice or deleted twice at once, whatever the threads do beside each other.
    #[test]
    fn threads_never_have_the_same_file() {
        let choice = Choice::new((0..8).map(|_| false));
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

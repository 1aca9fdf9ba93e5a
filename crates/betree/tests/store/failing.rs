//! A disk on which one call fails, or panics: callers get an error, nobody waits forever, and what was synced stays.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use senesce_betree::{Error, FailingStorage, Failure, MemoryStorage, Result, Store};

use crate::crash::{ROOMY, STEPS, batch, fresh, options, verify};

const FAILURES: [Failure; 3] = [Failure::Errno(5), Failure::Errno(28), Failure::Panic];

/// Runs `work` for a caller who survives a panic of a read of its own.
fn survive<T>(work: impl FnOnce() -> Result<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()?.ok()
}

/// Writes, syncs and reads until a write fails; returns the last synced step and the last attempted one.
fn script(disk: &Arc<FailingStorage>, contiguous_leaves: bool) -> (usize, usize) {
    let open = || Store::open(disk.clone(), options(contiguous_leaves));
    let Some(store) = survive(open) else { return (0, 0) };
    let scan = || {
        for _ in 0..6 {
            survive(|| store.scan(b"", None).try_for_each(|entry| entry.map(drop)));
        }
    };
    // Two read the same, so that one waits for what the other loads.
    let steps = std::thread::scope(|scope| {
        (0..2).for_each(|_| drop(scope.spawn(scan)));
        write(&store)
    });
    if survive(|| store.close()).is_some() { (steps.1, steps.1) } else { steps }
}

fn write(store: &Store) -> (usize, usize) {
    let mut synced = 0;
    for step in 1..=STEPS {
        if survive(|| store.write(&batch(step))).is_none() {
            return (synced, step);
        }
        // Occasionally so much is written between two syncs that the log drops records.
        if step % 3 == 0 && step % 60 < 30 {
            if survive(|| store.sync()).is_none() {
                return (synced, step);
            }
            synced = step;
        }
        if step % 90 == 0 {
            survive(|| store.checkpoint());
        }
    }
    (synced, STEPS)
}

/// Fails the calls from `first` on, `step` apart, until the script ends before the next one; returns how many.
fn fail_calls(first: u64, step: usize) -> u64 {
    let mut failed = 0;
    for failure in FAILURES {
        for contiguous_leaves in [false, true] {
            for at in (first..).step_by(step) {
                let disk = Arc::new(FailingStorage::of(fresh(ROOMY), at, failure));
                let steps = script(&disk, contiguous_leaves);
                let image = MemoryStorage::of(disk.image());
                if let Err(why) = verify(image, steps) {
                    panic!("call {at}, {failure:?}, {contiguous_leaves}: {why}");
                }
                if !disk.has_failed() {
                    break;
                }
                failed += 1;
            }
        }
    }
    failed
}

#[test]
fn failure_of_every_thirtieth_call_ends_no_wait_and_loses_nothing_synced() {
    assert!(fail_calls(3, 30) > 30);
}

/// Whoever waits for a thread that panicked is told, and so is whoever comes later.
#[test]
fn panic_of_a_thread_is_reported_once_and_makes_the_store_read_only() {
    for at in 0.. {
        let disk = Arc::new(FailingStorage::of(fresh(ROOMY), at, Failure::Panic));
        let Some(store) = survive(|| Store::open(disk.clone(), options(true))) else { continue };
        let mut errors: Vec<Error> = (1..STEPS).filter_map(|step| store.write(&batch(step)).err()).collect();
        errors.extend([store.sync(), store.checkpoint()].into_iter().filter_map(Result::err));
        let told = errors.iter().filter(|error| matches!(error, Error::Panicked(_))).count();
        let refused = errors.iter().filter(|error| matches!(error, Error::ReadOnly(_))).count();
        assert_eq!((told, refused), (1, errors.len() - 1), "call {at}: {errors:?}");
        assert!(matches!(store.close(), Err(Error::ReadOnly(_))));
        break;
    }
}

mod soak {
    use super::*;

    #[test]
    #[ignore = "soak: 15 s"]
    fn failure_of_any_call_ends_no_wait_and_loses_nothing_synced() {
        assert!(fail_calls(0, 1) > 1000);
    }
}

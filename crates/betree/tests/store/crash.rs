//! Power cuts, and a disk whose writes start to fail.

use std::sync::Arc;

use senesce_betree::{Batch, CrashStorage, Error, MemoryStorage, Options, Params, PowerCut, Store, check};

use crate::model::{Model, bytes, key, patch, range};
use crate::small;

pub const STEPS: usize = 260;

fn params() -> Params {
    Params { log_bytes: 32 << 10, ..small() }
}

pub fn options(contiguous_leaves: bool) -> Options {
    Options { cache_bytes: 64 << 10, contiguous_leaves, ..Options::default() }
}

/// Bytes of a large image, and of two so small that checkpoints occur whenever space is needed, even while a memtable is partly in the tree.
pub const ROOMY: u64 = 2 << 20;
const TIGHT: [u64; 2] = [440 << 10, 340 << 10];

pub fn fresh(bytes: u64) -> Vec<u8> {
    let disk = MemoryStorage::new(bytes);
    Store::create(&disk, params()).unwrap();
    disk.image()
}

/// The writes of one step, which include the step number.
pub fn batch(step: usize) -> Batch {
    let mut batch = Batch::new();
    let k = (step * 7919 % 211) as u16;
    match step % 8 {
        0 => batch.delete(&key(k)),
        1 => batch.patch(&key(k), 100, &bytes(step, 60)),
        2 if step % 24 == 2 => {
            let (a, b) = range(k, 20);
            batch.delete_range(&a, &b)
        }
        3 => batch.insert(&key(k), &bytes(step, 2000)),
        _ => batch.insert(&key(k), &bytes(step, 300)).insert(&key(k + 1), &bytes(step, 10)),
    };
    batch.insert(b"step", &(step as u32).to_le_bytes());
    batch
}

/// The content of the store after the first `steps` steps.
fn model(steps: usize) -> Model {
    let mut model = Model::new();
    for step in 1..=steps {
        let k = (step * 7919 % 211) as u16;
        match step % 8 {
            0 => drop(model.remove(&key(k))),
            1 => patch(&mut model, key(k), 100, &bytes(step, 60)),
            2 if step % 24 == 2 => {
                let (a, b) = range(k, 20);
                model.retain(|key, _| *key < a || *key >= b);
            }
            3 => drop(model.insert(key(k), bytes(step, 2000))),
            _ => {
                model.insert(key(k), bytes(step, 300));
                model.insert(key(k + 1), bytes(step, 10));
            }
        }
        model.insert(b"step".to_vec(), (step as u32).to_le_bytes().to_vec());
    }
    model
}

/// Runs the script until the power cut; returns the last synced step and the last attempted one.
fn script(disk: &Arc<CrashStorage>, contiguous_leaves: bool) -> (usize, usize) {
    let mut synced = 0;
    let Ok(store) = Store::open(disk.clone(), options(contiguous_leaves)) else { return (0, 0) };
    for step in 1..=STEPS {
        if store.write(&batch(step)).is_err() {
            return (synced, step);
        }
        // Occasionally so much is written between two syncs that the log drops records.
        if if step % 60 > 30 { step % 60 == 59 } else { step % 3 == 0 } {
            if store.sync().is_err() {
                return (synced, step);
            }
            synced = step;
        }
        if step % 90 == 0 {
            let _ = store.checkpoint();
        }
    }
    if store.close().is_ok() {
        synced = STEPS;
    }
    (synced, STEPS)
}

/// Opens the disk after a cut and returns an error if its content is wrong.
pub fn verify(image: MemoryStorage, (synced, tried): (usize, usize)) -> Result<(), String> {
    let disk = Arc::new(image);
    check(disk.clone()).and_then(|found| found.result()).map_err(|e| format!("before the recovery: {e}"))?;
    let store = Store::open(disk.clone(), options(tried % 2 == 0)).map_err(|e| e.to_string())?;
    let step = store.get(b"step").map_err(|e| e.to_string())?;
    let step = step.map_or(0, |step| u32::from_le_bytes(step.try_into().unwrap()) as usize);
    if !(synced..=tried).contains(&step) {
        return Err(format!("step {synced} was synced, {tried} tried, and {step} is there"));
    }
    let found: Result<Model, Error> = store.scan(b"", None).collect();
    if found.map_err(|e| e.to_string())? != model(step) {
        return Err(format!("it is not as it was after step {step}"));
    }
    store.close().map_err(|e| e.to_string())?;
    check(disk).and_then(|found| found.result()).map_err(|e| format!("after the recovery: {e}"))
}

fn cuts(n: u64) -> [PowerCut; 5] {
    let seed = n * 5 + 1;
    [
        PowerCut::KeepNone,
        PowerCut::KeepAll,
        PowerCut::SomeWrites(seed),
        PowerCut::SomeSectors(seed),
        PowerCut::SomeSectors(seed + 1),
    ]
}

fn writes(fresh: &[u8], contiguous_leaves: bool) -> u64 {
    let disk = Arc::new(CrashStorage::of(fresh.to_vec()));
    script(&disk, contiguous_leaves);
    disk.writes()
}

/// Cuts the power at the writes from `first` on, `step` apart. Each cut loses unflushed writes in another way, or in `ways` of the five.
fn cut_at_writes(fresh: &[u8], (first, step): (u64, usize), ways: usize, round: u64) {
    for contiguous_leaves in [false, true] {
        for n in (first..writes(fresh, contiguous_leaves)).step_by(step) {
            let disk = Arc::new(CrashStorage::of(fresh.to_vec()));
            disk.cut_power_at(n);
            let steps = script(&disk, contiguous_leaves);
            let cuts = cuts(n + round * 1000);
            for cut in cuts.iter().cycle().skip((n % 5) as usize).take(ways) {
                if let Err(why) = verify(disk.after(*cut), steps) {
                    panic!("cut at write {n}, {cut:?}, {contiguous_leaves}: {why}");
                }
            }
        }
    }
}

#[test]
fn power_cut_at_every_seventh_write_keeps_synced_data() {
    cut_at_writes(&fresh(ROOMY), (0, 7), 1, 0);
}

#[test]
fn power_cut_at_every_seventh_write_to_a_small_disk_keeps_synced_data() {
    for (bytes, first) in TIGHT.into_iter().zip([0, 3]) {
        cut_at_writes(&fresh(bytes), (first, 7), 1, 0);
    }
}

#[test]
fn power_cut_during_recovery_is_harmless() {
    cut_the_recovery(&fresh(ROOMY), (10, 17), 3);
}

/// Cuts the power at the writes from `first` on, `step` apart, and each time again at the first writes of the recovery, `again` apart.
fn cut_the_recovery(fresh: &[u8], (first, step): (u64, usize), again: usize) {
    for n in (first..writes(fresh, false)).step_by(step) {
        let disk = Arc::new(CrashStorage::of(fresh.to_vec()));
        disk.cut_power_at(n);
        let steps = script(&disk, n % 2 == 0);
        let image = disk.after(PowerCut::SomeSectors(n)).image();
        for m in (0..24).step_by(again) {
            let again = Arc::new(CrashStorage::of(image.clone()));
            again.cut_power_at(m);
            drop(Store::open(again.clone(), options(m % 2 == 0)));
            if let Err(why) = verify(again.after(PowerCut::SomeSectors(m)), steps) {
                panic!("cut at write {n}, and at write {m} of the recovery: {why}");
            }
        }
    }
}

#[test]
fn disk_that_ignores_flushes_is_detected() {
    let fresh = fresh(ROOMY);
    let mut found = 0;
    for n in (20..writes(&fresh, false)).step_by(20) {
        let disk = Arc::new(CrashStorage::of(fresh.clone()));
        disk.ignore_flushes();
        disk.cut_power_at(n);
        let steps = script(&disk, n % 2 == 0);
        let cuts = [PowerCut::KeepNone, PowerCut::SomeWrites(n), PowerCut::SomeSectors(n)];
        found += cuts.iter().filter(|cut| verify(disk.after(**cut), steps).is_err()).count();
    }
    assert!(found > 10, "the tests do not detect a disk that loses flushed data");
}

#[test]
fn failed_write_is_reported_once_and_makes_the_store_read_only() {
    let disk = Arc::new(CrashStorage::of(fresh(ROOMY)));
    let store = Store::open(disk.clone(), options(false)).unwrap();
    store.insert(b"early", b"1").unwrap();
    store.sync().unwrap();
    disk.fail_writes(Some(5));
    store.insert(b"late", b"2").unwrap();
    let first = store.sync().unwrap_err();
    assert!(matches!(first, Error::Io { errno: Some(5), .. }), "{first}");
    for error in [store.sync(), store.insert(b"later", b"3"), store.checkpoint(), store.delete(b"early")] {
        let error = error.unwrap_err();
        assert!(matches!(error, Error::ReadOnly(_)), "{error}");
    }
    // The store stays read-only if the disk recovers by itself: it is unknown which writes were lost.
    disk.fail_writes(None);
    assert!(matches!(store.insert(b"later", b"3"), Err(Error::ReadOnly(_))));
    assert_eq!(store.get(b"early").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(store.scan(b"", None).count(), 2);
    drop(store);
    let store = Store::open(Arc::new(disk.after(PowerCut::KeepAll)), options(true)).unwrap();
    assert_eq!(store.get(b"early").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn disk_failure_during_a_checkpoint_is_reported() {
    let disk = Arc::new(CrashStorage::of(fresh(ROOMY)));
    let store = Store::open(disk.clone(), options(false)).unwrap();
    disk.fail_writes(Some(5));
    let mut errors = Vec::new();
    for step in 1..STEPS {
        errors.extend(store.write(&batch(step)).err());
    }
    errors.extend(store.checkpoint().err());
    assert!(matches!(errors[0], Error::Io { errno: Some(5), .. }), "{:?}", errors[0]);
    assert!(errors[1..].iter().all(|error| matches!(error, Error::ReadOnly(_))));
}

mod soak {
    use super::*;
    use crate::times;

    fn cut_at_every_write(fresh: &[u8]) {
        for round in 0..times(2).into() {
            cut_at_writes(fresh, (0, 1), 5, round);
        }
    }

    #[test]
    #[ignore = "soak: cuts the power at every write, in five ways"]
    fn power_cut_at_any_write_keeps_synced_data() {
        cut_at_every_write(&fresh(ROOMY));
    }

    #[test]
    #[ignore = "soak: cuts the power at every write, in five ways"]
    fn power_cut_at_any_write_to_a_small_disk_keeps_synced_data() {
        for bytes in TIGHT {
            cut_at_every_write(&fresh(bytes));
        }
    }

    #[test]
    #[ignore = "soak: cuts the power at many writes, and at every write of each recovery"]
    fn power_cut_at_any_write_of_a_recovery_is_harmless() {
        cut_the_recovery(&fresh(ROOMY), (10, 5), 1);
    }
}

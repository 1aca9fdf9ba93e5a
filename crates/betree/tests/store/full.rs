//! A full disk: writes that do not fit fail, accepted ones are kept, and deletes free space.

use std::sync::Arc;
use std::time::Duration;

use senesce_betree::{Error, MemoryStorage, Options, Params, Store, check};

/// 8 MiB with about 500 slots.
fn params() -> Params {
    Params { block_bytes: 512, node_bytes: 16 << 10, basement_bytes: 2 << 10, fanout: 8, log_bytes: 64 << 10 }
}

fn value(i: u32, len: usize) -> Vec<u8> {
    (0..len as u32).map(|j| (i.wrapping_mul(31) + j) as u8).collect()
}

/// On a busy machine the read-ahead of a scan may hold an older tree for long; writes wait for it as long as the test runs.
fn options(cache_bytes: usize) -> Options {
    Options { cache_bytes, reader_timeout: Duration::from_secs(3600), ..Options::default() }
}

/// Keys in an order that looks random.
fn key(i: u32) -> [u8; 8] {
    u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

fn fill_empty_and_fill_again(len: usize, key: impl Fn(u32) -> [u8; 8]) {
    for contiguous_leaves in [false, true] {
        fill_and_empty(len, &key, Options { contiguous_leaves, ..options(256 << 10) });
    }
}

fn fill_and_empty(len: usize, key: impl Fn(u32) -> [u8; 8], options: Options) {
    let disk = Arc::new(MemoryStorage::new(8 << 20));
    Store::create(&*disk, params()).unwrap();
    let mut store = Store::open(disk.clone(), options).unwrap();
    let mut last = 0;
    for round in 0..3 {
        let mut count = 0;
        let error = loop {
            match store.insert(&key(count), &value(count, len)) {
                Ok(()) => count += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::NoSpace { .. }), "{options:?}, round {round}: {error}");
        store.sync().unwrap_or_else(|e| {
            panic!("{options:?}, {len} bytes, round {round}: a full store is not damaged: {e}")
        });
        assert!(
            count as usize * (len + 16) > 3 << 20,
            "{options:?}: only {count} values of {len} bytes fit into 8 MiB"
        );
        assert!(
            round == 0 || count * 10 >= last * 7,
            "{options:?}: space leaked: {last} values at first, then {count}"
        );
        last = count;
        // Refused writes have no effect, and accepted ones exist, now and after closing.
        for reopened in [false, true] {
            if reopened {
                store.close().unwrap();
                check(disk.clone()).unwrap().result().unwrap();
                store = Store::open(disk.clone(), options).unwrap();
            }
            for i in (0..count).step_by(13) {
                assert_eq!(store.get(&key(i)).unwrap(), Some(value(i, len)), "value {i} of {count}");
            }
            assert_eq!(store.scan(b"", None).count(), count as usize);
        }
        for i in 0..count {
            store.delete(&key(i)).unwrap();
        }
        store.checkpoint().unwrap();
        assert_eq!(store.scan(b"", None).count(), 0);
    }
    store.close().unwrap();
    check(disk).unwrap().result().unwrap();
}

#[test]
fn disk_full_of_small_random_values_recovers_by_deletes() {
    fill_empty_and_fill_again(60, key);
}

#[test]
fn disk_full_of_large_random_values_recovers_by_deletes() {
    fill_empty_and_fill_again(1500, key);
}

#[test]
fn disk_full_of_ordered_values_recovers_by_deletes() {
    fill_empty_and_fill_again(300, |i| u64::from(i).to_be_bytes());
}

#[test]
fn one_range_delete_empties_a_full_disk() {
    let disk = Arc::new(MemoryStorage::new(8 << 20));
    Store::create(&*disk, params()).unwrap();
    let store = Store::open(disk, options(256 << 10)).unwrap();
    let free = store.stat().unwrap().free_slots;
    let fill = || (0..).find(|i| store.insert(&key(*i), &value(*i, 200)).is_err()).unwrap();
    let count = fill();
    store.delete_range(&[0], &[255; 9]).unwrap();
    assert_eq!(store.scan(b"", None).count(), 0);
    store.reclaim().unwrap();
    // The read-ahead of the scan may hold the previous tree for a moment.
    let what = format!("four fifths of the {free} slots that were free at first");
    testing::wait_until(&what, || store.stat().unwrap().free_slots * 5 >= free * 4);
    let again = fill();
    assert!(again * 10 >= count * 9, "{count} fitted at first, {again} then");
}

#[test]
fn data_in_memory_uses_space_that_deletes_free() {
    let disk = Arc::new(MemoryStorage::new(8 << 20));
    Store::create(&*disk, params()).unwrap();
    let store = Store::open(disk, options(8 << 20)).unwrap();
    let before = store.free_bytes();
    // Less than the flusher applies to the tree without a request.
    for i in 0..3 {
        store.insert(&key(i), &value(i, 1000)).unwrap();
    }
    let after = store.free_bytes();
    assert!(after + 3000 <= before, "{before} bytes before, {after} bytes after writing 3000");
    for i in 3..1500 {
        store.insert(&key(i), &value(i, 1000)).unwrap();
    }
    store.checkpoint().unwrap();
    let full = store.free_bytes();
    store.delete_range(&[0; 8], &[0xff; 9]).unwrap();
    store.reclaim().unwrap();
    let empty = store.free_bytes();
    assert!(
        full + (1 << 20) < empty && before < empty + (1 << 20),
        "{before} at first, {full} full, {empty} empty"
    );
}

/// A snapshot holds the space of data deleted after it. Writes to a full store wait until it is dropped, or for `reader_timeout`.
#[test]
fn full_store_waits_for_readers_up_to_the_given_timeout() {
    for (timeout, waits) in [(Duration::from_millis(50), false), (Duration::from_secs(3600), true)] {
        let disk = Arc::new(MemoryStorage::new(8 << 20));
        Store::create(&*disk, params()).unwrap();
        let store = Store::open(disk, Options { reader_timeout: timeout, ..options(256 << 10) }).unwrap();
        let fill = |add: u32| (0..).find(|i| store.insert(&key(*i), &value(i + add, 200)).is_err()).unwrap();
        let count = fill(0);
        let snapshot = store.snapshot();
        if waits {
            let (tell, told) = std::sync::mpsc::channel();
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    told.recv().unwrap();
                    drop(snapshot);
                });
                store.delete_range(&[0], &[255; 9]).unwrap();
                tell.send(()).unwrap();
                let again = fill(1);
                assert!(again * 10 >= count * 9, "{count} fitted at first, {again} then");
            });
        } else {
            store.delete_range(&[0], &[255; 9]).unwrap();
            let again = fill(1);
            assert!(again * 10 < count * 9, "{count} values at first, {again} with a snapshot");
            assert_eq!(snapshot.scan(b"", None).count() as u32, count);
        }
    }
}

/// All leaves grow alike, so that many rows need one more slot at about the same time; the shorter the values, the more rows.
#[test]
fn rows_that_grow_together_leave_space_for_copies() {
    for len in [21, 22] {
        fill_and_empty(len, key, Options { contiguous_leaves: true, ..options(256 << 10) });
    }
}

mod soak {
    use super::*;

    #[test]
    #[ignore = "minutes; make soak"]
    fn disk_full_of_values_of_any_size_recovers_by_deletes() {
        for len in (20..100).step_by(3) {
            fill_empty_and_fill_again(len, key);
        }
    }
}

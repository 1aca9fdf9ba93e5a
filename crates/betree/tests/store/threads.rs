//! Many readers beside a writer, and many concurrent syncs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use senesce_betree::{Batch, CrashStorage, Error, MemoryStorage, Options, Params, PowerCut, Store, check};

use crate::small;

fn open(bytes: u64, cache_bytes: usize) -> Arc<Store> {
    let disk = Arc::new(MemoryStorage::new(bytes));
    Store::create(&*disk, small()).unwrap();
    Arc::new(Store::open(disk, Options { cache_bytes, ..Options::default() }).unwrap())
}

#[test]
fn readers_see_a_consistent_state_during_writes() {
    let store = open(16 << 20, 256 << 10);
    let stop = AtomicBool::new(false);
    // Each round sets all keys to its number in one batch: no reader may see two numbers.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let values: Vec<_> = store.scan(b"k", Some(b"l")).map(|entry| entry.unwrap().1).collect();
                    assert!(values.len() == 100 || values.is_empty());
                    assert!(
                        values.windows(2).all(|pair| pair[0] == pair[1]),
                        "a scan returned an incomplete batch"
                    );
                    let snapshot = store.snapshot();
                    assert_eq!(snapshot.get(b"k00").unwrap(), snapshot.get(b"k99").unwrap());
                }
            });
        }
        for round in 0..400u32 {
            let mut batch = Batch::new();
            if round % 7 == 0 {
                batch.delete_range(b"k", b"l");
            }
            for i in 0..100 {
                batch.insert(format!("k{i:02}").as_bytes(), &round.to_le_bytes());
            }
            for i in 0..40u32 {
                store.insert(&(i * round).to_be_bytes(), &[7; 200]).unwrap();
            }
            store.write(&batch).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    Arc::into_inner(store).unwrap().close().unwrap();
}

#[test]
fn concurrent_syncs_share_flushes_and_lose_nothing() {
    let disk = MemoryStorage::new(16 << 20);
    Store::create(&disk, small()).unwrap();
    let disk = Arc::new(CrashStorage::of(disk.image()));
    let store = Store::open(disk.clone(), Options { cache_bytes: 1 << 20, ..Options::default() }).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let store = &store;
            scope.spawn(move || {
                for i in 0..150u32 {
                    store.insert(&[&[thread][..], &i.to_be_bytes()].concat(), &[thread; 50]).unwrap();
                    store.sync().unwrap();
                }
            });
        }
    });
    let after = Arc::new(disk.after(PowerCut::KeepNone));
    let store = Store::open(after.clone(), Options::default()).unwrap();
    assert_eq!(store.scan(b"", None).count(), 600);
    store.close().unwrap();
    check(after).unwrap().result().unwrap();
}

#[test]
fn memory_stays_within_its_budget() {
    let disk = Arc::new(MemoryStorage::new(64 << 20));
    let params = Params {
        block_bytes: 4096,
        node_bytes: 64 << 10,
        basement_bytes: 8 << 10,
        fanout: 8,
        log_bytes: 4 << 20,
    };
    Store::create(&*disk, params).unwrap();
    let budget = 4 << 20;
    let store = Store::open(disk, Options { cache_bytes: budget, ..Options::default() }).unwrap();
    for i in 0..150_000u64 {
        store.insert(&i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes(), &[5; 100]).unwrap();
    }
    assert_eq!(store.scan(b"", None).count(), 150_000);
    for i in (0..150_000u64).step_by(101) {
        assert!(store.get(&i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()).unwrap().is_some());
    }
    let (_, peak) = store.memory_bytes();
    assert!(peak * 10 <= budget * 12, "{peak} bytes of {budget}");
}

#[test]
fn oversized_writes_fail_and_name_the_limit() {
    let store = open(16 << 20, 1 << 20);
    let params = *store.params();
    let long = vec![1; params.max_key_bytes() + 1];
    let refused = [
        store.insert(&long, b""),
        store.insert(b"k", &vec![0; params.max_value_bytes() + 1]),
        store.patch(b"k", params.max_value_bytes() as u32, b"x"),
        store.patch(b"k", u32::MAX, b"x"),
        store.delete_range(b"b", b"a"),
    ];
    for error in refused {
        assert!(matches!(error, Err(Error::Limit(_))));
    }
    store.insert(&long[1..], &vec![3; params.max_value_bytes()]).unwrap();
    store.insert(b"", b"the empty key").unwrap();
    assert_eq!(store.get(&long[1..]).unwrap().unwrap().len(), params.max_value_bytes());
    assert_eq!(store.scan(b"", None).count(), 2);
}

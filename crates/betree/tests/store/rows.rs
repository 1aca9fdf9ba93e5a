//! A store in rows: a scan reads little more than the live data, whatever was deleted.

use std::io;
use std::sync::{Arc, Mutex};

use senesce_betree::{MemoryStorage, Options, Params, Stat, Storage, Store, check, stat};

/// A disk that records the offsets of reads.
struct Recorded {
    disk: MemoryStorage,
    reads: Mutex<Vec<u64>>,
}

impl Storage for Recorded {
    fn len(&self) -> io::Result<u64> {
        self.disk.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.reads.lock().unwrap().push(offset);
        self.disk.read_at(buffer, offset)
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        self.disk.write_at(buffer, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.disk.flush()
    }
}

fn params() -> Params {
    Params {
        block_bytes: 512,
        node_bytes: 64 << 10,
        basement_bytes: 4 << 10,
        fanout: 8,
        log_bytes: 512 << 10,
    }
}

const VALUE: usize = 1500;

fn key(i: u32) -> [u8; 4] {
    i.to_be_bytes()
}

/// Inserts `count` values in order, reopens the store, applies `change` and closes it.
fn changed(count: u32, change: impl FnOnce(&Store)) -> Stat {
    let disk = Arc::new(MemoryStorage::new(16 << 20));
    Store::create(&*disk, params()).unwrap();
    let options = Options { cache_bytes: 1 << 20, contiguous_leaves: true, ..Options::default() };
    let store = Store::open(disk.clone(), options).unwrap();
    for i in 0..count {
        store.insert(&key(i), &[i as u8; VALUE]).unwrap();
    }
    store.close().unwrap();
    let store = Store::open(disk.clone(), options).unwrap();
    change(&store);
    store.close().unwrap();
    check(disk.clone()).unwrap().result().unwrap();
    stat(disk).unwrap()
}

/// Bytes of the leaves of `count` values.
fn leaves(count: u32) -> u64 {
    changed(count, |_| ()).levels[0].bytes
}

#[test]
fn range_delete_leaves_no_data_in_partly_covered_leaves() {
    // About 40 values per leaf: from the middle of one leaf, over a whole one if the range is long enough, to the middle of another.
    for (from, to) in [(500, 540), (505, 530), (700, 820), (20, 60), (1960, 1999)] {
        let left = changed(2000, |store| store.delete_range(&key(from), &key(to)).unwrap());
        let (bytes, expected) = (left.levels[0].bytes, leaves(2000 - (to - from)));
        assert!(
            bytes * 100 <= expected * 101,
            "{bytes} bytes of leaves after deleting {from} to {to}, expected {expected}"
        );
    }
}

#[test]
fn single_deletes_leave_no_data_in_leaves() {
    let left = changed(2000, |store| (900..1000).for_each(|i| store.delete(&key(i)).unwrap()));
    let (bytes, expected) = (left.levels[0].bytes, leaves(1900));
    assert!(bytes * 100 <= expected * 101, "{bytes} bytes of leaves, expected {expected}");
}

/// Otherwise rows of one or two leaves are left, each with a last leaf that is half empty.
#[test]
fn rows_that_shrink_become_one() {
    let left = changed(6000, |store| {
        // In an order that spreads over all leaves.
        for i in (0..6000).map(|i| i * 4999 % 6000).filter(|i| i % 3 != 0) {
            store.delete(&key(i)).unwrap();
        }
    });
    let full = leaves(2000).div_ceil(64 << 10);
    let (nodes, rows) = (left.levels[0].nodes, left.levels[1].nodes);
    assert!(nodes * 100 <= full * 125 && rows * 4 <= nodes, "{rows} rows of {nodes} leaves, {full} if full");
}

#[test]
fn cold_scan_reads_inner_nodes_once() {
    let disk = Arc::new(Recorded { disk: MemoryStorage::new(16 << 20), reads: Mutex::default() });
    Store::create(&*disk, params()).unwrap();
    let options = Options { cache_bytes: 4 << 20, contiguous_leaves: true, ..Options::default() };
    let store = Store::open(disk.clone(), options).unwrap();
    for i in 0..2000 {
        store.insert(&key(i), &[i as u8; VALUE]).unwrap();
    }
    store.close().unwrap();
    let above = stat(disk.clone()).unwrap().levels[1].nodes;
    assert!(above > 4, "{above} nodes above the leaves");
    let store = Store::open(disk.clone(), options).unwrap();
    disk.reads.lock().unwrap().clear();
    assert_eq!(store.scan(b"", None).map(Result::unwrap).count(), 2000);
    // Inner nodes are at the end of the disk; the leaves fill a quarter of it.
    let reads = disk.reads.lock().unwrap().clone();
    let there = reads.iter().filter(|at| **at > 12 << 20).count();
    assert!(there <= 2, "{there} of {} reads are of inner nodes: {reads:?}", reads.len());
}

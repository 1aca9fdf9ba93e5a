//! Numeric guarantees of a store: sizes of keys and values, shared flushes, time to open.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use rustix::time::{ClockId, clock_gettime};
use senesce_betree::{FileStorage, MemoryStorage, Options, Params, Storage, Store, check};

use crate::small;

#[test]
fn keys_of_64_kib_and_values_of_1_mib_fit_into_nodes_of_4_mib() {
    let params = Params { log_bytes: 16 << 20, ..Params::for_image(1 << 30) };
    assert_eq!((params.max_key_bytes(), params.max_value_bytes()), (64 << 10, 1 << 20));
    assert!(params.node_bytes == 4 << 20 && (64 << 10..=128 << 10).contains(&params.basement_bytes));
    let disk = Arc::new(MemoryStorage::new(224 << 20));
    Store::create(&*disk, params).unwrap();
    let options = Options { cache_bytes: 24 << 20, ..Options::default() };
    let store = Store::open(disk.clone(), options).unwrap();
    let key = |i: u8| [&[i.wrapping_mul(53)][..], &vec![i; (64 << 10) - 1]].concat();
    for i in 0..60 {
        store.insert(&key(i), &vec![i; 1 << 20]).unwrap();
    }
    for i in 0..20 {
        store.delete(&key(i)).unwrap();
        store.patch(&key(20 + i), (1 << 20) - 1, &[255]).unwrap();
    }
    let right = |i: u8, value: &[u8]| {
        value.len() == 1 << 20 && value[0] == i && *value.last().unwrap() == if i < 40 { 255 } else { i }
    };
    for i in 20..60 {
        assert!(right(i, &store.get(&key(i)).unwrap().unwrap()));
    }
    store.close().unwrap();
    check(disk.clone()).unwrap().result().unwrap();
    let store = Store::open(disk, options).unwrap();
    let found: Vec<_> = store.scan(b"", None).map(Result::unwrap).collect();
    assert_eq!(found.len(), 40);
    assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!(found.iter().all(|(key, value)| key.len() == 64 << 10 && right(key[1], value)));
}

/// A disk in memory that can block flushes, or all writes from an offset on, and counts the bytes written before that offset.
struct BlockingDisk {
    disk: MemoryStorage,
    flushes: AtomicU64,
    flushes_held: AtomicBool,
    written: AtomicU64,
    /// The offset from which writes can be blocked, and whether they are.
    from: u64,
    held: AtomicBool,
}

impl BlockingDisk {
    fn of(disk: MemoryStorage, from: u64) -> Arc<Self> {
        let (flushes, flushes_held, written, held) = Default::default();
        Arc::new(Self { disk, flushes, flushes_held, written, from, held })
    }
}

fn wait_while(held: &AtomicBool) {
    while held.load(Relaxed) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

impl Storage for BlockingDisk {
    fn len(&self) -> io::Result<u64> {
        self.disk.len()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.disk.read_at(buffer, offset)
    }
    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        if offset >= self.from {
            wait_while(&self.held);
            return self.disk.write_at(buffer, offset);
        }
        self.disk.write_at(buffer, offset)?;
        self.written.fetch_add(buffer.len() as u64, Relaxed);
        Ok(())
    }
    fn flush(&self) -> io::Result<()> {
        self.flushes.fetch_add(1, Relaxed);
        wait_while(&self.flushes_held);
        self.disk.flush()
    }
}

#[test]
fn concurrent_syncs_share_one_flush() {
    let disk = MemoryStorage::new(16 << 20);
    Store::create(&disk, small()).unwrap();
    let disk = BlockingDisk::of(disk, u64::MAX);
    let store = Store::open(disk.clone(), Options::default()).unwrap();
    let before = disk.flushes.load(Relaxed);
    disk.flushes_held.store(true, Relaxed);
    let (threads, inserted) = (8u8, AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (store, inserted) = (&store, &inserted);
            scope.spawn(move || {
                store.insert(&[thread], b"value").unwrap();
                inserted.fetch_add(1, Relaxed);
                store.sync().unwrap();
            });
        }
        testing::wait_until("an insert of each thread", || inserted.load(Relaxed) == threads.into());
        disk.flushes_held.store(false, Relaxed);
    });
    // The flush of the first thread, and one for all that arrived during it.
    let flushes = disk.flushes.load(Relaxed) - before;
    assert!(flushes <= 2, "{threads} concurrent syncs took {flushes} flushes");
}

/// Fills a log of 64 MiB as far as possible before a checkpoint, then opens the store that a power cut would leave. Returns the processor
/// time of the open in seconds.
fn opened_with_a_full_log() -> f64 {
    const LOG: u64 = 64 << 20;
    let params = Params { log_bytes: LOG, ..Params::for_image(512 << 20) };
    let disk = MemoryStorage::new(512 << 20);
    Store::create(&disk, params).unwrap();
    // Writes of nodes are blocked, so that no checkpoint completes.
    let disk = BlockingDisk::of(disk, LOG + (1 << 20));
    let options = Options { cache_bytes: 256 << 20, ..Options::default() };
    let store = Store::open(disk.clone(), options).unwrap();
    disk.held.store(true, Relaxed);
    // The store must be able to close even if the test fails.
    let _released = Released(&disk.held);
    let inserted = 400_000;
    for i in 0..inserted {
        store.insert(&(i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes(), &[7; 92]).unwrap();
    }
    store.sync().unwrap();
    let written = disk.written.load(Relaxed);
    assert!(written > LOG * 2 / 3, "only {written} bytes of the log were written");
    let began = thread_cpu_seconds();
    let again = Store::open(Arc::new(MemoryStorage::of(disk.disk.image())), options).unwrap();
    let took = thread_cpu_seconds() - began;
    assert_eq!(again.scan(b"", None).count(), inserted);
    took
}

/// Ends the blocking on drop.
struct Released<'a>(&'a AtomicBool);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
}

/// Processor time of this thread in seconds, independent of other threads.
fn thread_cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[test]
fn full_log_is_replayed() {
    opened_with_a_full_log();
}

#[test]
fn large_unsynced_writes_are_written_once_and_survive() {
    let disk = Arc::new(MemoryStorage::new(512 << 20));
    Store::create(&*disk, Params::for_image(512 << 20)).unwrap();
    let options = Options { cache_bytes: 64 << 20, contiguous_leaves: true, ..Options::default() };
    let store = Store::open(disk.clone(), options).unwrap();
    let given = 128u64 << 20;
    for i in 0..given >> 16 {
        store.insert(&i.to_be_bytes(), &[i as u8; 64 << 10]).unwrap();
    }
    store.sync().unwrap();
    let left = MemoryStorage::of(disk.image());
    // Only data that was not in the tree at the sync may be in the log, and little else.
    let log_bytes = store.stat().unwrap().log_bytes;
    assert!(log_bytes < given / 4, "{log_bytes} bytes of the log for {given}");
    // The log continues to work.
    store.insert(b"small", b"value").unwrap();
    store.sync().unwrap();
    let later = MemoryStorage::of(disk.image());
    for (left, more) in [(left, 0), (later, 1)] {
        let again = Store::open(Arc::new(left), options).unwrap();
        let found = again.scan(b"", None).map(Result::unwrap);
        assert_eq!(
            found.filter(|(key, value)| key == b"small" || value.len() == 64 << 10).count() as u64,
            (given >> 16) + more
        );
    }
}

#[test]
fn store_file_is_locked_by_one_process() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    let open = || FileStorage::open(&path).map(Arc::new);
    let disk = Arc::new(FileStorage::create(&path, 16 << 20).unwrap());
    Store::create(&*disk, small()).unwrap();
    let store = Store::open(disk.clone(), Options::default()).unwrap();
    store.insert(b"key", b"value").unwrap();
    assert!(open().unwrap_err().to_string().contains("another process"));
    store.close().unwrap();
    drop(disk);
    let store = Store::open(open().unwrap(), Options::default()).unwrap();
    assert_eq!(store.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    store.close().unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(9 << 20).unwrap();
    let error = Store::open(open().unwrap(), Options::default()).err().unwrap();
    assert!(error.to_string().contains("truncated"), "{error}");
}

mod soak {
    use super::*;

    #[test]
    #[ignore = "soak: measures processor time"]
    fn full_log_of_64_mib_is_replayed_within_5_seconds() {
        let took = opened_with_a_full_log();
        println!("opening a store with a full log of 64 MiB took {took:.2} s");
        assert!(took < 5.0, "opening took {took:.1} s");
    }
}

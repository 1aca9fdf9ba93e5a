//! Random operations on the store and on a `BTreeMap`, whose contents must stay equal.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use senesce_betree::{
    Batch, CrashStorage, MemoryStorage, Options, Params, PowerCut, Snapshot, Storage, Store, check,
};

use crate::small;

pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Debug, Clone)]
pub enum Op {
    Insert(u16, u16),
    Delete(u16),
    Patch(u16, u16, u16),
    DeleteRange(u16, u16),
    Batch(Vec<(u16, u16)>),
    /// Many inserts of adjacent keys.
    Row(u16, u16),
    Get(u16),
    Scan(u16, u16),
    Snapshot,
    LookAtSnapshot,
    Sync,
    Checkpoint,
    Reopen,
    /// A power cut; unflushed writes survive according to the seed.
    Crash(u64),
}

pub fn ops(keys: u16, most: usize) -> impl Strategy<Value = Vec<Op>> {
    long_ops(keys, most, 1)
}

/// The same with values `times` times as long.
fn long_ops(keys: u16, most: usize, times: u16) -> impl Strategy<Value = Vec<Op>> {
    let key = 0..keys;
    let op = prop_oneof![
        30 => (key.clone(), 0u16..900 * times).prop_map(|(k, n)| Op::Insert(k, n)),
        8 => key.clone().prop_map(Op::Delete),
        10 => (key.clone(), 0u16..600 * times, 1u16..300 * times).prop_map(|(k, at, n)| Op::Patch(k, at, n)),
        3 => (key.clone(), 1..keys / 8).prop_map(|(k, n)| Op::DeleteRange(k, n)),
        1 => (key.clone(), keys / 8..keys).prop_map(|(k, n)| Op::DeleteRange(k, n)),
        3 => prop::collection::vec((key.clone(), 0u16..200 * times), 1..10).prop_map(Op::Batch),
        4 => (key.clone(), 1u16..45).prop_map(|(k, n)| Op::Row(k, n)),
        8 => key.clone().prop_map(Op::Get),
        3 => (key.clone(), 0..keys).prop_map(|(k, n)| Op::Scan(k, n)),
        2 => Just(Op::Snapshot),
        2 => Just(Op::LookAtSnapshot),
        1 => Just(Op::Sync),
        1 => Just(Op::Checkpoint),
        1 => Just(Op::Reopen),
        1 => any::<u64>().prop_map(Op::Crash),
    ];
    prop::collection::vec(op, 1..most)
}

/// Keys of several lengths, in an order other than that of the numbers.
pub fn key(k: u16) -> Vec<u8> {
    let mut key = vec![b"aZ\x00\xff"[usize::from(k) % 4]];
    key.extend(k.to_be_bytes());
    key.resize(key.len() + usize::from(k) * 7 % 40, k as u8);
    key
}

/// Bytes that identify the operation.
pub fn bytes(step: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (step * 31 + i) as u8).collect()
}

pub fn patch(model: &mut Model, key: Vec<u8>, at: usize, bytes: &[u8]) {
    let value = model.entry(key).or_default();
    if value.len() < at + bytes.len() {
        value.resize(at + bytes.len(), 0);
    }
    value[at..at + bytes.len()].copy_from_slice(bytes);
}

pub fn range(k: u16, n: u16) -> (Vec<u8>, Vec<u8>) {
    let (a, b) = (key(k), key(k.saturating_add(n)));
    if a < b { (a, b) } else { (b, a) }
}

/// Alternates `contiguous_leaves`: a store may be opened with it and without it.
fn options(params: &Params, n: u64) -> Options {
    Options {
        cache_bytes: 12 * params.node_bytes as usize,
        contiguous_leaves: n % 2 == 1,
        ..Options::default()
    }
}

/// The key under which each write stores its number, so that after a crash the surviving writes can be counted.
const COUNT: &[u8] = b"which";

struct Run {
    params: Params,
    disk: Arc<CrashStorage>,
    store: Option<Store>,
    model: Model,
    snapshots: Vec<(Snapshot, Model)>,
    /// Writes so far, the content at the last sync, and the writes since then.
    writes: u64,
    synced: (u64, Model),
    since: Vec<(usize, Op)>,
}

/// Adds a write to a batch and applies it to the model.
fn write(step: usize, op: &Op, batch: &mut Batch, model: &mut Model) {
    match op {
        Op::Insert(k, n) => {
            let value = bytes(step, usize::from(*n));
            batch.insert(&key(*k), &value);
            model.insert(key(*k), value);
        }
        Op::Delete(k) => {
            if k % 2 == 0 {
                batch.delete(&key(*k))
            } else {
                batch.delete_sized(&key(*k), u32::from(*k))
            };
            model.remove(&key(*k));
        }
        Op::Patch(k, at, n) => {
            let piece = bytes(step, usize::from(*n));
            batch.patch(&key(*k), u32::from(*at), &piece);
            patch(model, key(*k), usize::from(*at), &piece);
        }
        Op::DeleteRange(k, n) => {
            let (a, b) = range(*k, *n);
            batch.delete_range(&a, &b);
            model.retain(|key, _| *key < a || *key >= b);
        }
        Op::Batch(writes) => {
            for (k, n) in writes {
                let op = if n % 3 == 0 { Op::Delete(*k) } else { Op::Insert(*k, *n) };
                write(step, &op, batch, model);
            }
        }
        Op::Row(k, n) => {
            for i in 0..*n {
                let key = [&key(*k)[..], &i.to_be_bytes()].concat();
                batch.insert(&key, &bytes(step, 100));
                model.insert(key, bytes(step, 100));
            }
        }
        _ => unreachable!("not a write"),
    }
}

impl Run {
    fn step(&mut self, step: usize, op: &Op) {
        let store = self.store.as_ref().unwrap();
        match op {
            Op::Get(k) => {
                assert_eq!(store.get(&key(*k)).unwrap().as_ref(), self.model.get(&key(*k)), "get of {k}");
            }
            Op::Scan(k, n) => {
                let (a, b) = range(*k, *n);
                let found: Vec<_> = store.scan(&a, Some(&b)).map(Result::unwrap).collect();
                let right: Vec<_> = self.model.range(a..b).map(|(k, v)| (k.clone(), v.clone())).collect();
                same(&found, &right);
            }
            Op::Snapshot => {
                if self.snapshots.len() == 2 {
                    self.snapshots.remove(0);
                }
                self.snapshots.push((store.snapshot(), self.model.clone()));
            }
            Op::LookAtSnapshot => {
                for (snapshot, model) in &self.snapshots {
                    whole(snapshot, model);
                }
            }
            Op::Sync => {
                store.sync().unwrap();
                self.is_synced();
            }
            Op::Checkpoint => {
                store.checkpoint().unwrap();
                self.is_synced();
            }
            Op::Reopen => {
                self.snapshots.clear();
                self.store.take().unwrap().close().unwrap();
                self.is_synced();
                check(self.disk.clone()).unwrap().result().unwrap();
                self.store =
                    Some(Store::open(self.disk.clone(), options(&self.params, self.writes)).unwrap());
            }
            Op::Crash(seed) => self.crash(*seed),
            op => {
                let mut batch = Batch::new();
                write(step, op, &mut batch, &mut self.model);
                self.writes += 1;
                batch.insert(COUNT, &self.writes.to_le_bytes());
                self.model.insert(COUNT.to_vec(), self.writes.to_le_bytes().to_vec());
                store.write(&batch).unwrap();
                self.since.push((step, op.clone()));
            }
        }
    }

    fn is_synced(&mut self) {
        self.synced = (self.writes, self.model.clone());
        self.since.clear();
    }

    /// Checks that synced writes, and a prefix of the later ones, survive.
    fn crash(&mut self, seed: u64) {
        self.snapshots.clear();
        let cut =
            if seed.is_multiple_of(2) { PowerCut::SomeSectors(seed) } else { PowerCut::SomeWrites(seed) };
        let left = self.disk.after(cut).image();
        // The old disk is unused from here on, whatever the closing store writes to it.
        drop(self.store.take());
        self.disk = Arc::new(CrashStorage::of(left));
        check(self.disk.clone()).unwrap().result().unwrap();
        let store = Store::open(self.disk.clone(), options(&self.params, seed)).unwrap();
        let found = store.get(COUNT).unwrap().map_or(0, |n| u64::from_le_bytes(n.try_into().unwrap()));
        let kept = found.checked_sub(self.synced.0).expect("synced writes survive") as usize;
        self.model = std::mem::take(&mut self.synced.1);
        for (step, op) in &self.since[..kept] {
            write(*step, op, &mut Batch::new(), &mut self.model);
        }
        if found > 0 {
            self.model.insert(COUNT.to_vec(), found.to_le_bytes().to_vec());
        }
        self.writes = found;
        whole(&store.snapshot(), &self.model);
        self.store = Some(store);
        self.is_synced();
    }
}

fn same(found: &[(Vec<u8>, Vec<u8>)], right: &[(Vec<u8>, Vec<u8>)]) {
    for (found, right) in found.iter().zip(right) {
        assert_eq!(found, right);
    }
    assert_eq!(found.len(), right.len());
}

/// Compares a snapshot with a model, by a scan and by a lookup of each key.
pub fn whole(snapshot: &Snapshot, model: &Model) {
    let found: Vec<_> = snapshot.scan(b"", None).map(Result::unwrap).collect();
    let right: Vec<_> = model.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    same(&found, &right);
    for (key, value) in model.iter().step_by(7) {
        assert_eq!(snapshot.get(key).unwrap().as_ref(), Some(value));
    }
}

fn run(ops: &[Op], params: Params) {
    let fresh = MemoryStorage::new(24 << 20);
    Store::create(&fresh, params).unwrap();
    let disk = Arc::new(CrashStorage::of(fresh.image()));
    let store = Some(Store::open(disk.clone(), options(&params, ops.len() as u64)).unwrap());
    let model = Model::new();
    let mut run = Run {
        params,
        disk,
        store,
        model,
        snapshots: Vec::new(),
        writes: 0,
        synced: (0, Model::new()),
        since: Vec::new(),
    };
    for (step, op) in ops.iter().enumerate() {
        run.step(step, op);
    }
    whole(&run.store.as_ref().unwrap().snapshot(), &run.model);
    for (snapshot, model) in &run.snapshots {
        whole(snapshot, model);
    }
    run.snapshots.clear();
    run.step(0, &Op::Reopen);
    whole(&run.store.as_ref().unwrap().snapshot(), &run.model);
}

/// Sizes for long values.
fn long() -> Params {
    Params { node_bytes: 64 << 10, basement_bytes: 16 << 10, log_bytes: 512 << 10, ..small() }
}

fn config() -> ProptestConfig {
    ProptestConfig { max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5, ..config() })]

    #[test]
    fn few_keys_with_many_writes_match_a_map(ops in ops(60, 1500)) {
        run(&ops, small());
    }

    #[test]
    fn many_keys_on_many_levels_match_a_map(ops in ops(6000, 4000)) {
        run(&ops, small());
    }

    /// Long values are shared in memory.
    #[test]
    fn long_values_match_a_map(ops in long_ops(40, 600, 16)) {
        run(&ops, long());
    }
}

#[test]
fn zeroed_disk_is_not_a_store() {
    let disk = Arc::new(MemoryStorage::new(1 << 20));
    let error = Store::open(disk.clone() as Arc<dyn Storage>, Options::default()).err().unwrap();
    assert!(error.to_string().contains("not a Bε-tree store"), "{error}");
}

mod soak {
    use super::*;
    use crate::times;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 10 * times(20), ..config() })]

        #[test]
        #[ignore = "soak: hundreds of random runs"]
        fn few_keys_with_many_writes_match_a_map(ops in ops(60, 1500)) {
            run(&ops, small());
        }

        #[test]
        #[ignore = "soak: hundreds of random runs"]
        fn many_keys_on_many_levels_match_a_map(ops in ops(6000, 4000)) {
            run(&ops, small());
        }

        /// Long values are shared in memory.
        #[test]
        #[ignore = "soak: hundreds of random runs"]
        fn long_values_match_a_map(ops in long_ops(40, 600, 16)) {
            run(&ops, long());
        }
    }
}

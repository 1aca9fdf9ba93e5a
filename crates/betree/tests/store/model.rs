//! Random operations, each also done to a `BTreeMap`: both must hold the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use senesce_betree::{Batch, MemoryStorage, Options, Snapshot, Storage, Store, check};

use crate::{small, times};

pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Debug, Clone)]
pub enum Op {
    Insert(u16, u16),
    Delete(u16),
    Patch(u16, u16, u16),
    DeleteRange(u16, u16),
    Batch(Vec<(u16, u16)>),
    /// Many inserts beside each other.
    Row(u16, u16),
    Get(u16),
    Scan(u16, u16),
    Snapshot,
    LookAtSnapshot,
    Sync,
    Checkpoint,
    Reopen,
}

pub fn ops(keys: u16, most: usize) -> impl Strategy<Value = Vec<Op>> {
    let key = 0..keys;
    let op = prop_oneof![
        30 => (key.clone(), 0u16..900).prop_map(|(k, n)| Op::Insert(k, n)),
        8 => key.clone().prop_map(Op::Delete),
        10 => (key.clone(), 0u16..600, 1u16..300).prop_map(|(k, at, n)| Op::Patch(k, at, n)),
        3 => (key.clone(), 1..keys / 8).prop_map(|(k, n)| Op::DeleteRange(k, n)),
        1 => (key.clone(), keys / 8..keys).prop_map(|(k, n)| Op::DeleteRange(k, n)),
        3 => prop::collection::vec((key.clone(), 0u16..200), 1..10).prop_map(Op::Batch),
        4 => (key.clone(), 1u16..60).prop_map(|(k, n)| Op::Row(k, n)),
        8 => key.clone().prop_map(Op::Get),
        3 => (key.clone(), 0..keys).prop_map(|(k, n)| Op::Scan(k, n)),
        2 => Just(Op::Snapshot),
        2 => Just(Op::LookAtSnapshot),
        1 => Just(Op::Sync),
        1 => Just(Op::Checkpoint),
        1 => Just(Op::Reopen),
    ];
    prop::collection::vec(op, 1..most)
}

/// Keys of several lengths, the order of which is not that of the numbers.
pub fn key(k: u16) -> Vec<u8> {
    let mut key = vec![b"aZ\x00\xff"[usize::from(k) % 4]];
    key.extend(k.to_be_bytes());
    key.resize(key.len() + usize::from(k) * 7 % 40, k as u8);
    key
}

/// Bytes that tell which operation they are of.
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

fn options() -> Options {
    Options { cache_bytes: 96 << 10 }
}

struct Run {
    disk: Arc<MemoryStorage>,
    store: Option<Store>,
    model: Model,
    snapshots: Vec<(Snapshot, Model)>,
}

impl Run {
    fn step(&mut self, step: usize, op: &Op) {
        let store = self.store.as_ref().unwrap();
        let model = &mut self.model;
        match op {
            Op::Insert(k, n) => {
                let value = bytes(step, usize::from(*n));
                store.insert(&key(*k), &value).unwrap();
                model.insert(key(*k), value);
            }
            Op::Delete(k) => {
                store.delete(&key(*k)).unwrap();
                model.remove(&key(*k));
            }
            Op::Patch(k, at, n) => {
                let piece = bytes(step, usize::from(*n));
                store.patch(&key(*k), u32::from(*at), &piece).unwrap();
                patch(model, key(*k), usize::from(*at), &piece);
            }
            Op::DeleteRange(k, n) => {
                let (a, b) = range(*k, *n);
                store.delete_range(&a, &b).unwrap();
                model.retain(|key, _| *key < a || *key >= b);
            }
            Op::Batch(writes) => {
                let mut batch = Batch::new();
                for (k, n) in writes {
                    if n % 3 == 0 {
                        batch.delete(&key(*k));
                        model.remove(&key(*k));
                    } else {
                        batch.insert(&key(*k), &bytes(step, usize::from(*n)));
                        model.insert(key(*k), bytes(step, usize::from(*n)));
                    }
                }
                store.write(&batch).unwrap();
            }
            Op::Row(k, n) => {
                for i in 0..*n {
                    let key = [&key(*k)[..], &i.to_be_bytes()].concat();
                    store.insert(&key, &bytes(step, 100)).unwrap();
                    model.insert(key, bytes(step, 100));
                }
            }
            Op::Get(k) => {
                assert_eq!(store.get(&key(*k)).unwrap().as_ref(), model.get(&key(*k)), "get of {k}")
            }
            Op::Scan(k, n) => {
                let (a, b) = range(*k, *n);
                let found: Vec<_> = store.scan(&a, Some(&b)).map(Result::unwrap).collect();
                let right: Vec<_> = model.range(a..b).map(|(k, v)| (k.clone(), v.clone())).collect();
                same(&found, &right);
            }
            Op::Snapshot => {
                if self.snapshots.len() == 2 {
                    self.snapshots.remove(0);
                }
                self.snapshots.push((store.snapshot(), model.clone()));
            }
            Op::LookAtSnapshot => {
                for (snapshot, model) in &self.snapshots {
                    whole(snapshot, model);
                }
            }
            Op::Sync => store.sync().unwrap(),
            Op::Checkpoint => store.checkpoint().unwrap(),
            Op::Reopen => {
                self.snapshots.clear();
                self.store.take().unwrap().close().unwrap();
                check(self.disk.clone()).unwrap().result().unwrap();
                self.store = Some(Store::open(self.disk.clone(), options()).unwrap());
            }
        }
    }
}

fn same(found: &[(Vec<u8>, Vec<u8>)], right: &[(Vec<u8>, Vec<u8>)]) {
    for (found, right) in found.iter().zip(right) {
        assert_eq!(found, right);
    }
    assert_eq!(found.len(), right.len());
}

/// Compares all that a snapshot holds, by a scan and by a look at each key.
pub fn whole(snapshot: &Snapshot, model: &Model) {
    let found: Vec<_> = snapshot.scan(b"", None).map(Result::unwrap).collect();
    let right: Vec<_> = model.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    same(&found, &right);
    for (key, value) in model.iter().step_by(7) {
        assert_eq!(snapshot.get(key).unwrap().as_ref(), Some(value));
    }
}

fn run(ops: &[Op]) {
    let disk = Arc::new(MemoryStorage::new(24 << 20));
    Store::create(&*disk, small()).unwrap();
    let store = Store::open(disk.clone(), options()).unwrap();
    let mut run = Run { disk, store: Some(store), model: Model::new(), snapshots: Vec::new() };
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 10 * times(), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_few_keys_that_are_written_often_are_as_in_a_map(ops in ops(60, 1500)) {
        run(&ops);
    }

    #[test]
    fn many_keys_on_many_levels_are_as_in_a_map(ops in ops(6000, 4000)) {
        run(&ops);
    }
}

#[test]
fn a_disk_of_zeros_is_no_store() {
    let disk = Arc::new(MemoryStorage::new(1 << 20));
    let error = Store::open(disk.clone() as Arc<dyn Storage>, options()).err().unwrap();
    assert!(error.to_string().contains("no Bε-tree store"), "{error}");
}

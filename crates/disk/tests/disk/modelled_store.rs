//! Compares the store of a modelled disk with an in-memory model under writes, discards, flushes, snapshots, rollbacks, kills and power
//! cuts.

use crate::common::{begin, is_root};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use senesce_disk::Mount;
use senesce_disk::modelled::{CHUNK_BYTES, Clock, DiskSettings, LostWrites, Store};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const SIZE: usize = 18 * CHUNK_BYTES;
const SECTOR: usize = 512;

#[derive(Clone, Debug)]
enum Step {
    Write {
        at: usize,
        len: usize,
        byte: u8,
    },
    Discard {
        at: usize,
        len: usize,
    },
    Flush,
    Snapshot,
    Rollback(usize),
    /// The process is killed and another one opens the store.
    Killed,
    /// The space of some free chunks is released.
    Reclaimed,
    Closed,
    PowerCut,
    PowerCutSome(u64),
    PowerCutTorn(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let range = || {
        (0..SIZE / SECTOR, 1..3 * CHUNK_BYTES / SECTOR)
            .prop_map(|(at, len)| (at * SECTOR, (len * SECTOR).min(SIZE - at * SECTOR)))
    };
    let chunks = (0usize..16, 1usize..4)
        .prop_map(|(at, len)| (at * CHUNK_BYTES, (len * CHUNK_BYTES).min(SIZE - at * CHUNK_BYTES)));
    prop_oneof![
        8 => (range(), 1u8..).prop_map(|((at, len), byte)| Step::Write { at, len, byte }),
        3 => range().prop_map(|(at, len)| Step::Discard { at, len }),
        3 => chunks.prop_map(|(at, len)| Step::Discard { at, len }),
        3 => Just(Step::Flush),
        2 => Just(Step::Snapshot),
        2 => any::<usize>().prop_map(Step::Rollback),
        1 => Just(Step::Killed),
        2 => Just(Step::Reclaimed),
        1 => Just(Step::Closed),
        1 => Just(Step::PowerCut),
        1 => any::<u64>().prop_map(Step::PowerCutSome),
        1 => any::<u64>().prop_map(Step::PowerCutTorn),
    ]
}

/// The expected contents of the disk.
struct Model {
    now: Vec<u8>,
    /// The contents at the last flush, and after each request since.
    since_flush: Vec<Vec<u8>>,
    snapshots: BTreeMap<String, Vec<u8>>,
}

impl Model {
    fn flush(&mut self) {
        self.since_flush = vec![self.now.clone()];
    }
}

fn contents(store: &Store) -> Vec<u8> {
    let mut scratch = Vec::new();
    (0..SIZE)
        .step_by(SIZE / 3)
        .flat_map(|at| store.read(at as u64, SIZE / 3, &mut scratch).unwrap().to_vec())
        .collect()
}

fn follow(dir: &Path, mut store: Store, steps: &[Step]) {
    let empty = vec![0; SIZE];
    let mut model = Model { now: empty.clone(), since_flush: vec![empty], snapshots: BTreeMap::new() };
    for step in steps {
        match step {
            Step::Write { at, len, byte } => {
                let data = vec![*byte; *len];
                store.write(*at as u64, &data).unwrap();
                model.now[*at..at + len].copy_from_slice(&data);
                model.since_flush.push(model.now.clone());
            }
            Step::Discard { at, len } => {
                store.discard(*at as u64, *len as u64).unwrap();
                model.now[*at..at + len].fill(0);
                model.since_flush.push(model.now.clone());
            }
            Step::Flush => {
                store.flush();
                model.flush();
            }
            Step::Snapshot => {
                let name = format!("s{}", model.snapshots.len());
                store.snapshot(&name).unwrap();
                model.flush();
                model.snapshots.insert(name, model.now.clone());
            }
            Step::Rollback(which) => {
                let Some((name, then)) = model.snapshots.iter().nth(which % (model.snapshots.len() + 1))
                else {
                    assert!(store.rollback("none").is_err());
                    continue;
                };
                store.rollback(name).unwrap();
                model.now = then.clone();
                model.flush();
            }
            Step::Killed => {
                drop(store);
                store = Store::open(dir).unwrap();
                model.flush();
            }
            Step::Reclaimed => {
                store.reclaim().unwrap();
            }
            Step::Closed => {
                store.close().unwrap();
                drop(store);
                store = Store::open(dir).unwrap();
                model.flush();
            }
            Step::PowerCut => {
                store.power_cut(LostWrites::All).unwrap();
                model.now = model.since_flush[0].clone();
                model.flush();
            }
            Step::PowerCutSome(seed) | Step::PowerCutTorn(seed) => {
                let torn = matches!(step, Step::PowerCutTorn(_));
                store
                    .power_cut(if torn { LostWrites::Torn(*seed) } else { LostWrites::Some(*seed) })
                    .unwrap();
                let after = contents(&store);
                for sector in (0..SIZE).step_by(SECTOR) {
                    let range = sector..sector + SECTOR;
                    let known =
                        model.since_flush.iter().any(|then| then[range.clone()] == after[range.clone()]);
                    assert!(known, "sector at {sector} holds data that it never held since the last flush");
                }
                model.now = after;
                model.flush();
            }
        }
        assert!(contents(&store) == model.now, "after {step:?}");
    }
    // Later steps must not change snapshots.
    for (name, then) in &model.snapshots {
        store.rollback(name).unwrap();
        assert!(contents(&store) == *then, "{name}");
    }
}

/// A directory on which syncing is cheap.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn new(dir: &Path, write_cache_bytes: u64) -> Store {
    let mut settings = DiskSettings::new(SIZE as u64, "ideal", Clock::Model);
    settings.write_cache_bytes = write_cache_bytes;
    Store::create(dir, &settings).unwrap();
    Store::open(dir).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn store_matches_model(steps in prop::collection::vec(step(), 1..40)) {
        let dir = in_memory();
        let store = new(dir.path(), 64 << 20);
        follow(dir.path(), store, &steps);
    }

    #[test]
    fn store_without_write_cache_matches_model(steps in prop::collection::vec(step(), 1..40)) {
        let dir = in_memory();
        let store = new(dir.path(), 0);
        let cut = |step: &Step| matches!(step, Step::PowerCut | Step::PowerCutSome(_) | Step::PowerCutTorn(_));
        let steps: Vec<_> = steps.into_iter().filter(|step| !cut(step)).collect();
        follow(dir.path(), store, &steps);
    }

    #[test]
    fn small_write_cache_loses_only_recent_writes(writes in prop::collection::vec((0usize..SIZE / SECTOR, 1u8..), 1..600)) {
        let dir = in_memory();
        let mut store = new(dir.path(), CHUNK_BYTES as u64);
        for (sector, byte) in &writes {
            store.write((sector * SECTOR) as u64, &[*byte; SECTOR]).unwrap();
        }
        store.power_cut(LostWrites::All).unwrap();
        let mut now = vec![0; SIZE];
        // The write cache holds as many sectors as fit into it.
        let old = writes.len().saturating_sub(CHUNK_BYTES / SECTOR);
        for (sector, byte) in &writes[..old] {
            now[sector * SECTOR..(sector + 1) * SECTOR].fill(*byte);
        }
        prop_assert!(contents(&store) == now);
    }
}

#[test]
fn store_on_a_file_system_without_fallocate_matches_model() {
    if !is_root() {
        return;
    }
    let session = begin();
    let ramfs = Mount::new(&session, Path::new("none"), "ramfs", &[]).unwrap();
    let mut runner = TestRunner::new(ProptestConfig::with_cases(24));
    let steps = prop::collection::vec(step(), 1..40);
    let checked = runner.run(&steps, |steps| {
        let dir = tempfile::tempdir_in(ramfs.dir()).unwrap();
        let store = new(dir.path(), 64 << 20);
        follow(dir.path(), store, &steps);
        Ok(())
    });
    checked.unwrap();
}

#[test]
fn discard_releases_space() {
    let dir = in_memory();
    let mut store = new(dir.path(), 64 << 20);
    let taken = || std::fs::metadata(dir.path().join("data")).unwrap().blocks() * 512;
    let reclaim = |store: &mut Store| while store.reclaim().unwrap() {};
    store.write(0, &vec![1; 8 * CHUNK_BYTES]).unwrap();
    assert_eq!(taken(), 8 * CHUNK_BYTES as u64);
    store.discard(0, 8 * CHUNK_BYTES as u64).unwrap();
    store.flush();
    assert_eq!(store.used_bytes(), 0);
    reclaim(&mut store);
    assert_eq!(taken(), 0);
    store.write(0, &vec![1; 8 * CHUNK_BYTES]).unwrap();
    store.snapshot("before").unwrap();
    store.write(0, &vec![2; 4 * CHUNK_BYTES]).unwrap();
    assert_eq!(taken(), 12 * CHUNK_BYTES as u64);
    store.rollback("before").unwrap();
    assert_eq!(store.used_bytes(), 8 * CHUNK_BYTES as u64);
    reclaim(&mut store);
    assert_eq!(taken(), 8 * CHUNK_BYTES as u64);
}

#[test]
fn missing_or_damaged_store_is_refused() {
    let dir = in_memory();
    let message = |dir: &Path| Store::open(dir).unwrap_err().to_string();
    assert!(message(dir.path()).contains("`senesce disk create` creates a store"), "{}", message(dir.path()));
    let store_dir = dir.path().join("disk");
    let mut store = new(&store_dir, 0);
    assert!(message(&store_dir).contains("another process serves it"), "{}", message(&store_dir));
    store.write(0, &[1; SECTOR]).unwrap();
    store.snapshot("s").unwrap();
    store.close().unwrap();
    drop(store);
    let settings = DiskSettings::new(SIZE as u64, "ideal", Clock::Model);
    let again = Store::create(&store_dir, &settings).unwrap_err().to_string();
    assert!(again.contains("it is not empty"), "{again}");
    for (file, damage) in [
        ("disk.json", &b"{}"[..]),
        ("map", b"senesmap"),
        ("data", b""),
        ("snapshots/s.map", b"what"),
        ("attached", b"another boot"),
        ("attached", b""),
    ] {
        let path = store_dir.join(file);
        let whole = std::fs::read(&path).ok();
        std::fs::write(&path, damage).unwrap();
        let said = message(&store_dir);
        assert!(said.starts_with(&format!("modelled disk {}", store_dir.display())), "{said}");
        assert!(!said.contains('\n'));
        whole.map_or_else(|| std::fs::remove_file(&path), |whole| std::fs::write(&path, whole)).unwrap();
    }
    Store::open(&store_dir).unwrap();
}

#[test]
fn invalid_settings_create_no_store() {
    let dir = in_memory();
    let store = dir.path().join("disk");
    assert!(Store::create(&store, &DiskSettings::new(17, "ideal", Clock::Model)).is_err());
    assert!(!store.exists());
}

#[test]
fn reused_chunk_reads_as_zeros() {
    let dir = in_memory();
    let mut store = new(dir.path(), 0);
    store.write(0, &vec![7; CHUNK_BYTES]).unwrap();
    store.discard(0, CHUNK_BYTES as u64).unwrap();
    // The space of the chunk is not released yet.
    store.write(SECTOR as u64, &[1; SECTOR]).unwrap();
    let mut expected = vec![0; CHUNK_BYTES];
    expected[SECTOR..2 * SECTOR].fill(1);
    assert!(store.read(0, CHUNK_BYTES, &mut Vec::new()).unwrap() == expected);
}

#[test]
fn snapshot_survives_system_crash() {
    for damage in [&b"senesmap"[..], b""] {
        let dir = in_memory();
        let mut store = new(dir.path(), 0);
        store.write(0, &vec![1; 9 * CHUNK_BYTES]).unwrap();
        store.snapshot("good").unwrap();
        let good = contents(&store);
        store.write(0, &vec![2; SIZE]).unwrap();
        drop(store);
        // Unsynced state: the map is damaged, and the data file has an arbitrary length.
        std::fs::write(dir.path().join("attached"), "another boot").unwrap();
        std::fs::write(dir.path().join("map"), damage).unwrap();
        let data = std::fs::File::options().write(true).open(dir.path().join("data")).unwrap();
        data.set_len((9 * CHUNK_BYTES + 17) as u64).unwrap();
        let refused = Store::open(dir.path()).unwrap_err().to_string();
        assert!(refused.contains("crashed while it was in use"), "{refused}");
        let unknown = Store::open_at(dir.path(), "bad").unwrap_err().to_string();
        assert!(unknown.contains("no snapshot bad; existing snapshots: good"), "{unknown}");
        let mut store = Store::open_at(dir.path(), "good").unwrap();
        assert!(contents(&store) == good);
        store.close().unwrap();
        drop(store);
        assert!(contents(&Store::open(dir.path()).unwrap()) == good);
    }
}

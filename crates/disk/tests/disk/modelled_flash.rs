//! The state of the flash of a modelled disk: in snapshots, after kills and crashes, damaged, and when the backing store is full.

use crate::common::*;
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use senesce_disk::model::{FlashState, FlashStatus};
use senesce_disk::modelled::{
    Clock, DiskSettings, LostWrites, ModelledDisk, Store, list_snapshots, saved_flash,
};
use senesce_disk::{Image, LoopDevice, Mount, Request, RequestKind};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

const SIZE: u64 = 32 * MIB;

fn settings(size_bytes: u64) -> DiskSettings {
    DiskSettings::new(size_bytes, "ssd-crucial-m4", Clock::Model)
}

fn new(dir: &Path) -> Store {
    Store::create(dir, &settings(SIZE)).unwrap();
    Store::open(dir).unwrap()
}

/// Serves writes of 4 KiB at random places, as the server of the disk does.
fn wear(store: &Store, writes: u64) {
    let mut device = store.model().unwrap().device_with(SIZE, store.flash().cloned());
    for n in 0..writes {
        let sector = ChaCha8Rng::seed_from_u64(n).next_u64() % (SIZE / 4096) * 8;
        device.serve(&Request { kind: RequestKind::Write, ..Request::read(sector, 8) }, 0);
    }
    device.serve(&Request { kind: RequestKind::Flush, ..Request::read(0, 0) }, 0);
}

fn status(store: &Store) -> FlashStatus {
    store.flash().unwrap().lock().unwrap().status()
}

#[test]
fn flash_is_part_of_snapshots() {
    let dir = in_memory();
    let mut store = new(dir.path());
    assert_eq!(status(&store).host_bytes, 0);
    wear(&store, 20_000);
    let aged = status(&store);
    assert!(aged.write_amplification > 1.2 && aged.erases_max > 0, "{aged:?}");
    store.snapshot("aged").unwrap();
    wear(&store, 10_000);
    assert!(status(&store).host_bytes > aged.host_bytes);
    store.rollback("aged").unwrap();
    assert_eq!(status(&store), aged);
    wear(&store, 100);
    let later = status(&store);
    store.close().unwrap();
    drop(store);
    assert_eq!(saved_flash(dir.path()).unwrap().unwrap().status(), later);
    let mut store = Store::open_at(dir.path(), "aged").unwrap();
    assert_eq!(status(&store), aged);
    store.delete_snapshot("aged").unwrap();
    store.close().unwrap();
    assert_eq!(std::fs::read_dir(dir.path().join("snapshots")).unwrap().count(), 0);
}

#[test]
fn killed_or_crashed_server_leaves_the_flash_as_last_saved() {
    let dir = in_memory();
    let mut store = new(dir.path());
    wear(&store, 5000);
    store.snapshot("s").unwrap();
    let saved = status(&store);
    wear(&store, 5000);
    // Killed.
    drop(store);
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(status(&store), saved);
    wear(&store, 5000);
    drop(store);
    // A crash of the system may leave anything in the file.
    std::fs::write(dir.path().join("attached"), "another boot").unwrap();
    std::fs::write(dir.path().join("flash"), "").unwrap();
    assert!(Store::open(dir.path()).unwrap_err().to_string().contains("crashed while it was in use"));
    let mut store = Store::open_at(dir.path(), "s").unwrap();
    assert_eq!(status(&store), saved);
    store.close().unwrap();
    drop(store);
    assert_eq!(status(&Store::open(dir.path()).unwrap()), saved);
}

#[test]
fn power_cut_loses_the_write_cache_alone() {
    let dir = in_memory();
    let mut store = new(dir.path());
    wear(&store, 1000);
    let before = status(&store);
    let mut device = store.model().unwrap().device_with(SIZE, store.flash().cloned());
    device.serve(&Request { kind: RequestKind::Write, ..Request::read(0, 64) }, 0);
    store.power_cut(LostWrites::All).unwrap();
    device.serve(&Request { kind: RequestKind::Flush, ..Request::read(0, 0) }, 0);
    assert_eq!(status(&store), before);
}

#[test]
fn damaged_flash_is_refused_until_it_is_preconditioned() {
    let dir = in_memory();
    let mut store = new(dir.path());
    store.write(0, &[1; 4096]).unwrap();
    wear(&store, 1000);
    store.snapshot("s").unwrap();
    store.close().unwrap();
    drop(store);
    for damage in [&b""[..], b"senesftl", &[0; 5000]] {
        std::fs::write(dir.path().join("flash"), damage).unwrap();
        let said = Store::open(dir.path()).unwrap_err().to_string();
        assert!(said.contains("flash is damaged") && said.contains("senesce disk precondition"), "{said}");
    }
    std::fs::remove_file(dir.path().join("flash")).unwrap();
    assert!(Store::open(dir.path()).unwrap_err().to_string().contains("reading the state of the flash"));
    Store::precondition(dir.path(), FlashState::Fresh).unwrap();
    let snapshot = dir.path().join("snapshots/s.flash");
    let whole = std::fs::read(&snapshot).unwrap();
    std::fs::write(&snapshot, &whole[..whole.len() - 1]).unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    store.write(0, &[2; 4096]).unwrap();
    let said = store.rollback("s").unwrap_err().to_string();
    assert!(said.contains("s.flash is damaged"), "{said}");
    // Nothing was rolled back.
    assert!(store.read(0, 4096, &mut Vec::new()).unwrap() == [2; 4096]);
    std::fs::write(&snapshot, whole).unwrap();
    store.rollback("s").unwrap();
}

#[test]
fn state_of_another_drive_is_refused() {
    let (a, b) = (in_memory(), in_memory());
    new(a.path()).close().unwrap();
    Store::create(b.path(), &settings(2 * SIZE)).unwrap();
    std::fs::copy(a.path().join("flash"), b.path().join("flash")).unwrap();
    let said = Store::open(b.path()).unwrap_err().to_string();
    assert!(said.contains("not the state of a drive with this flash"), "{said}");
}

#[test]
fn preconditioning_keeps_the_data() {
    let dir = in_memory();
    let mut store = new(dir.path());
    store.write(0, &[7; 128 << 10]).unwrap();
    store.write(SIZE - 4096, &[8; 4096]).unwrap();
    let digest = store.digest().unwrap();
    store.close().unwrap();
    drop(store);
    let share = |state| Store::precondition(dir.path(), state).unwrap().mapped_share;
    // Three chunks of 64 KiB are in use.
    assert_eq!(share(FlashState::Fresh), 3.0 * 65536.0 / SIZE as f64);
    assert_eq!(share(FlashState::Filled), 1.0);
    assert_eq!(share(FlashState::Aged { overwrites: 1.0, seed: 1 }), 1.0);
    assert_eq!(Store::open(dir.path()).unwrap().digest().unwrap(), digest);
    let hdd = in_memory();
    Store::create(hdd.path(), &DiskSettings::new(SIZE, "hdd-7200", Clock::Model)).unwrap();
    let said = Store::precondition(hdd.path(), FlashState::Filled).unwrap_err().to_string();
    assert!(said.contains("hdd-7200 has no flash translation layer"), "{said}");
    assert!(!hdd.path().join("flash").exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Whatever is done between, a rollback restores the flash as it was in the snapshot.
    #[test]
    fn rollback_restores_the_flash(before in 0u64..3000, after in 0u64..3000, killed: bool) {
        let dir = in_memory();
        let mut store = new(dir.path());
        wear(&store, before);
        store.snapshot("s").unwrap();
        let saved = status(&store);
        wear(&store, after);
        if killed {
            drop(store);
            store = Store::open(dir.path()).unwrap();
        }
        store.rollback("s").unwrap();
        prop_assert_eq!(status(&store), saved);
    }
}

#[test]
fn full_backing_store_refuses_a_snapshot_and_keeps_the_flash() {
    if !is_available() {
        return;
    }
    let session = begin();
    let dir = in_memory();
    // A separate small file system that can be filled.
    let image = Image::create(&dir.path().join("small.img"), 24 * MIB).unwrap();
    let small = LoopDevice::attach(&session, image.path(), 128).unwrap();
    mkfs("ext4", "e2fsprogs", small.device());
    let mount = Mount::new(&session, small.device(), "ext4", &[]).unwrap();
    let store_dir = mount.dir().join("store");
    // Its state of the flash takes a megabyte when the disk is filled.
    Store::create(&store_dir, &settings(1 << 30)).unwrap();
    Store::precondition(&store_dir, FlashState::Filled).unwrap();
    let mut store = Store::open(&store_dir).unwrap();
    let filler = mount.dir().join("filler");
    let mut bytes = 0;
    let file = File::create(&filler).unwrap();
    while file.write_at(&[1; 4096], bytes).is_ok_and(|written| written == 4096) {
        bytes += 4096;
    }
    let said = store.snapshot("s").unwrap_err().to_string();
    assert!(said.contains("free some space"), "{said}");
    assert_eq!(list_snapshots(&store_dir).unwrap(), []);
    assert_eq!(std::fs::read_dir(store_dir.join("snapshots")).unwrap().count(), 0);
    assert!(store.close().is_err());
    drop(store);
    drop(file);
    std::fs::remove_file(filler).unwrap();
    let mut store = Store::open(&store_dir).unwrap();
    assert_eq!(status(&store).mapped_share, 1.0);
    store.snapshot("s").unwrap();
    store.close().unwrap();
    drop(store);
    drop(mount);
    small.detach().unwrap();
}

#[test]
fn served_disk_ages_and_keeps_its_age() {
    if !is_available() {
        return;
    }
    let session = begin();
    let dir = in_memory();
    let disk = make_with(&session, dir.path(), &settings(SIZE));
    let file = File::options().read(true).write(true).open(disk.file()).unwrap();
    for n in 0..64 {
        file.write_all_at(&vec![1; MIB as usize], n % 32 * MIB).unwrap();
    }
    file.sync_all().unwrap();
    let worn = disk.status().unwrap().flash.unwrap();
    assert_eq!((worn.host_bytes, worn.mapped_share), (2 * SIZE, 1.0));
    assert_eq!(disk.flash().unwrap().unwrap().status(), worn);
    disk.snapshot("full").unwrap();
    rustix::fs::fallocate(
        &file,
        rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE,
        0,
        SIZE / 2,
    )
    .unwrap();
    assert_eq!(disk.status().unwrap().flash.unwrap().mapped_share, 0.5);
    drop(file);
    disk.detach().unwrap();
    assert_eq!(saved_flash(dir.path()).unwrap().unwrap().status().mapped_share, 0.5);
    let disk = ModelledDisk::attach(&session, dir.path()).unwrap();
    assert_eq!(disk.status().unwrap().flash.unwrap().mapped_share, 0.5);
    disk.rollback("full").unwrap();
    assert_eq!(disk.status().unwrap().flash.unwrap(), worn);
    let refused = Store::precondition(dir.path(), FlashState::Fresh).unwrap_err().to_string();
    assert!(refused.contains("another process serves it"), "{refused}");
    disk.detach().unwrap();
}

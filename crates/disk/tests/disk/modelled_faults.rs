//! Power cuts under load: file systems recover, and every synced file is intact. A disk that ignores flushes must fail the same test, which
//! shows that the test can fail.

use crate::common::*;
use senesce_disk::modelled::{CHUNK_BYTES, Clock, DiskSettings, Fault, LostWrites, ModelledDisk, Store};
use senesce_disk::{LoopDevice, Mount};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use testing::wait_until;

/// Number of synced files at which the power is cut.
const SYNCED: u64 = 60;

/// Writes and syncs files until a write fails. Returns the number of synced files, and counts them in `so_far`. Other files are written
/// without a sync, and each is deleted three rounds later, so that the file system does more than append.
fn write_until_the_cut(root: &Path, so_far: &AtomicU64) -> u64 {
    for i in 0.. {
        let content = content(i);
        let synced = File::create(root.join(format!("synced{i}")))
            .and_then(|mut file| file.write_all(&content).and_then(|()| file.sync_all()))
            // A name is safe once its directory is synced.
            .and_then(|()| File::open(root)?.sync_all());
        if synced.is_err() {
            return i;
        }
        so_far.store(i + 1, Relaxed);
        let _ = std::fs::write(root.join(format!("loose{i}")), content);
        if i >= 3 {
            let _ = std::fs::remove_file(root.join(format!("loose{}", i - 3)));
        }
    }
    unreachable!("the power is cut eventually")
}

fn content(i: u64) -> Vec<u8> {
    (0..20_000 + i * 7919 % 90_000).map(|byte| (byte * (i + 1)) as u8).collect()
}

/// The number of synced files that are not intact.
fn lost(root: &Path, synced: u64) -> u64 {
    let whole =
        |i: &u64| std::fs::read(root.join(format!("synced{i}"))).is_ok_and(|found| found == content(*i));
    (0..synced).filter(|i| !whole(i)).count() as u64
}

/// Cuts the power while files are written. Returns the number of synced files and how many of them are lost: all if the file system cannot
/// be mounted.
fn cut_under_load(kind: (&str, &'static str, u64), ignore_flush: bool, loss: LostWrites) -> (u64, u64) {
    let session = begin();
    let dir = in_memory();
    let OnDisk { mount, device, disk } = make_fs(&session, dir.path(), kind);
    rustix::fs::syncfs(File::open(mount.dir()).unwrap()).unwrap();
    if ignore_flush {
        disk.fault(Fault::IgnoreFlush).unwrap();
    }
    let root = mount.dir().to_owned();
    let so_far = AtomicU64::new(0);
    let synced = std::thread::scope(|scope| {
        let writing = scope.spawn(|| write_until_the_cut(&root, &so_far));
        wait_until("synced files", || so_far.load(Relaxed) >= SYNCED || writing.is_finished());
        disk.fault(Fault::PowerCut(loss)).unwrap();
        writing.join().unwrap()
    });
    assert!(synced >= SYNCED, "{}: only {synced} files were synced before the cut", kind.0);
    let cut = disk.status().unwrap();
    assert!(cut.cut && cut.failed > 0, "{}: every request fails after the cut", kind.0);
    tear_down(OnDisk { mount, device, disk });

    let disk = ModelledDisk::attach(&session, dir.path()).unwrap();
    let device = LoopDevice::attach(&session, disk.file(), 128).unwrap();
    let lost = match Mount::new(&session, device.device(), kind.0, &[]) {
        Err(e) => {
            assert!(ignore_flush, "{}: cannot be mounted: {e}", kind.0);
            synced
        }
        Ok(mount) => {
            let lost = lost(mount.dir(), synced);
            drop(mount);
            assert!(
                ignore_flush || is_clean(kind.0, device.device()),
                "{}: the checker reports errors",
                kind.0
            );
            lost
        }
    };
    device.detach().unwrap();
    disk.detach().unwrap();
    (synced, lost)
}

#[test]
fn synced_files_survive_loss_of_all_unflushed_writes() {
    if !is_available() {
        return;
    }
    for kind in KINDS {
        assert_eq!(cut_under_load(kind, false, LostWrites::All).1, 0, "{}", kind.0);
    }
}

#[test]
fn synced_files_survive_loss_of_some_unflushed_writes() {
    if !is_available() {
        return;
    }
    for (seed, kind) in (1..).zip(KINDS) {
        assert_eq!(cut_under_load(kind, false, LostWrites::Some(seed)).1, 0, "{}", kind.0);
    }
}

#[test]
fn synced_files_survive_a_torn_write() {
    if !is_available() {
        return;
    }
    for (seed, kind) in (1..).zip(KINDS) {
        assert_eq!(cut_under_load(kind, false, LostWrites::Torn(seed)).1, 0, "{}", kind.0);
    }
}

#[test]
fn synced_files_are_lost_if_flushes_are_ignored() {
    if !is_available() {
        return;
    }
    for kind in KINDS {
        let (synced, lost) = cut_under_load(kind, true, LostWrites::All);
        assert!(lost > 0, "{}: none of {synced} synced files is lost", kind.0);
    }
}

#[test]
fn power_cut_with_full_backing_store_loses_only_unflushed_writes() {
    if !is_available() {
        return;
    }
    let session = begin();
    let small = Mount::new(&session, Path::new("tmpfs"), "tmpfs", &["size=2m".to_owned()]).unwrap();
    let dir = small.dir().join("store");
    let size = 64 * CHUNK_BYTES;
    Store::create(&dir, &DiskSettings::new(size as u64, "ideal", Clock::Model)).unwrap();
    for loss in [LostWrites::All, LostWrites::Some(1), LostWrites::Some(2), LostWrites::Torn(3)] {
        let mut store = Store::open(&dir).unwrap();
        store.discard(0, size as u64).unwrap();
        store.flush();
        store.write(0, &vec![1; 4 * CHUNK_BYTES]).unwrap();
        store.flush();
        // Overwrites a chunk, discards one, and writes chunks for which there is no space.
        store.write(0, &vec![2; CHUNK_BYTES]).unwrap();
        store.discard(CHUNK_BYTES as u64, CHUNK_BYTES as u64).unwrap();
        let fill = vec![3; 3 * CHUNK_BYTES / 2];
        let fits =
            (4..60).step_by(2).take_while(|part| store.write((part * CHUNK_BYTES) as u64, &fill).is_ok());
        let fits = fits.count();
        assert!((1..28).contains(&fits), "{fits}");
        assert!(store.write((61 * CHUNK_BYTES) as u64, &[3; 512]).is_err());
        store.write(0, &vec![4; CHUNK_BYTES]).unwrap();
        store.power_cut(loss).unwrap();
        let mut scratch = Vec::new();
        let mut chunk = |part: usize| {
            store.read((part * CHUNK_BYTES) as u64, CHUNK_BYTES, &mut scratch).unwrap().to_vec()
        };
        for part in 2..4 {
            assert!(chunk(part) == vec![1; CHUNK_BYTES], "{loss:?}: a flushed write is lost");
        }
        assert!(chunk(61) == vec![0; CHUNK_BYTES], "{loss:?}: a failed write is visible");
        if loss == LostWrites::All {
            assert!((0..2).all(|part| chunk(part) == vec![1; CHUNK_BYTES]));
            assert!((4..64).all(|part| chunk(part) == vec![0; CHUNK_BYTES]));
        }
        store.close().unwrap();
    }
}

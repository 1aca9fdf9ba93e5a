//! Power cuts during operations, and calls of the disk that fail.

use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

use betree::{CrashStorage, FailingStorage, Failure, PowerCut};
use senesce_betreefs::Rename;

/// Runs operations until the power cut, and counts the synced rounds. Every step is synced, so there are many writes to cut at.
fn work(fs: &Fs, synced: &mut u64) -> Result<()> {
    for round in 0u64..12 {
        let name = format!("d{round}").into_bytes();
        let made = dir(fs, ROOT, &name)?.ino;
        let ino = file(fs, made, b"f")?.ino;
        fs.sync()?;
        fs.write(ino, 0, &bytes(round, 20_000 * (round as usize % 6 + 1)), false)?;
        fs.sync()?;
        fs.link(ino, ROOT, &[&b"l"[..], &name].concat())?;
        fs.sync()?;
        let temporary = file(fs, ROOT, b"new")?.ino;
        fs.write(temporary, 0, &bytes(round, 5000), false)?;
        fs.sync()?;
        fs.rename((ROOT, b"new"), (ROOT, b"current"), Rename::Replace)?;
        fs.sync()?;
        // As git writes: under another name first.
        let object = [&b"o"[..], &name].concat();
        fs.write(file(fs, ROOT, b"tmp")?.ino, 0, &bytes(round, 18_000), false)?;
        fs.link(fs.lookup(ROOT, b"tmp")?.ino, ROOT, &object)?;
        fs.sync()?;
        fs.unlink(ROOT, b"tmp")?;
        fs.sync()?;
        let moved = [&b"m"[..], &name].concat();
        fs.rename((ROOT, &name), (ROOT, &moved), Rename::NoReplace)?;
        fs.sync()?;
        *synced = round + 1;
        if round % 3 == 2 {
            fs.unlink(made, b"f")?;
            fs.sync()?;
            fs.rmdir(ROOT, &moved)?;
        }
        if round % 5 == 4 {
            fs.checkpoint()?;
        }
    }
    Ok(())
}

/// Every operation was done or not, in order, and synced data exists.
fn inspect(after: MemoryStorage, synced: u64) {
    let after = Arc::new(after);
    assert_clean(&after);
    let fs = open(&after);
    let seen = names(&fs, ROOT);
    let has = |name: &str| seen.iter().any(|seen| seen == name.as_bytes());
    for round in 0..synced {
        let moved = fs.lookup(ROOT, format!("md{round}").as_bytes());
        match moved {
            Ok(moved) => assert!(moved.size == 1 || round % 3 == 2),
            Err(_) => assert_eq!(round % 3, 2),
        }
        let linked = fs.lookup(ROOT, format!("ld{round}").as_bytes()).unwrap();
        assert!(content(&fs, linked.ino) == bytes(round, 20_000 * (round as usize % 6 + 1)));
        assert!(!has(&format!("d{round}")));
        let object = fs.lookup(ROOT, format!("od{round}").as_bytes()).unwrap();
        assert_eq!(object.links, 1);
        assert!(content(&fs, object.ino) == bytes(round, 18_000));
    }
    if synced > 0 {
        let current = fs.lookup(ROOT, b"current").unwrap();
        let content = content(&fs, current.ino);
        assert!((synced - 1..=synced).any(|round| content == bytes(round, 5000)), "the rename is incomplete");
    }
    // A file moves home completely, or has both of its names.
    let temporary = fs.lookup(ROOT, b"tmp").map(|found| found.ino).ok();
    for name in seen.iter().filter(|name| name.starts_with(b"od")) {
        let object = fs.lookup(ROOT, name).unwrap();
        assert_eq!((object.size, object.links), (18_000, 1 + u32::from(temporary == Some(object.ino))));
    }
    // A directory has one name at any time.
    for round in 0..12 {
        assert!(!(has(&format!("d{round}")) && has(&format!("md{round}"))));
    }
    fs.close().unwrap();
    assert_clean(&after);
}

/// Runs operations on a copy of the image until write `at`; returns the disk and the number of synced rounds.
fn cut_at(image: &[u8], at: u64, ignores_flushes: bool) -> (Arc<CrashStorage>, u64) {
    let disk = Arc::new(CrashStorage::of(image.to_vec()));
    if ignores_flushes {
        disk.ignore_flushes();
    }
    disk.cut_power_at(at);
    let mut synced = 0;
    if let Ok(fs) = Fs::open(disk.clone(), store_options(8 << 20)) {
        let _ = work(&fs, &mut synced);
    }
    (disk, synced)
}

fn writes(image: &[u8]) -> u64 {
    let whole = Arc::new(CrashStorage::of(image.to_vec()));
    let fs = Fs::open(whole.clone(), store_options(8 << 20)).unwrap();
    work(&fs, &mut 0).unwrap();
    fs.close().unwrap();
    whole.writes()
}

/// Cuts the power at every `step`th write, and loses unflushed writes in one of the four ways each time, or in the first `ways` of them.
fn cut_at_writes(step: usize, ways: usize, round: u64) {
    let image = disk(SMALL).image();
    for at in (0..writes(&image)).step_by(step) {
        let (disk, synced) = cut_at(&image, at, false);
        let seed = at + round * 10_000;
        let cuts =
            [PowerCut::KeepNone, PowerCut::SomeWrites(seed), PowerCut::SomeSectors(seed), PowerCut::KeepAll];
        for cut in cuts.iter().cycle().skip(at as usize % cuts.len()).take(ways) {
            inspect(disk.after(*cut), synced);
        }
    }
}

#[test]
fn power_cut_at_every_seventh_write_keeps_operations_atomic() {
    cut_at_writes(7, 1, 0);
}

#[test]
fn disk_that_ignores_flushes_is_detected() {
    let image = disk(SMALL).image();
    let found = (20..writes(&image)).step_by(8).filter(|at| {
        let (disk, synced) = cut_at(&image, *at, true);
        let after = disk.after(PowerCut::SomeWrites(*at));
        catch_unwind(AssertUnwindSafe(|| inspect(after, synced))).is_err()
    });
    assert!(found.count() > 3, "the test does not detect a disk that loses flushed data");
}

/// Fails every `step`th call of the disk, in each of the ways; returns how many.
fn fail_calls(step: usize) -> u64 {
    let image = disk(SMALL).image();
    let mut failed = 0;
    for failure in [Failure::Errno(libc::EIO), Failure::Errno(libc::ENOSPC), Failure::Panic] {
        for at in (0..).step_by(step) {
            let disk = Arc::new(FailingStorage::of(image.clone(), at, failure));
            let mut synced = 0;
            // A caller whose own read panics does no more.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let fs = Fs::open(disk.clone(), store_options(8 << 20))?;
                work(&fs, &mut synced)?;
                fs.close()
            }));
            inspect(MemoryStorage::of(disk.image()), synced);
            if !disk.has_failed() {
                break;
            }
            failed += 1;
        }
    }
    failed
}

#[test]
fn failure_of_every_thirteenth_call_keeps_operations_atomic() {
    assert!(fail_calls(13) > 30);
}

mod soak {
    use super::*;

    #[test]
    #[ignore = "soak: every call of the disk fails, in three ways"]
    fn failure_of_any_call_keeps_operations_atomic() {
        assert!(fail_calls(1) > 500);
    }

    #[test]
    #[ignore = "soak: cuts the power at every write, in four ways"]
    fn power_cut_at_any_write_keeps_operations_atomic() {
        // The number of repetitions: each draws other lost writes and sectors.
        let times = std::env::var("SENESCE_TEST_TIMES").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
        for round in 0..times {
            cut_at_writes(1, 4, round);
        }
    }
}

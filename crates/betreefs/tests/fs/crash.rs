//! The power goes in the middle of work.

use super::*;
use betree::{CrashStorage, PowerCut};
use senesce_betreefs::Rename;

/// Works until the power goes, and counts the rounds that were synced.
fn work(fs: &Fs, synced: &mut u64) -> Result<()> {
    for round in 0u64..12 {
        let name = format!("d{round}").into_bytes();
        let made = dir(fs, ROOT, &name)?.ino;
        let ino = file(fs, made, b"f")?.ino;
        fs.write(ino, 0, &bytes(round, 20_000 * (round as usize % 6 + 1)), false)?;
        fs.link(ino, ROOT, &[&b"l"[..], &name].concat())?;
        let temporary = file(fs, ROOT, b"new")?.ino;
        fs.write(temporary, 0, &bytes(round, 5000), false)?;
        fs.rename((ROOT, b"new"), (ROOT, b"current"), Rename::Replace)?;
        let moved = [&b"m"[..], &name].concat();
        fs.rename((ROOT, &name), (ROOT, &moved), Rename::NoReplace)?;
        fs.sync()?;
        *synced = round + 1;
        if round % 3 == 2 {
            fs.unlink(made, b"f")?;
            fs.rmdir(ROOT, &moved)?;
        }
        if round % 5 == 4 {
            fs.checkpoint()?;
        }
    }
    Ok(())
}

/// Everything was done or not, in order, and what was synced is there.
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
    }
    if synced > 0 {
        let current = fs.lookup(ROOT, b"current").unwrap();
        let content = content(&fs, current.ino);
        assert!((synced - 1..=synced).any(|round| content == bytes(round, 5000)), "the rename was half done");
    }
    // A directory has one name at any time.
    for round in 0..12 {
        assert!(!(has(&format!("d{round}")) && has(&format!("md{round}"))));
    }
    fs.close().unwrap();
    assert_clean(&after);
}

#[test]
fn after_a_power_cut_each_operation_was_done_or_not() {
    cut_at_every(11);
}

#[test]
#[ignore = "the same at every single write takes minutes"]
fn after_a_power_cut_at_any_write_each_operation_was_done_or_not() {
    cut_at_every(1);
}

fn cut_at_every(step: usize) {
    let image = disk(SMALL).image();
    let whole = Arc::new(CrashStorage::of(image.clone()));
    let fs = Fs::open(whole.clone(), Options { cache_bytes: 8 << 20, in_rows: true }).unwrap();
    work(&fs, &mut 0).unwrap();
    fs.close().unwrap();
    let writes = whole.writes();
    // Every write is a place to cut, and for each the seed is another.
    for (seed, at) in (0..writes).step_by(step).enumerate() {
        let disk = Arc::new(CrashStorage::of(image.clone()));
        disk.cut_at(at);
        let mut synced = 0;
        if let Ok(fs) = Fs::open(disk.clone(), Options { cache_bytes: 8 << 20, in_rows: true }) {
            let _ = work(&fs, &mut synced);
        }
        let seed = seed as u64;
        let cut =
            [PowerCut::KeepNone, PowerCut::SomeWrites(seed), PowerCut::SomeSectors(seed), PowerCut::KeepAll];
        inspect(disk.after(cut[seed as usize % cut.len()]), synced);
    }
}

//! Flipped bits, truncated images and foreign images: an error or the right answer, never a panic.

use std::sync::Arc;

use proptest::prelude::*;
use senesce_betree::{Error, MemoryStorage, Options, Params, Storage, Store, check, free_extents};

use crate::model::{Model, bytes, key};
use crate::small;

fn options() -> Options {
    Options { cache_bytes: 1 << 20, ..Options::default() }
}

/// Smaller than in other tests, so that most bits of an image matter and many images can be checked quickly.
fn tiny() -> Params {
    Params { block_bytes: 512, node_bytes: 4 << 10, basement_bytes: 512, fanout: 4, log_bytes: 16 << 10 }
}

/// A store with several levels and all kinds of messages in its buffers; closed, or with a log as after a crash.
fn image(closed: bool) -> (Vec<u8>, Model) {
    let disk = Arc::new(MemoryStorage::new(512 << 10));
    Store::create(&*disk, tiny()).unwrap();
    let store = Store::open(disk.clone(), options()).unwrap();
    for step in 0..500usize {
        let k = (step * 7919 % 397) as u16;
        match step % 5 {
            0 => store.patch(&key(k), 40, &bytes(step, 90)).unwrap(),
            1 if step > 400 => store.delete_range(&key(k), &[&key(k)[..], &[255; 20]].concat()).unwrap(),
            2 => store.delete(&key(k)).unwrap(),
            _ => store.insert(&key(k), &bytes(step, 200)).unwrap(),
        }
        if step == 450 {
            store.checkpoint().unwrap();
        }
    }
    store.sync().unwrap();
    let model = store.scan(b"", None).map(Result::unwrap).collect();
    if closed {
        store.close().unwrap();
    }
    (disk.image(), model)
}

/// The content of the store, if the check finds no problem.
fn contents(disk: &Arc<MemoryStorage>) -> Result<Model, Error> {
    check(disk.clone())?.result()?;
    Store::open(disk.clone(), options())?.scan(b"", None).collect()
}

/// The content of the store without a check, as a user reads it.
fn read(disk: &Arc<MemoryStorage>) -> Result<Model, Error> {
    Store::open(disk.clone(), options())?.scan(b"", None).collect()
}

#[test]
fn content_of_free_space_is_irrelevant() {
    for closed in [true, false] {
        let (mut image, model) = image(closed);
        let free = free_extents(Arc::new(MemoryStorage::of(image.clone()))).unwrap();
        assert!(free.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        let bytes: u64 = free.iter().map(|(_, bytes)| bytes).sum();
        assert!(bytes > image.len() as u64 / 8, "{bytes} of {}", image.len());
        for (at, bytes) in free {
            image[at as usize..(at + bytes) as usize].fill(0x5a);
        }
        assert_eq!(contents(&Arc::new(MemoryStorage::of(image))).unwrap(), model);
    }
}

/// Flips one bit in each of many copies, and truncates some.
fn one_by_one(seed: u64, copies: u32) {
    for closed in [true, false] {
        let (image, model) = image(closed);
        let mut random = seed | 1;
        for n in 0..copies {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (byte, bit) = ((random >> 20) % image.len() as u64, (random >> 8) as u8);
            if n % 8 == 0 {
                let short = Arc::new(MemoryStorage::of(image[..byte as usize].to_vec()));
                assert!(check(short.clone()).is_err() && read(&short).is_err(), "truncated at {byte}");
                continue;
            }
            let disk = Arc::new(MemoryStorage::of(image.clone()));
            disk.flip(byte, bit);
            for found in [contents(&disk), read(&disk)].into_iter().flatten() {
                assert!(
                    found == model,
                    "bit {} of byte {byte} (closed: {closed}) changed the content",
                    bit & 7
                );
            }
        }
    }
}

/// Damages many bytes in each of many copies.
fn many_at_once(seed: u64, copies: u32) {
    let (image, model) = image(true);
    let mut random = seed | 1;
    for _ in 0..copies {
        let mut image = image.clone();
        for _ in 0..1 + random % 60 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (random >> 20) as usize % image.len();
            let end = image.len().min(at + (random >> 50) as usize % 700);
            image[at..end].fill(random as u8);
        }
        if let Ok(found) = contents(&Arc::new(MemoryStorage::of(image))) {
            assert!(found == model, "damaged bytes changed the content, seed {seed}");
        }
    }
}

#[test]
fn flipped_bit_or_truncation_is_an_error_or_harmless() {
    one_by_one(7919, 300);
}

#[test]
fn many_damaged_bytes_are_an_error_or_harmless() {
    many_at_once(7919, 100);
}

#[test]
fn checker_finds_a_flipped_bit_in_used_space() {
    let (image, _) = image(true);
    let report = senesce_betree::stat(Arc::new(MemoryStorage::of(image.clone()))).unwrap();
    // The superblocks, and the first and last block of each leaf.
    let mut places: Vec<u64> = (0..512).step_by(37).chain((4096..4608).step_by(37)).collect();
    places.extend(report.leaves.iter().flat_map(|(at, _)| [*at, at + 9, at + 30, at + 520]));
    for byte in places {
        let disk = Arc::new(MemoryStorage::of(image.clone()));
        disk.flip(byte, 3);
        let found = check(disk.clone()).and_then(|found| found.result());
        assert!(found.is_err(), "byte {byte}");
    }
}

#[test]
fn truncated_image_is_reported_as_truncated() {
    let (image, _) = image(true);
    for len in [0, 100, 4096, 8192, 9000, 50_000, image.len() - 1] {
        let disk = Arc::new(MemoryStorage::of(image[..len].to_vec()));
        let error = Store::open(disk, options()).err().expect("a truncated image is an error");
        match error {
            Error::Truncated { expected, found } => assert_eq!((expected, found), (512 << 10, len as u64)),
            Error::Foreign(_) => assert!(len < 8192),
            other => panic!("{len}: {other}"),
        }
    }
}

#[test]
fn foreign_image_is_not_a_store() {
    let ext4: Vec<u8> = (0..1 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let disk = Arc::new(MemoryStorage::of(ext4));
    assert!(matches!(Store::open(disk.clone(), options()).err().unwrap(), Error::Foreign(_)));
    assert!(matches!(check(disk).unwrap_err(), Error::Foreign(_)));
}

#[test]
fn swapped_nodes_are_detected() {
    let (mut image, _) = image(true);
    let report = senesce_betree::stat(Arc::new(MemoryStorage::of(image.clone()))).unwrap();
    let (a, b) = (report.leaves[1], report.leaves[2]);
    let len = a.1.min(b.1) as usize;
    for i in 0..len {
        image.swap(a.0 as usize + i, b.0 as usize + i);
    }
    assert!(check(Arc::new(MemoryStorage::of(image))).unwrap().result().is_err());
}

#[test]
fn stale_node_is_detected() {
    // As after a drive reported a write that it did not do.
    let (image, _) = image(true);
    let disk = Arc::new(MemoryStorage::of(image.clone()));
    let store = Store::open(disk.clone(), options()).unwrap();
    for step in 0..160 {
        store.insert(&key(step), &bytes(7, 100)).unwrap();
        if step % 40 == 0 {
            store.checkpoint().unwrap();
        }
    }
    store.close().unwrap();
    let mut newer = disk.image();
    let report = senesce_betree::stat(disk).unwrap();
    let spans = report.leaves.iter().map(|(at, len)| *at as usize..(at + len) as usize);
    let mut changed = spans.filter(|span| {
        image[span.clone()].starts_with(b"node") && image[span.clone()] != newer[span.clone()]
    });
    let span = changed.next().expect("a slot was reused");
    newer[span.clone()].copy_from_slice(&image[span]);
    assert!(check(Arc::new(MemoryStorage::of(newer))).unwrap().result().is_err());
}

#[test]
fn invalid_sizes_are_refused() {
    let disk = MemoryStorage::new(1 << 20);
    let wrong = [
        Params { block_bytes: 1000, ..small() },
        Params { node_bytes: 5000, ..small() },
        Params { basement_bytes: 1 << 20, ..small() },
        Params { fanout: 2, ..small() },
        Params { log_bytes: 100, ..small() },
        Params { log_bytes: 1 << 20, ..small() },
        Params::for_image(1 << 40),
    ];
    for params in wrong {
        assert!(matches!(Store::create(&disk, params), Err(Error::Params(_))), "{params:?}");
    }
    assert!(matches!(Store::open(Arc::new(disk) as Arc<dyn Storage>, options()), Err(Error::Foreign(_))));
}

mod soak {
    use super::*;
    use crate::times;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        #[ignore = "soak: thousands of damaged images, of random seeds"]
        fn flipped_bit_or_truncation_is_an_error_or_harmless(seed in any::<u64>()) {
            one_by_one(seed, 500 * times(20));
        }

        #[test]
        #[ignore = "soak: thousands of damaged images, of random seeds"]
        fn many_damaged_bytes_are_an_error_or_harmless(seed in any::<u64>()) {
            many_at_once(seed, 100 * times(20));
        }
    }
}

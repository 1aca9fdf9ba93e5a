//! Checksums of data on the disk, seeded with its identity and location.

use twox_hash::XxHash3_64;

/// The UUID of a store, part of every seed.
pub(crate) type Uuid = [u8; 16];

/// The checksum of `bytes` with this seed.
pub(crate) fn sum(seed: u64, bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(seed, bytes)
}

/// The seed for these numbers in the store `uuid`.
pub(crate) fn seed(uuid: &Uuid, numbers: [u64; 3]) -> u64 {
    let mut bytes = [0u8; 40];
    bytes[..16].copy_from_slice(uuid);
    for (place, number) in bytes[16..].chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    XxHash3_64::oneshot(&bytes)
}

/// A new random UUID.
pub(crate) fn new_uuid() -> Uuid {
    use std::hash::{BuildHasher, RandomState};
    let mut uuid = [0; 16];
    for half in uuid.chunks_exact_mut(8) {
        // The standard library seeds its hashers with the system's random numbers.
        half.copy_from_slice(&RandomState::new().hash_one(std::time::SystemTime::now()).to_le_bytes());
    }
    uuid
}

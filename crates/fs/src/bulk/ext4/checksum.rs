//! ext4 checksums: CRC-32C with an initial seed and without the final inversion.

/// Extends the checksum `so_far` by `bytes`.
pub fn update(so_far: u32, bytes: &[u8]) -> u32 {
    !crc32c::crc32c_append(!so_far, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_match_crc32c() {
        // The check value of CRC-32C, which has the final inversion.
        assert_eq!(!update(!0, b"123456789"), 0xe306_9283);
        assert_eq!(update(update(!0, b"1234"), b"56789"), update(!0, b"123456789"));
    }
}

//! Checksums as ext4 computes them: CRC-32C that begins with a seed and is not inverted at the end.

/// The checksum of what was checked so far, whose checksum is `so_far`, followed by `bytes`.
pub fn update(so_far: u32, bytes: &[u8]) -> u32 {
    !crc32c::crc32c_append(!so_far, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        // The check value of CRC-32C, which inverts at the end.
        assert_eq!(!update(!0, b"123456789"), 0xe306_9283);
        assert_eq!(update(update(!0, b"1234"), b"56789"), update(!0, b"123456789"));
    }
}

//! Zeros to read from holes.

use std::sync::LazyLock;

/// 1 MiB of zeros; no request of a disk is longer. The kernel gives their pages; a constant would lie in the program file.
pub(crate) fn zeros() -> &'static [u8] {
    static ZEROS: LazyLock<Vec<u8>> = LazyLock::new(|| vec![0; 1 << 20]);
    &ZEROS
}

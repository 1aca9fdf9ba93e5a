//! SHA-256 checksums of disks.

use crate::error::{Error, IoContext};
use crate::image::read_data;
use crate::zeros::zeros;
use digest::Digest;
use sha2::{Digest as _, Sha256};
use std::io::{self, Seek as _, SeekFrom};
use std::path::Path;

/// The SHA-256 of an image or a block device, as `sha256sum` prints it. Holes are not read.
///
/// # Errors
/// If the file or device cannot be opened or read.
pub fn checksum(path: &Path) -> Result<Digest, Error> {
    let doing = "reading the checksum of";
    let mut file = input::open_disk(path).context("opening", path)?;
    let size = file.seek(SeekFrom::End(0)).context(doing, path)?;
    let mut digesting = Digesting::default();
    read_data(&file, size, |at, data| digesting.add(at, data)).context(doing, path)?;
    Ok(digesting.finish(size))
}

/// Computes the digest of a disk from its data ranges; gaps count as zeros.
#[derive(Default)]
pub(crate) struct Digesting {
    digest: Sha256,
    at: u64,
}

impl Digesting {
    /// Adds data at offset `at`, which is not before the end of the previous data.
    pub fn add(&mut self, at: u64, data: &[u8]) -> io::Result<()> {
        self.zeros_to(at);
        self.digest.update(data);
        self.at += data.len() as u64;
        Ok(())
    }

    /// Returns the digest of a disk of `size` bytes.
    pub fn finish(mut self, size: u64) -> Digest {
        self.zeros_to(size);
        self.digest.into()
    }

    fn zeros_to(&mut self, end: u64) {
        while self.at < end {
            let now = (end - self.at).min(zeros().len() as u64);
            self.digest.update(&zeros()[..now as usize]);
            self.at += now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::FileExt as _;

    #[test]
    fn digest_equals_sha256sum() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let digest = checksum(file.path()).unwrap().to_string();
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    proptest! {
        /// Holes do not change the digest.
        #[test]
        fn sparse_file_has_digest_of_its_bytes(pieces in prop::collection::vec((0_u64..3_000_000, any::<u8>()), 0..4)) {
            let file = tempfile::NamedTempFile::new().unwrap();
            let mut bytes = vec![0; 3_100_000];
            file.as_file().set_len(bytes.len() as u64).unwrap();
            for (at, byte) in pieces {
                file.as_file().write_all_at(&[byte; 70_000], at).unwrap();
                bytes[at as usize..at as usize + 70_000].fill(byte);
            }
            prop_assert_eq!(checksum(file.path()).unwrap(), Digest::of(&bytes));
        }
    }
}

//! Checksums of whole disks, by which it is told that one is what it was.

use crate::error::{Error, IoContext};
use crate::image::read_data;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::io::{self, Seek as _, SeekFrom};
use std::path::Path;

/// The SHA-256 of all bytes of a disk: what `sha256sum` prints of its image.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// That of an image or a block device. Holes are not read.
    pub fn of(path: &Path) -> Result<Digest, Error> {
        let doing = "reading the checksum of";
        let mut file = input::open_disk(path).context("opening", path)?;
        let size = file.seek(SeekFrom::End(0)).context(doing, path)?;
        let mut digesting = Digesting::default();
        read_data(&file, size, |at, data| digesting.add(at, data)).context(doing, path)?;
        Ok(digesting.finish(size))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A digest on its way, of which only what is not zero need be given.
#[derive(Default)]
pub(crate) struct Digesting {
    digest: Sha256,
    at: u64,
}

static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

impl Digesting {
    /// Adds what lies at `at`, which is not before the end of what was added last.
    pub fn add(&mut self, at: u64, data: &[u8]) -> io::Result<()> {
        self.zeros_to(at);
        self.digest.update(data);
        self.at += data.len() as u64;
        Ok(())
    }

    /// The digest of a disk of that size.
    pub fn finish(mut self, size: u64) -> Digest {
        self.zeros_to(size);
        Digest(self.digest.finalize().into())
    }

    fn zeros_to(&mut self, end: u64) {
        while self.at < end {
            let now = (end - self.at).min(ZEROS.len() as u64);
            self.digest.update(&ZEROS[..now as usize]);
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
    fn it_is_that_of_sha256sum() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let digest = Digest::of(file.path()).unwrap().to_string();
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    proptest! {
        /// Holes make no difference.
        #[test]
        fn a_sparse_file_has_the_digest_of_its_bytes(pieces in prop::collection::vec((0_u64..3_000_000, any::<u8>()), 0..4)) {
            let file = tempfile::NamedTempFile::new().unwrap();
            let mut bytes = vec![0; 3_100_000];
            file.as_file().set_len(bytes.len() as u64).unwrap();
            for (at, byte) in pieces {
                file.as_file().write_all_at(&[byte; 70_000], at).unwrap();
                bytes[at as usize..at as usize + 70_000].fill(byte);
            }
            prop_assert_eq!(Digest::of(file.path()).unwrap(), Digest(Sha256::digest(&bytes).into()));
        }
    }
}

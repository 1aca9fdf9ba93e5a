//! The parts of the file around the frames: header, index and trailer.
//!
//! ```text
//! header | frames | index | manifest | trailer
//! ```

use digest::Digest;

/// The format version that this program writes and reads.
pub const VERSION: u32 = 1;

/// The magic number at the start and the end of a saved image.
pub const MAGIC: [u8; 8] = *b"SNSCAGED";

/// Length of the header: magic, version, zero.
pub const HEADER_BYTES: usize = 16;

/// Length of the trailer: length of the index, length of the manifest, digest of the manifest, magic.
pub const TRAILER_BYTES: usize = 56;

/// Length of an index entry: number of the frame, stored length, digest of the stored bytes, digest of the contents.
pub const ENTRY_BYTES: usize = 80;

/// The maximum length of a manifest.
pub const MANIFEST_BYTES_MAX: u64 = 64 << 20;

/// The maximum length of an index, that of an image with 28 TB of data.
pub const INDEX_BYTES_MAX: u64 = 1 << 30;

/// Encodes the header.
pub fn header() -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header
}

/// Checks the magic and the version of a header.
pub fn check_header(bytes: &[u8; HEADER_BYTES]) -> Result<(), String> {
    if bytes[..8] != MAGIC {
        return Err("it does not start with the header of a saved image".to_owned());
    }
    let version = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes"));
    if version > VERSION {
        return Err(format!(
            "it has format {version}, but this program supports {VERSION}; use a newer senesce"
        ));
    }
    if *bytes != header() {
        return Err("its header is invalid".to_owned());
    }
    Ok(())
}

/// The trailer of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trailer {
    pub index_bytes: u64,
    pub manifest_bytes: u64,
    pub manifest: Digest,
}

impl Trailer {
    pub fn encode(&self) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        bytes[..8].copy_from_slice(&self.index_bytes.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.manifest_bytes.to_le_bytes());
        bytes[16..48].copy_from_slice(&self.manifest.0);
        bytes[48..].copy_from_slice(&MAGIC);
        bytes
    }

    pub fn decode(bytes: &[u8; TRAILER_BYTES]) -> Result<Trailer, &'static str> {
        if bytes[48..] != MAGIC {
            return Err("its end marker is missing");
        }
        let manifest = Digest(bytes[16..48].try_into().expect("32 bytes"));
        let trailer = Trailer { index_bytes: u64_at(bytes, 0), manifest_bytes: u64_at(bytes, 8), manifest };
        let most = trailer.index_bytes <= INDEX_BYTES_MAX && trailer.manifest_bytes <= MANIFEST_BYTES_MAX;
        if !most || !trailer.index_bytes.is_multiple_of(ENTRY_BYTES as u64) {
            return Err("its trailer is invalid");
        }
        Ok(trailer)
    }
}

/// An index entry, which describes one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The number of the frame: its offset in the image divided by the frame length.
    pub number: u64,
    /// Stored length in bytes.
    pub stored_bytes: u64,
    /// Digest of the stored bytes.
    pub stored: Digest,
    /// Digest of the contents, see `frame::content_digest`.
    pub content: Digest,
}

impl Entry {
    pub fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.stored_bytes.to_le_bytes());
        bytes[16..48].copy_from_slice(&self.stored.0);
        bytes[48..].copy_from_slice(&self.content.0);
        bytes
    }

    /// Decodes `bytes`, a whole number of entries.
    pub fn decode_all(bytes: &[u8]) -> Vec<Entry> {
        let entry = |bytes: &[u8]| Entry {
            number: u64_at(bytes, 0),
            stored_bytes: u64_at(bytes, 8),
            stored: Digest(bytes[16..48].try_into().expect("32 bytes")),
            content: Digest(bytes[48..80].try_into().expect("32 bytes")),
        };
        bytes.chunks_exact(ENTRY_BYTES).map(entry).collect()
    }
}

/// The content digest of an image of `size_bytes` with these frames.
pub fn content_digest(size_bytes: u64, entries: &[Entry]) -> Digest {
    let size = size_bytes.to_le_bytes();
    Digest::of_all(std::iter::once(&size[..]).chain(entries.iter().map(|entry| &entry.content.0[..])))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_and_trailers_round_trip(number: u64, stored_bytes: u64, stored: [u8; 32], content: [u8; 32], index in 0..INDEX_BYTES_MAX / 80) {
            let entry = Entry { number, stored_bytes, stored: Digest(stored), content: Digest(content) };
            prop_assert_eq!(Entry::decode_all(&[entry.encode(), entry.encode()].concat()), [entry, entry]);
            let trailer = Trailer { index_bytes: index * 80, manifest_bytes: index % 1000, manifest: Digest(content) };
            prop_assert_eq!(Trailer::decode(&trailer.encode()), Ok(trailer));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(trailer in prop::array::uniform32(any::<u8>()), version: u32, zero: u32) {
            let mut bytes = [0; TRAILER_BYTES];
            bytes[..32].copy_from_slice(&trailer);
            prop_assert!(Trailer::decode(&bytes).is_err());
            bytes[48..].copy_from_slice(&MAGIC);
            let _ = Trailer::decode(&bytes);
            let mut bytes = header();
            bytes[8..12].copy_from_slice(&version.to_le_bytes());
            bytes[12..].copy_from_slice(&zero.to_le_bytes());
            prop_assert_eq!(check_header(&bytes).is_ok(), version == VERSION && zero == 0);
        }
    }
}

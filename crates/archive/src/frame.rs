//! Encodes and decodes frames: compressed ranges of the image.
//!
//! A frame is divided into pieces: zeros, contents that can be regenerated, and literal bytes. The list of pieces, followed by the literal
//! bytes, is compressed.

use crate::runs::runs;
use digest::Digest;
use replay::{ContentPosition, find_contents};

/// Length of a frame in the image; the last one may be shorter.
pub const FRAME_BYTES: u64 = 2 << 20;

/// Contents shorter than this are stored literally, because a piece takes 13 bytes.
const CONTENTS_MIN: usize = 64;

/// The compression level above which metadata hardly gets smaller.
const LEVEL: i32 = 6;

/// The maximum length of an uncompressed frame for `len` bytes of the image: a list of pieces is never longer than the bytes it describes.
const fn body_max(len: usize) -> usize {
    2 * len + 1024
}

/// The maximum stored length of a frame for `len` bytes of the image: incompressible data grows by less than this.
pub const fn stored_max(len: usize) -> usize {
    2 * body_max(len)
}

const ZEROS: u8 = 0;
const CONTENTS: u8 = 1;
const BYTES: u8 = 2;

/// The bytes of a frame by kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ByteCounts {
    /// Bytes stored literally.
    pub literal: u64,
    /// Bytes that are regenerated.
    pub regenerated: u64,
}

/// An encoded frame.
pub struct Encoded {
    pub stored: Vec<u8>,
    pub content: Digest,
    pub byte_counts: ByteCounts,
}

/// Encodes `bytes`, the contents of frame `number`; `None` if they are all zero.
pub fn encode(number: u64, bytes: &[u8]) -> Option<Encoded> {
    let mut body = Body::default();
    for run in runs(bytes) {
        body.piece(ZEROS, run.start - body.at, None);
        let mut at = run.start;
        while let Some((start, len, position)) = find_contents(&bytes[..run.end], at, CONTENTS_MIN) {
            body.bytes(&bytes[at..start]);
            body.piece(CONTENTS, len, Some(position));
            at = start + len;
        }
        body.bytes(&bytes[at..run.end]);
    }
    if body.at == 0 {
        return None;
    }
    body.piece(ZEROS, bytes.len() - body.at, None);
    let byte_counts = body.byte_counts;
    let stored = zstd::bulk::compress(&body.finish(), LEVEL).expect("memory takes any bytes");
    Some(Encoded { stored, content: content_digest(number, bytes), byte_counts })
}

/// The content digest of frame `number`: over the number of the frame and, for each run of nonzero blocks, its offset in the frame, its
/// length and its bytes.
pub fn content_digest(number: u64, bytes: &[u8]) -> Digest {
    let places: Vec<_> = runs(bytes)
        .map(|run| ([run.start as u64, run.len() as u64].map(u64::to_le_bytes).concat(), run))
        .collect();
    let number = number.to_le_bytes();
    let parts = places.iter().flat_map(|(place, run)| [&place[..], &bytes[run.clone()]]);
    Digest::of_all(std::iter::once(&number[..]).chain(parts))
}

/// Decodes a stored frame into its `len` bytes.
pub fn decode(stored: &[u8], len: usize) -> Result<Vec<u8>, &'static str> {
    const CUT: &str = "a frame is truncated";
    let body = zstd::bulk::decompress(stored, body_max(len)).map_err(|_| "a frame cannot be decompressed")?;
    let (count, rest) = body.split_at_checked(4).ok_or(CUT)?;
    let count = u32::from_le_bytes(count.try_into().expect("four bytes")) as usize;
    let mut bytes = vec![0; len];
    let (mut at, mut list) = (0_usize, rest);
    // The literal bytes start after the list.
    let mut literal = Vec::new();
    for _ in 0..count {
        let (head, rest) = list.split_at_checked(5).ok_or(CUT)?;
        list = rest;
        let piece = u32::from_le_bytes(head[1..].try_into().expect("four bytes")) as usize;
        let end =
            at.checked_add(piece).filter(|end| *end <= len).ok_or("a frame exceeds the maximum length")?;
        match head[0] {
            ZEROS => {}
            CONTENTS => {
                let (position, rest) = list.split_at_checked(8).ok_or(CUT)?;
                list = rest;
                let position = ContentPosition(u64::from_le_bytes(position.try_into().expect("eight bytes")));
                position.contents(&mut bytes[at..end]);
            }
            BYTES => literal.push(at..end),
            _ => return Err("a frame contains a piece of an unknown kind"),
        }
        at = end;
    }
    for place in literal {
        let (piece, rest) = list.split_at_checked(place.len()).ok_or(CUT)?;
        bytes[place].copy_from_slice(piece);
        list = rest;
    }
    if at != len || !list.is_empty() {
        return Err("a frame does not have its stated length");
    }
    Ok(bytes)
}

/// A frame before compression.
#[derive(Default)]
struct Body {
    count: u32,
    list: Vec<u8>,
    literal: Vec<u8>,
    /// Bytes of the image added so far.
    at: usize,
    byte_counts: ByteCounts,
}

impl Body {
    fn piece(&mut self, kind: u8, len: usize, position: Option<ContentPosition>) {
        if len == 0 {
            return;
        }
        self.count += 1;
        self.list.push(kind);
        self.list.extend((len as u32).to_le_bytes());
        if let Some(ContentPosition(position)) = position {
            self.list.extend(position.to_le_bytes());
            self.byte_counts.regenerated += len as u64;
        }
        self.at += len;
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.piece(BYTES, bytes.len(), None);
        self.literal.extend(bytes);
        self.byte_counts.literal += bytes.len() as u64;
    }

    fn finish(self) -> Vec<u8> {
        [&self.count.to_le_bytes()[..], &self.list, &self.literal].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BLOCK_BYTES;
    use proptest::prelude::*;
    use trace::FileId;

    /// Blocks with zeros, contents or arbitrary bytes.
    fn blocks() -> impl Strategy<Value = Vec<u8>> {
        let zeros = Just(vec![0; BLOCK_BYTES]);
        let made = (0u64..1000, 0u64..100, 1..=BLOCK_BYTES).prop_map(|(file, block, len)| {
            let mut bytes = vec![0; BLOCK_BYTES];
            replay::contents(42, FileId(file), block * BLOCK_BYTES as u64, &mut bytes[..len]);
            bytes
        });
        let any = prop::collection::vec(any::<u8>(), BLOCK_BYTES);
        prop::collection::vec(prop_oneof![zeros, made, any], 1..9).prop_map(|blocks| blocks.concat())
    }

    proptest! {
        #[test]
        fn frame_round_trips(mut bytes in blocks(), cut in 0..BLOCK_BYTES) {
            bytes.truncate(bytes.len() - cut);
            let encoded = encode(3, &bytes);
            prop_assert_eq!(encoded.is_none(), bytes.iter().all(|byte| *byte == 0));
            let Some(encoded) = encoded else { return Ok(()) };
            let back = decode(&encoded.stored, bytes.len()).unwrap();
            prop_assert_eq!(content_digest(3, &back), encoded.content);
            prop_assert_ne!(content_digest(4, &back), encoded.content);
            prop_assert_eq!(back, bytes);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(body in prop::collection::vec(any::<u8>(), 0..100), len in 0usize..5000) {
            let _ = decode(&body, len);
            let _ = decode(&zstd::bulk::compress(&body, 1).unwrap(), len);
        }

        #[test]
        fn arbitrary_list_does_not_panic(
            pieces in prop::collection::vec((0u8..4, 0u32..3000, any::<u64>()), 0..9), tail in 0usize..5000
        ) {
            let mut body = (pieces.len() as u32).to_le_bytes().to_vec();
            for (kind, len, position) in pieces {
                body.push(kind);
                body.extend(len.to_le_bytes());
                if kind == CONTENTS {
                    body.extend(position.to_le_bytes());
                }
            }
            body.resize(body.len() + tail, 7);
            if let Ok(bytes) = decode(&zstd::bulk::compress(&body, 1).unwrap(), 5000) {
                prop_assert_eq!(bytes.len(), 5000);
            }
        }
    }

    #[test]
    fn contents_take_no_space() {
        let mut bytes = vec![0; FRAME_BYTES as usize];
        replay::contents(7, FileId(1), 0, &mut bytes[..1 << 20]);
        let encoded = encode(0, &bytes).unwrap();
        assert!(encoded.stored.len() < 100, "{}", encoded.stored.len());
        assert_eq!(encoded.byte_counts, ByteCounts { literal: 0, regenerated: 1 << 20 });
    }
}

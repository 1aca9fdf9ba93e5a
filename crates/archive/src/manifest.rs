//! The manifest of a saved image.

use digest::Digest;
use serde::{Deserialize, Serialize};

/// The description of a saved image, stored as JSON. A signature of the manifest authenticates the whole file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The format version of the file.
    pub format: u32,
    /// The program and version that wrote the file.
    pub tool: String,
    /// The contents of the file, with checksums.
    pub contents: ArchiveContents,
    /// A description of the image, supplied by the caller of [`crate::write()`].
    pub about: serde_json::Value,
}

/// The contents of a saved image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ArchiveContents {
    /// Size of the image in bytes.
    pub size_bytes: u64,
    /// Length of a frame in the image.
    pub frame_bytes: u64,
    /// Number of frames in the file; all others are zeros.
    pub frames: u64,
    /// Bytes of the image that are stored literally.
    #[serde(rename = "kept_bytes")]
    pub literal_bytes: u64,
    /// Bytes of the image that are regenerated.
    #[serde(rename = "made_bytes")]
    pub regenerated_bytes: u64,
    /// Bytes of the image that the file system does not use; they are restored as zeros.
    pub unused_bytes: u64,
    /// Digest of the index, which has the digest of each stored frame.
    pub index_sha256: Digest,
    /// Digest of the restored image: of its size and the content digests of its frames. Images with equal digests are equal.
    pub content_sha256: Digest,
}

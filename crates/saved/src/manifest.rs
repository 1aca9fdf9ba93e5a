//! The manifest of a saved image.

use digest::Digest;
use serde::{Deserialize, Serialize};

/// What a saved image is; JSON in the file, a signature of which is one of the whole file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of the file.
    pub format: u32,
    /// The program that wrote it, with its version.
    pub tool: String,
    /// What the file holds, with the checksums.
    pub contents: Contents,
    /// What the image is: for whoever saved it to say.
    pub about: serde_json::Value,
}

/// What a saved image holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Contents {
    /// Bytes of the image.
    pub size_bytes: u64,
    /// Bytes of the image in a frame.
    pub frame_bytes: u64,
    /// Frames in the file; all others are zeros.
    pub frames: u64,
    /// Bytes of the image that are kept as they are.
    pub kept_bytes: u64,
    /// Bytes of the image that are made again.
    pub made_bytes: u64,
    /// Bytes of the image that the file system does not use: they are zeros when it is restored, whatever they were.
    pub unused_bytes: u64,
    /// Of the index, which has that of each frame as it is stored.
    pub index_sha256: Digest,
    /// Of the restored image: of its size and, frame by frame, what they hold. Two images with the same one are the same.
    pub content_sha256: Digest,
}

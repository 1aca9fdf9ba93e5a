//! Kernel images: the release, and the uncompressed kernel.
//!
//! An emulated processor spends half of the boot on decompressing the kernel; the host does it in a second.
//! QEMU boots the uncompressed kernel through its PVH entry (`CONFIG_PVH`).
//!
//! `Documentation/arch/x86/boot.rst` of the kernel describes the layout.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

/// Offset of the number of setup sectors after the boot sector.
const SETUP_SECTS: usize = 0x1f1;
/// Offset and value of the header's magic number.
const MAGIC: (usize, &[u8]) = (0x202, b"HdrS");
/// Offset of the pointer to the version, which is relative to [`SECTOR`].
const KERNEL_VERSION: usize = 0x20e;
/// Offsets of the start of the compressed kernel, relative to the end of the setup, and of its length.
const PAYLOAD: [usize; 2] = [0x248, 0x24c];
const SECTOR: usize = 0x200;

const ELF: &[u8] = b"\x7fELF";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// Decompression programs by the magic number of their format.
const PROGRAMS: [(&[u8], &[&str]); 2] =
    [(b"\xfd7zXZ\0", &["xz", "-dc", "--single-stream"]), (b"\x1f\x8b", &["gzip", "-dc"])];

/// The release, as printed by `uname -r`; `None` if the image is not a kernel.
pub fn release(image: &[u8]) -> Option<String> {
    is_kernel(image).then_some(())?;
    let at = u16::from_le_bytes(image.get(KERNEL_VERSION..KERNEL_VERSION + 2)?.try_into().ok()?);
    let text = image.get(SECTOR + usize::from(at)..)?;
    let text = &text[..text.iter().take(256).position(|b| *b == 0 || *b == b' ')?];
    let text = std::str::from_utf8(text).ok()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-+_~".contains(c);
    (!text.is_empty() && text.chars().all(plain)).then(|| text.to_owned())
}

/// The uncompressed kernel; `None` if it cannot be extracted or cannot boot uncompressed.
pub fn uncompressed(image: &[u8]) -> Option<Vec<u8>> {
    is_kernel(image).then_some(())?;
    let number = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    let setup = match image.get(SETUP_SECTS)? {
        0 => 4,
        n => usize::from(*n),
    };
    let begin = (setup + 1) * SECTOR + number(PAYLOAD[0])?;
    let payload = image.get(begin..begin.checked_add(number(PAYLOAD[1])?)?)?;
    let kernel = uncompress(payload)?;
    kernel.starts_with(ELF).then_some(kernel)
}

/// Decompresses data; also used for kernel modules, which may be compressed in the same ways.
pub fn uncompress(data: &[u8]) -> Option<Vec<u8>> {
    if data.starts_with(ELF) {
        return Some(data.to_vec());
    }
    if data.starts_with(ZSTD) {
        let mut out = Vec::new();
        // The length of the kernel follows the frame.
        zstd::Decoder::new(data).ok()?.single_frame().read_to_end(&mut out).ok()?;
        return Some(out);
    }
    let (_, program) = PROGRAMS.iter().find(|(magic, _)| data.starts_with(magic))?;
    let mut child = Command::new(program[0])
        .args(&program[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut to = child.stdin.take()?;
    std::thread::scope(|scope| {
        // The program may end before it has read the data after the frame.
        scope.spawn(move || drop(to.write_all(data)));
        let out = child.wait_with_output().ok()?.stdout;
        (!out.is_empty()).then_some(out)
    })
}

fn is_kernel(image: &[u8]) -> bool {
    image.get(MAGIC.0..MAGIC.0 + MAGIC.1.len()) == Some(MAGIC.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An image with a header, a version and a payload.
    fn image(version: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 0x1000];
        image[SETUP_SECTS] = 3;
        image[MAGIC.0..MAGIC.0 + 4].copy_from_slice(MAGIC.1);
        image[KERNEL_VERSION..KERNEL_VERSION + 2].copy_from_slice(&0x400u16.to_le_bytes());
        image[0x600..0x600 + version.len()].copy_from_slice(version);
        image[PAYLOAD[0]..PAYLOAD[0] + 4].copy_from_slice(&0x800u32.to_le_bytes());
        image[PAYLOAD[1]..PAYLOAD[1] + 4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend(payload);
        image
    }

    #[test]
    fn kernel_is_uncompressed_and_release_is_read() {
        let kernel = [ELF, &[7; 5000]].concat();
        let mut payload = zstd::encode_all(&kernel[..], 1).unwrap();
        payload.extend(5004u32.to_le_bytes());
        let image = image(b"6.1.0-56-amd64 (somebody) #1 SMP", &payload);
        assert_eq!(release(&image).unwrap(), "6.1.0-56-amd64");
        assert_eq!(uncompressed(&image).unwrap(), kernel);
        assert_eq!(release(b"#!/bin/sh"), None);
    }

    proptest! {
        #[test]
        fn damaged_image_is_handled(at in 0usize..0x1200, byte: u8, len in 0usize..0x1400) {
            let mut image = image(b"6.1.0 (x)", &zstd::encode_all(ELF, 1).unwrap());
            if let Some(old) = image.get_mut(at) {
                *old = byte;
            }
            image.truncate(len);
            let _ = (release(&image), uncompressed(&image));
        }

        #[test]
        fn any_file_is_handled(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            prop_assert!(release(&bytes).is_none() && uncompressed(&bytes).is_none());
        }
    }
}

//! What is in the file of a kernel: its release, and the kernel itself, uncompressed.
//!
//! A processor that is emulated takes half of the boot to uncompress the kernel, which this one does in a second. QEMU boots
//! the uncompressed kernel through its PVH entry (`CONFIG_PVH`).
//!
//! The layout is the kernel's `Documentation/arch/x86/boot.rst`.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

/// Where the header says how many sectors set-up takes, behind the boot sector.
const SETUP_SECTS: usize = 0x1f1;
/// The header's magic number.
const MAGIC: (usize, &[u8]) = (0x202, b"HdrS");
/// Where it points to the version, from [`SECTOR`] on.
const KERNEL_VERSION: usize = 0x20e;
/// Where it says where the compressed kernel begins, from the end of set-up on, and how long it is.
const PAYLOAD: [usize; 2] = [0x248, 0x24c];
const SECTOR: usize = 0x200;

const ELF: &[u8] = b"\x7fELF";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// The programs that uncompress what begins so.
const PROGRAMS: [(&[u8], &[&str]); 2] =
    [(b"\xfd7zXZ\0", &["xz", "-dc", "--single-stream"]), (b"\x1f\x8b", &["gzip", "-dc"])];

/// The release, as `uname -r` tells it; `None` if this is no kernel.
pub fn release(image: &[u8]) -> Option<String> {
    is_kernel(image).then_some(())?;
    let at = u16::from_le_bytes(image.get(KERNEL_VERSION..KERNEL_VERSION + 2)?.try_into().ok()?);
    let text = image.get(SECTOR + usize::from(at)..)?;
    let text = &text[..text.iter().take(256).position(|b| *b == 0 || *b == b' ')?];
    let text = std::str::from_utf8(text).ok()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-+_~".contains(c);
    (!text.is_empty() && text.chars().all(plain)).then(|| text.to_owned())
}

/// The kernel without what uncompresses it, where it can be booted so.
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

/// The modules of a kernel may be compressed in the same ways.
pub fn uncompress(data: &[u8]) -> Option<Vec<u8>> {
    if data.starts_with(ELF) {
        return Some(data.to_vec());
    }
    if data.starts_with(ZSTD) {
        let mut out = Vec::new();
        // The length of the kernel stands behind the frame.
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
        // It ends before it has read what stands behind.
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

    /// A file with a header, a version and a payload.
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
    fn a_kernel_is_uncompressed_and_told_by_its_release() {
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
        fn damage_is_survived(at in 0usize..0x1200, byte: u8, len in 0usize..0x1400) {
            let mut image = image(b"6.1.0 (x)", &zstd::encode_all(ELF, 1).unwrap());
            if let Some(old) = image.get_mut(at) {
                *old = byte;
            }
            image.truncate(len);
            let _ = (release(&image), uncompressed(&image));
        }

        #[test]
        fn any_file_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            prop_assert!(release(&bytes).is_none() && uncompressed(&bytes).is_none());
        }
    }
}

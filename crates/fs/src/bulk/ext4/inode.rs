//! The on-disk inode.

use super::checksum;
use super::superblock::{Layout, u16_at, u32_at};
use snapshot::{Entry, Kind, ROOT};

/// Size of the original inode; larger ones continue with the number of extra bytes in use.
const OLD_BYTES: usize = 128;

const CHECKSUM_LOW: usize = 0x7c;
const CHECKSUM_HIGH: usize = 0x82;

const FLAG_ENCRYPTED: u32 = 0x800;
const FLAG_HUGE_FILE: u32 = 0x4_0000;
const FLAG_EXTENTS: u32 = 0x8_0000;
const FLAG_INLINE_DATA: u32 = 0x1000_0000;

/// The bytes of an inode with a valid checksum.
pub struct Inode<'b> {
    bytes: &'b [u8],
    number: u64,
    /// Number of bytes in use.
    used: usize,
    /// The seed for the checksums of the inode's own blocks.
    pub seed: u32,
}

impl<'b> Inode<'b> {
    /// Parses the bytes of an inode; `None` if the checksum is wrong.
    pub fn read(layout: &Layout, number: u64, bytes: &'b [u8]) -> Option<Inode<'b>> {
        let used = match bytes.len() {
            OLD_BYTES => OLD_BYTES,
            len => match usize::from(u16_at(bytes, OLD_BYTES)) {
                // Kernels that support larger inodes never write 0.
                0 => return None,
                extra => Some(OLD_BYTES + extra).filter(|used| *used <= len && extra % 4 == 0)?,
            },
        };
        let seed = checksum::update(layout.seed, &(number as u32).to_le_bytes());
        let seed = checksum::update(seed, &bytes[0x64..0x68]);
        let inode = Inode { bytes, number, used, seed };
        inode.is_intact().then_some(inode)
    }

    fn is_intact(&self) -> bool {
        let bytes = self.bytes;
        let low = u16_at(bytes, CHECKSUM_LOW);
        let sum = checksum::update(self.seed, &bytes[..CHECKSUM_LOW]);
        let sum = checksum::update(sum, &[0; 2]);
        let sum = checksum::update(sum, &bytes[CHECKSUM_LOW + 2..OLD_BYTES]);
        if bytes.len() == OLD_BYTES {
            return sum as u16 == low;
        }
        let sum = checksum::update(sum, &bytes[OLD_BYTES..CHECKSUM_HIGH]);
        if self.used < CHECKSUM_HIGH + 2 {
            return checksum::update(sum, &bytes[CHECKSUM_HIGH..]) as u16 == low;
        }
        let sum = checksum::update(sum, &[0; 2]);
        let sum = checksum::update(sum, &bytes[CHECKSUM_HIGH + 2..]);
        sum == u32::from(u16_at(bytes, CHECKSUM_HIGH)) << 16 | u32::from(low)
    }

    fn flags(&self) -> u32 {
        u32_at(self.bytes, 0x20)
    }

    /// The block map: the root of an extent tree, or block numbers.
    pub fn map(&self) -> &'b [u8] {
        &self.bytes[0x28..0x64]
    }

    /// Whether the block map is an extent tree.
    pub fn has_extents(&self) -> bool {
        self.flags() & FLAG_EXTENTS != 0
    }

    /// The values of `statx`, and the generation. `None` for a free inode, for a directory, and where `statx` derives the values
    /// differently: for inline data and for encrypted symbolic links.
    pub fn entry(&self, layout: &Layout) -> Option<Entry> {
        let kind = match u16_at(self.bytes, 0) >> 12 {
            0o10 => Kind::File,
            0o12 => Kind::Symlink,
            0o1 | 0o2 | 0o6 | 0o14 => Kind::Special,
            _ => return None,
        };
        let links = u16_at(self.bytes, 0x1a);
        let flags = self.flags();
        let is_encrypted_link = kind == Kind::Symlink && flags & FLAG_ENCRYPTED != 0;
        if links == 0 || flags & FLAG_INLINE_DATA != 0 || is_encrypted_link {
            return None;
        }
        let high = |at| u64::from(u32_at(self.bytes, at)) << 32;
        let size = u64::from(u32_at(self.bytes, 0x4)) | if kind == Kind::File { high(0x6c) } else { 0 };
        Some(Entry {
            parent: ROOT,
            kind,
            inode: self.number,
            generation: (kind == Kind::File).then(|| u32_at(self.bytes, 0x64)),
            links: links.into(),
            size,
            allocated: self.allocated(layout),
            changed_ns: self.time(0xc, 0x84),
            modified_ns: self.time(0x10, 0x88),
            born_ns: (self.used >= 0x94).then(|| self.time(0x90, 0x94)),
        })
    }

    fn allocated(&self, layout: &Layout) -> u64 {
        let low = u64::from(u32_at(self.bytes, 0x1c));
        if !layout.has_huge_files {
            return low * 512;
        }
        let units = u64::from(u16_at(self.bytes, 0x74)) << 32 | low;
        units.saturating_mul(if self.flags() & FLAG_HUGE_FILE != 0 { layout.block_bytes } else { 512 })
    }

    /// A time in nanoseconds since 1970: signed seconds and, if the inode has room, two more bits of seconds and thirty bits of
    /// nanoseconds.
    fn time(&self, seconds_at: usize, extra_at: usize) -> i64 {
        let extra = if self.used >= extra_at + 4 { u32_at(self.bytes, extra_at) } else { 0 };
        let seconds = i64::from(u32_at(self.bytes, seconds_at) as i32) + (i64::from(extra & 3) << 32);
        seconds.saturating_mul(1_000_000_000).saturating_add((extra >> 2).into())
    }
}

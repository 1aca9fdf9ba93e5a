//! The file system's own record, and `mkfs`.

use std::path::Path;
use std::sync::Arc;

use betree::{Batch, Params, Storage, Store};

use crate::error::{Error, Result};
use crate::fs::ROOT;
use crate::image::open_read_only;
use crate::key;
use crate::record::{Place, Record, Time};

const MAGIC: &[u8; 8] = b"betreefs";
const VERSION: u32 = 1;
/// The largest block of data.
const BLOCK_BYTES: u32 = 64 << 10;
/// The smallest image: its nodes are large enough for keys with names of 255 bytes.
pub const MIN_BYTES: u64 = 16 << 20;

pub(crate) struct Super {
    pub block_bytes: u32,
    /// Upper bound of the inode numbers in use.
    pub next_number: u64,
    /// Bytes of the image at the time of `mkfs`.
    pub bytes: u64,
    /// The label.
    pub label: String,
}

impl Super {
    pub fn read(store: &Store) -> Result<Self> {
        let value =
            store.get(key::SUPER)?.ok_or_else(|| Error::Foreign("it has no superblock record".into()))?;
        Self::decode(&value)
    }

    fn decode(value: &[u8]) -> Result<Self> {
        let rest = value
            .strip_prefix(MAGIC)
            .ok_or_else(|| Error::Foreign("its superblock has another magic number".into()))?;
        let (version, rest) = rest.split_first_chunk().ok_or_else(short)?;
        let version = u32::from_le_bytes(*version);
        if version != VERSION {
            return Err(Error::NewerVersion { found: version, known: VERSION });
        }
        let (block, rest) = rest.split_first_chunk().ok_or_else(short)?;
        let (number, rest) = rest.split_first_chunk().ok_or_else(short)?;
        let (bytes, label) = rest.split_first_chunk().ok_or_else(short)?;
        let label = std::str::from_utf8(label).map_err(|_| Error::Damaged("its label is not text".into()))?;
        let found = Self {
            block_bytes: u32::from_le_bytes(*block),
            next_number: u64::from_le_bytes(*number),
            bytes: u64::from_le_bytes(*bytes),
            label: label.to_owned(),
        };
        if !found.block_bytes.is_power_of_two() || !(4096..=1 << 20).contains(&found.block_bytes) {
            return Err(Error::Damaged(format!("blocks of {} bytes", found.block_bytes)));
        }
        Ok(found)
    }

    pub fn write(&self, store: &Store) -> Result<()> {
        Ok(store.insert(key::SUPER, &self.encode())?)
    }

    fn encode(&self) -> Vec<u8> {
        let mut value = MAGIC.to_vec();
        value.extend_from_slice(&VERSION.to_le_bytes());
        value.extend_from_slice(&self.block_bytes.to_le_bytes());
        value.extend_from_slice(&self.next_number.to_le_bytes());
        value.extend_from_slice(&self.bytes.to_le_bytes());
        value.extend_from_slice(self.label.as_bytes());
        value
    }
}

fn short() -> Error {
    Error::Damaged("its record is too short".into())
}

/// Creates an empty file system with label `label` on the whole of `storage`, and destroys its content. The root belongs to `owner` (user, group).
///
/// # Errors
/// If the storage is too small or a write fails.
pub fn mkfs(storage: Arc<dyn Storage>, owner: (u32, u32), label: &str) -> Result<()> {
    let bytes = storage.len().map_err(|e| Error::Errno(e.raw_os_error().unwrap_or(libc::EIO)))?;
    large_enough(bytes)?;
    let params = params(bytes);
    Store::create(&*storage, params)?;
    let store = Store::open(storage, betree::Options::default())?;
    let now = Time::now();
    let root = Record {
        ino: ROOT,
        mode: libc::S_IFDIR | 0o755,
        uid: owner.0,
        gid: owner.1,
        links: 2,
        atime: now,
        mtime: now,
        ctime: now,
        birth: now,
        ..Record::default()
    };
    let block_bytes = BLOCK_BYTES.min(params.max_value_bytes() as u32);
    let mut batch = Batch::new();
    batch.insert(
        key::SUPER,
        &Super { block_bytes, next_number: ROOT + 1, bytes, label: label.to_owned() }.encode(),
    );
    batch.insert(key::ROOT, &root.encode(&Place::Away(Arc::from([]))));
    store.write(&batch)?;
    Ok(store.close()?)
}

/// Returns an error if an image of this size is too small for a file system.
pub(crate) fn large_enough(bytes: u64) -> Result<()> {
    if bytes >= MIN_BYTES {
        return Ok(());
    }
    let why = format!("{bytes} bytes; a file system needs at least {} MiB", MIN_BYTES >> 20);
    Err(betree::Error::Params(why).into())
}

/// The label of the file system in an image or on a device; a clean unmount is not required.
///
/// # Errors
/// If there is no file system, or it is in use.
pub fn label(image: &Path) -> Result<String> {
    let store = Store::open(open_read_only(image)?, betree::Options::default())?;
    Ok(Super::read(&store)?.label)
}

fn params(bytes: u64) -> Params {
    // The leaves of a node are rewritten together: more of them are adjacent.
    let mut params = Params { fanout: 8, ..Params::for_image(bytes) };
    // Keys of at least 1 KiB, and values of 16 KiB.
    if params.node_bytes < 64 << 10 {
        params.node_bytes = 64 << 10;
        params.basement_bytes = params.basement_bytes.max(4096);
        params.log_bytes = params.log_bytes.max(4 * u64::from(params.node_bytes));
    }
    params
}

//! Reading the trees of a mounted Btrfs: `BTRFS_IOC_TREE_SEARCH_V2` of `<linux/btrfs.h>`.

use super::chunk::{self, Chunk};
use super::free_space_tree::{self, Item, Key};
use crate::{AddressMap, Error};
use disk::Extent;
use rustix::ioctl::{Getter, Updater, ioctl, opcode};
use std::fs::File;
use std::io;
use std::path::Path;

/// Bytes of items per request; the largest item is a node of 64 KiB.
const ITEMS_BYTES: usize = 1 << 20;

/// `BTRFS_CHUNK_TREE_OBJECTID` and `BTRFS_FREE_SPACE_TREE_OBJECTID`.
const CHUNK_TREE: u64 = 3;
const FREE_SPACE_TREE: u64 = 10;

/// `struct btrfs_ioctl_search_args_v2` without items; its size is part of the request number.
#[repr(C)]
struct Head {
    tree: u64,
    min_objectid: u64,
    max_objectid: u64,
    min_offset: u64,
    max_offset: u64,
    min_transid: u64,
    max_transid: u64,
    min_type: u32,
    max_type: u32,
    nr_items: u32,
    unused: [u32; 9],
    buf_bytes: u64,
}

#[repr(C)]
struct Query {
    head: Head,
    items: [u8; ITEMS_BYTES],
}

/// The free extents in the data block groups of the Btrfs mounted at `root`, by logical address.
pub fn free_extents(root: &Path) -> Result<Vec<Extent>, Error> {
    let fail = |e: io::Error| Error::io("listing the free space of", root)(e);
    let file = File::open(root).map_err(fail)?;
    // Tree searches return the state of the last transaction.
    rustix::fs::syncfs(&file).map_err(io::Error::from).map_err(fail)?;
    let sector = rustix::fs::fstatvfs(&file).map_err(io::Error::from).map_err(fail)?.f_bsize;
    let mut chunks = Vec::new();
    search(&file, root, CHUNK_TREE, free_space_tree::CHUNKS, &mut |item| {
        chunks.extend(free_space_tree::data_chunk(item)?);
        Ok(())
    })?;
    let mut free = free_space_tree::FreeSpace::new(chunks, sector);
    search(&file, root, FREE_SPACE_TREE, free_space_tree::ALL, &mut |item| free.add(item))?;
    Ok(free.extents())
}

/// The extents of `device` that the Btrfs mounted at `root` does not use: the space outside all chunks, and the free space within
/// chunks. `None` if the chunks are striped or on several devices, or if the Btrfs has no free-space tree.
pub fn unused_extents(device: &Path, root: &Path) -> Result<Option<Vec<Extent>>, Error> {
    let fail = |e: io::Error| Error::io("listing the unused space of", root)(e);
    let file = File::open(root).map_err(fail)?;
    rustix::fs::syncfs(&file).map_err(io::Error::from).map_err(fail)?;
    let sector = rustix::fs::fstatvfs(&file).map_err(io::Error::from).map_err(fail)?.f_bsize;
    let size = File::open(device)
        .and_then(|mut device| io::Seek::seek(&mut device, io::SeekFrom::End(0)))
        .map_err(Error::io("reading the size of", device))?;
    let Some(chunks) = chunks_on_one_device(&file, root)? else { return Ok(None) };
    let groups = chunks.iter().map(|chunk| chunk.logical).collect();
    let mut free = free_space_tree::FreeSpace::new(groups, sector);
    match search(&file, root, FREE_SPACE_TREE, free_space_tree::ALL, &mut |item| free.add(item)) {
        Err(Error::NoFreeSpaceTree(_)) => return Ok(None),
        searched => searched?,
    }
    Ok(Some(chunk::unused_extents(&chunks, &free.extents(), size)))
}

/// Where the logical addresses of the Btrfs mounted at `root` lie on its device; `None` if its chunks are striped or on several devices.
pub fn address_map(root: &Path) -> Result<Option<AddressMap>, Error> {
    let file = File::open(root).map_err(Error::io("listing the chunks of", root))?;
    Ok(chunks_on_one_device(&file, root)?.map(|chunks| chunk::address_map(&chunks)))
}

/// All chunks; `None` if they are striped or on several devices.
fn chunks_on_one_device(file: &File, root: &Path) -> Result<Option<Vec<Chunk>>, Error> {
    let mut chunks = Some(Vec::new());
    search(file, root, CHUNK_TREE, free_space_tree::CHUNKS, &mut |item| {
        if let Some(found) = &mut chunks {
            match chunk::parse(item)? {
                Some(chunk) => found.push(chunk),
                None => chunks = None,
            }
        }
        Ok(())
    })?;
    Ok(chunks.filter(|chunks: &Vec<_>| chunk::on_one_device(chunks)))
}

/// The UUID of the Btrfs mounted at `root`, in the notation of `/sys/fs/btrfs`.
pub fn id(root: &Path) -> io::Result<String> {
    /// `struct btrfs_ioctl_fs_info_args`.
    #[repr(C)]
    struct Info {
        before: [u64; 2],
        id: [u8; 16],
        after: [u8; 992],
    }
    const FS_INFO: u32 = opcode::read::<Info>(0x94, 31);
    let file = File::open(root)?;
    // SAFETY: the structure is as large as the kernel's, and takes any bytes.
    let info = unsafe { ioctl(&file, Getter::<FS_INFO, Info>::new()) }?;
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let parts = [&info.id[..4], &info.id[4..6], &info.id[6..8], &info.id[8..10], &info.id[10..]];
    Ok(parts.map(hex).join("-"))
}

/// Calls `visit` for the items of a tree with keys in the range, in key order.
fn search(
    file: &File,
    root: &Path,
    tree: u64,
    (mut from, to): (Key, Key),
    visit: &mut dyn FnMut(&Item) -> Result<(), &'static str>,
) -> Result<(), Error> {
    let mut query = Box::new(Query {
        head: Head {
            tree,
            min_objectid: 0,
            max_objectid: to.objectid,
            min_offset: 0,
            max_offset: to.offset,
            min_transid: 0,
            max_transid: u64::MAX,
            min_type: 0,
            max_type: to.kind.into(),
            nr_items: 0,
            unused: [0; 9],
            buf_bytes: ITEMS_BYTES as u64,
        },
        items: [0; ITEMS_BYTES],
    });
    loop {
        let head = &mut query.head;
        (head.min_objectid, head.min_type, head.min_offset) = (from.objectid, from.kind.into(), from.offset);
        head.nr_items = u32::MAX;
        const TREE_SEARCH_V2: u32 = opcode::read_write::<Head>(0x94, 17);
        // SAFETY: the kernel writes no more than `buf_bytes` bytes of items, and that many follow the head.
        let answer = unsafe { ioctl(file, Updater::<TREE_SEARCH_V2, Query>::new(&mut query)) };
        match answer {
            Err(rustix::io::Errno::NOENT) if tree == FREE_SPACE_TREE => {
                return Err(Error::NoFreeSpaceTree(root.to_owned()));
            }
            answer => answer.map_err(Error::io("listing the free space of", root))?,
        }
        let wrong = |why| Error::Answer { path: root.to_owned(), why };
        let items = free_space_tree::items(&query.items, query.head.nr_items).map_err(wrong)?;
        items.iter().try_for_each(&mut *visit).map_err(wrong)?;
        match items.last().and_then(|last| last.key.next()) {
            Some(next) if next <= to => from = next,
            _ => return Ok(()),
        }
    }
}

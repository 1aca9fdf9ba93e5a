//! Where a file's bytes lie, from the `FIEMAP` call.

use rustix::fd::AsFd;
use rustix::io;
use rustix::ioctl::{Updater, ioctl, opcode};

/// A run of a file's bytes that lies together on disk, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub(crate) struct Extent {
    pub logical: u64,
    pub physical: u64,
    pub length: u64,
    reserved: [u64; 2],
    pub flags: u32,
    reserved_too: [u32; 3],
}

/// The last extent of the file.
const LAST: u32 = 0x1;
/// Preallocated, not written to: it reads as zeros.
pub(crate) const UNWRITTEN: u32 = 0x800;

/// How many extents to ask for at once.
const MANY: usize = 128;
/// Write out what is dirty first, so that what was written counts as written.
const SYNC: u32 = 0x1;
const FIEMAP: rustix::ioctl::Opcode = opcode::read_write::<Head>(b'f', 11);

/// The call's argument without the extents, of which its code counts none.
#[repr(C)]
struct Head {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
}

#[repr(C)]
struct Request {
    head: Head,
    extents: [Extent; MANY],
}

/// Calls `found` with the extents of a file in ascending order, those of holes left out.
pub(crate) fn extents(fd: impl AsFd, mut found: impl FnMut(&Extent) -> io::Result<()>) -> io::Result<()> {
    let mut start = 0;
    loop {
        let head =
            Head { start, length: u64::MAX - start, flags: SYNC, mapped: 0, room: MANY as u32, reserved: 0 };
        let mut request = Request { head, extents: [Extent::default(); MANY] };
        // SAFETY: the structure is laid out as `struct fiemap` with `room` extents behind it, as the call expects.
        unsafe { ioctl(&fd, Updater::<FIEMAP, Request>::new(&mut request))? };
        let mapped = &request.extents[..request.head.mapped as usize];
        mapped.iter().try_for_each(&mut found)?;
        match mapped.last() {
            Some(last) if last.flags & LAST == 0 => start = last.logical + last.length,
            _ => return Ok(()),
        }
    }
}

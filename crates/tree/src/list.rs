//! Directory listings.

use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

/// Bytes of directory entries read at once.
pub(crate) const LISTING_BYTES: usize = 64 * 1024;

/// A listing, without `.` and `..`.
#[derive(Default)]
pub(crate) struct Listing {
    /// Names of subdirectories.
    pub dirs: Vec<CString>,
    /// All other entries.
    pub files: Vec<ListedFile>,
    pub names: Names,
}

/// Names of the files of a directory. They lie one behind the other: an allocation for each would cost more than the listing.
#[derive(Default)]
pub struct Names(Vec<u8>);

/// An entry other than a directory.
pub struct ListedFile {
    /// Its type, which some file systems do not tell.
    pub file_type: FileType,
    /// Its inode. File systems in user space may tell none.
    pub inode: u64,
    /// Where its name begins and ends, with the zero behind it.
    name: (u32, u32),
}

impl Names {
    /// The name of an entry of the same listing.
    pub fn of(&self, listed: &ListedFile) -> &CStr {
        let (start, end) = listed.name;
        let name = CStr::from_bytes_with_nul(&self.0[start as usize..end as usize]);
        name.expect("it was copied whole")
    }

    fn add(&mut self, name: &CStr) -> (u32, u32) {
        let start = self.0.len();
        self.0.extend_from_slice(name.to_bytes_with_nul());
        let place = |at| u32::try_from(at).expect("no directory lists 4 GiB of names");
        (place(start), place(self.0.len()))
    }
}

/// Appends the entries of a directory to `listing`; reads them through the spare capacity of `buffer`.
pub(crate) fn list(fd: &OwnedFd, buffer: &mut Vec<u8>, listing: &mut Listing) -> Result<(), Errno> {
    let mut entries = RawDir::new(fd, buffer.spare_capacity_mut() as &mut [MaybeUninit<u8>]);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        match entry.file_type() {
            _ if name == c"." || name == c".." => {}
            FileType::Directory => listing.dirs.push(name.to_owned()),
            file_type => {
                let name = listing.names.add(name);
                listing.files.push(ListedFile { file_type, inode: entry.ino(), name });
            }
        }
    }
    Ok(())
}

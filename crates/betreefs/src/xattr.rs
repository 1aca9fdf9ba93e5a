//! Extended attributes, stored in the inode record.

use betree::Batch;

use crate::error::{Result, fail};
use crate::fs::Fs;
use crate::record::Time;

/// Limit of the names and values of one inode, in bytes.
const ALL_MAX: usize = 128 << 10;

/// Whether the attribute must exist or must not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetXattr {
    /// Either.
    Any,
    /// It must not exist.
    Create,
    /// It must exist.
    Replace,
}

fn check_name(name: &[u8]) -> Result<()> {
    let spaces: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];
    if spaces.iter().any(|space| name.starts_with(space)) { Ok(()) } else { fail(libc::EOPNOTSUPP) }
}

impl Fs {
    /// The value of an attribute.
    ///
    /// # Errors
    /// `ENODATA` if it does not exist.
    pub fn xattr(&self, ino: u64, name: &[u8]) -> Result<Vec<u8>> {
        check_name(name)?;
        let inode = self.inode(ino)?;
        let state = inode.state.lock();
        state.record.xattrs.get(name).map_or_else(|| fail(libc::ENODATA), |value| Ok(value.to_vec()))
    }

    /// The names of all attributes, each followed by a zero byte.
    ///
    /// # Errors
    /// `ESTALE`.
    pub fn xattrs(&self, ino: u64) -> Result<Vec<u8>> {
        let inode = self.inode(ino)?;
        let state = inode.state.lock();
        Ok(state.record.xattrs.keys().flat_map(|name| name.iter().copied().chain([0])).collect())
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// `EEXIST`, `ENODATA`, `ENOSPC` if the attributes exceed the limit, `EOPNOTSUPP` for names outside the supported namespaces.
    pub fn set_xattr(&self, ino: u64, name: &[u8], value: &[u8], how: SetXattr) -> Result<()> {
        check_name(name)?;
        if name.len() > 255 {
            return fail(libc::ERANGE);
        }
        self.change_xattrs(ino, |xattrs, max| {
            match (xattrs.contains_key(name), how) {
                (true, SetXattr::Create) => return fail(libc::EEXIST),
                (false, SetXattr::Replace) => return fail(libc::ENODATA),
                _ => {}
            }
            xattrs.insert(name.into(), value.into());
            let all: usize = xattrs.iter().map(|(name, value)| 5 + name.len() + value.len()).sum();
            if all > max { fail(libc::ENOSPC) } else { Ok(()) }
        })
    }

    /// Removes an attribute.
    ///
    /// # Errors
    /// `ENODATA` if it does not exist.
    pub fn remove_xattr(&self, ino: u64, name: &[u8]) -> Result<()> {
        check_name(name)?;
        self.change_xattrs(ino, |xattrs, _| {
            xattrs.remove(name).map_or_else(|| fail(libc::ENODATA), |_| Ok(()))
        })
    }

    fn change_xattrs(
        &self,
        ino: u64,
        change: impl FnOnce(&mut crate::record::Xattrs, usize) -> Result<()>,
    ) -> Result<()> {
        let _tree = self.tree.read();
        let inode = self.inode(ino)?;
        let mut state = inode.state.lock();
        let mut record = state.record.clone();
        let max = ALL_MAX.min(self.store.params().max_value_bytes() / 2);
        let before = record.xattrs.len();
        change(&mut record.xattrs, max)?;
        record.ctime = Time::now();
        let mut batch = Batch::new();
        self.put(&mut batch, &inode, &record)?;
        if record.xattrs.len() < before {
            self.write_batch(&batch)?
        } else {
            self.grow(&batch)?
        }
        self.apply_written(&inode, &mut state, record);
        Ok(())
    }
}

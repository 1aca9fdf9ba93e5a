//! Inode records and their encoding: see the table in `FORMAT.md`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};
use crate::key;

const RECORD: u8 = 1;
const REDIRECT: u8 = 2;
const DISPLACED: u8 = 1;
/// Bytes of a record before its place field.
pub(crate) const FIXED: usize = 96;

/// A time stamp as in system calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Seconds since 1970.
    pub s: i64,
    /// Nanoseconds of that second.
    pub ns: u32,
}

impl Time {
    /// The current time.
    pub fn now() -> Self {
        SystemTime::now().into()
    }
}

impl From<SystemTime> for Time {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self { s: after.as_secs() as i64, ns: after.subsec_nanos() },
            Err(before) => {
                let before = before.duration();
                let part = before.subsec_nanos();
                let s = -(before.as_secs() as i64) - i64::from(part > 0);
                Self { s, ns: if part > 0 { 1_000_000_000 - part } else { 0 } }
            }
        }
    }
}

impl From<Time> for SystemTime {
    fn from(time: Time) -> Self {
        let seconds = Duration::from_secs(time.s.unsigned_abs());
        let second = if time.s < 0 { UNIX_EPOCH - seconds } else { UNIX_EPOCH + seconds };
        second + Duration::from_nanos(time.ns.into())
    }
}

/// The location of the keys of an inode's data or entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// At home: the prefix of its directory and one component.
    Home,
    /// At home, with its number as a tag.
    Tagged,
    /// Under a prefix of its own.
    Away(Arc<[u8]>),
}

impl Place {
    /// The prefix of inode `ino`, named `name` in the directory with the prefix `parent`.
    pub fn prefix(&self, parent: &[u8], name: &[u8], ino: u64) -> Arc<[u8]> {
        let tag = match self {
            Self::Home => 0,
            Self::Tagged => ino,
            Self::Away(prefix) => return Arc::clone(prefix),
        };
        let mut prefix = Vec::with_capacity(parent.len() + name.len() + 10);
        prefix.extend_from_slice(parent);
        key::push_component(&mut prefix, name, tag);
        prefix.into()
    }
}

/// Extended attributes, by name.
pub(crate) type Xattrs = BTreeMap<Box<[u8]>, Box<[u8]>>;

/// An inode record, without its location.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Record {
    pub ino: u64,
    /// Type and permissions.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub links: u32,
    pub rdev: u32,
    /// Size in bytes; of a directory, its number of entries.
    pub size: u64,
    /// Stored blocks.
    pub stored: u64,
    pub atime: Time,
    pub mtime: Time,
    pub ctime: Time,
    pub birth: Time,
    /// See "displaced" in `FORMAT.md`.
    pub displaced: bool,
    /// Target of a symbolic link.
    pub target: Box<[u8]>,
    pub xattrs: Xattrs,
}

impl Record {
    pub fn kind(&self) -> u32 {
        self.mode & libc::S_IFMT
    }

    pub fn is_dir(&self) -> bool {
        self.kind() == libc::S_IFDIR
    }

    pub fn is_file(&self) -> bool {
        self.kind() == libc::S_IFREG
    }

    /// Encodes the record for the store.
    pub fn encode(&self, place: &Place) -> Vec<u8> {
        let mut out = Vec::with_capacity(FIXED + 8 + self.target.len());
        out.extend_from_slice(&[RECORD, if self.displaced { DISPLACED } else { 0 }, 0, 0]);
        for number in [self.mode, self.uid, self.gid, self.links, self.rdev] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.ino, self.size, self.stored] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for time in [self.atime, self.mtime, self.ctime, self.birth] {
            out.extend_from_slice(&time.s.to_le_bytes());
            out.extend_from_slice(&time.ns.to_le_bytes());
        }
        debug_assert_eq!(out.len(), FIXED);
        let short = |out: &mut Vec<u8>, bytes: &[u8]| {
            out.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        match place {
            Place::Home => out.push(0),
            Place::Tagged => out.push(1),
            Place::Away(prefix) => {
                out.push(2);
                short(&mut out, prefix);
            }
        }
        short(&mut out, &self.target);
        out.extend_from_slice(&(self.xattrs.len() as u16).to_le_bytes());
        for (name, value) in &self.xattrs {
            out.push(name.len() as u8);
            out.extend_from_slice(&(value.len() as u32).to_le_bytes());
            out.extend_from_slice(name);
            out.extend_from_slice(value);
        }
        out
    }
}

/// The value of a name's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Record(Record, Place),
    /// A redirect: one of several names of this inode, of this type.
    Redirect {
        kind: u32,
        ino: u64,
    },
}

impl Entry {
    /// Encodes a redirect for the store.
    pub fn redirect(kind: u32, ino: u64) -> Vec<u8> {
        let mut out = vec![REDIRECT];
        out.extend_from_slice(&kind.to_le_bytes());
        out.extend_from_slice(&ino.to_le_bytes());
        out
    }

    /// Decodes the result of [`Record::encode`] or [`Entry::redirect`].
    pub fn decode(value: &[u8]) -> Result<Self> {
        let mut reader = Reader(value);
        let entry = match reader.u8()? {
            RECORD => reader.record()?,
            REDIRECT => Self::Redirect { kind: reader.u32()?, ino: reader.u64()? },
            kind => return Err(wrong(&format!("begins with {kind}"))),
        };
        if reader.0.is_empty() { Ok(entry) } else { Err(wrong("is too long")) }
    }

    /// Decodes the value of a key that cannot have a redirect.
    pub fn decode_record(value: &[u8]) -> Result<(Record, Place)> {
        match Self::decode(value)? {
            Self::Record(record, place) => Ok((record, place)),
            Self::Redirect { .. } => Err(wrong("is a redirect to a redirect")),
        }
    }
}

fn wrong(why: &str) -> Error {
    Error::Damaged(format!("a record {why}"))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or_else(|| wrong("is too short"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("the slice has N bytes"))
    }

    fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn time(&mut self) -> Result<Time> {
        Ok(Time { s: self.u64()? as i64, ns: self.u32()? })
    }

    fn short(&mut self) -> Result<&'a [u8]> {
        let n = self.u16()?;
        self.take(n.into())
    }

    fn record(&mut self) -> Result<Entry> {
        let displaced = self.u8()? & DISPLACED != 0;
        self.take(2)?;
        let mut record = Record { displaced, ..Record::default() };
        for field in [&mut record.mode, &mut record.uid, &mut record.gid, &mut record.links, &mut record.rdev]
        {
            *field = self.u32()?;
        }
        for field in [&mut record.ino, &mut record.size, &mut record.stored] {
            *field = self.u64()?;
        }
        for field in [&mut record.atime, &mut record.mtime, &mut record.ctime, &mut record.birth] {
            *field = self.time()?;
        }
        let place = match self.u8()? {
            0 => Place::Home,
            1 => Place::Tagged,
            2 => Place::Away(self.short()?.into()),
            _ => return Err(wrong("has an unknown place")),
        };
        record.target = self.short()?.into();
        for _ in 0..self.u16()? {
            let name = usize::from(self.u8()?);
            let value = self.u32()? as usize;
            record.xattrs.insert(self.take(name)?.into(), self.take(value)?.into());
        }
        Ok(Entry::Record(record, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Record {
        let xattrs = [(b"user.a"[..].into(), b"1"[..].into()), (b"user.b"[..].into(), b""[..].into())];
        Record {
            ino: 7,
            mode: libc::S_IFLNK | 0o777,
            links: 3,
            size: 1 << 40,
            mtime: Time { s: -5, ns: 999_999_999 },
            displaced: true,
            target: b"to"[..].into(),
            xattrs: Xattrs::from(xattrs),
            ..Record::default()
        }
    }

    #[test]
    fn decode_reverses_encode() {
        for place in [Place::Home, Place::Tagged, Place::Away(b"x\0\0"[..].into())] {
            let value = sample().encode(&place);
            assert_eq!(Entry::decode(&value).unwrap(), Entry::Record(sample(), place));
        }
        let redirect = Entry::Redirect { kind: libc::S_IFREG, ino: 9 };
        assert_eq!(Entry::decode(&Entry::redirect(libc::S_IFREG, 9)).unwrap(), redirect);
    }

    #[test]
    fn times_before_1970_are_preserved() {
        for (s, ns) in [(0, 0), (-1, 1), (-1, 0), (i64::from(i32::MIN), 5), (1 << 33, 999_999_999)] {
            let time = Time { s, ns };
            assert_eq!(Time::from(SystemTime::from(time)), time);
        }
    }

    proptest! {
        #[test]
        fn damage_is_an_error_not_a_panic(value in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..120) {
            let _ = Entry::decode(&value);
            let mut whole = sample().encode(&Place::Home);
            whole.truncate(cut);
            prop_assert!(Entry::decode(&whole).is_err());
        }
    }
}

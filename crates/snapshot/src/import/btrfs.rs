//! Listings of `btrfs receive --dump` of `btrfs send --no-data`: one command per line, in order: a word, a
//! path that begins with the name of the subvolume, and fields. A new file first has a temporary name that
//! contains its inode number and generation.

use super::text::{date_time, inode_of, number, octal, records, shown};
use super::tree::{NodeId, Tree, entry, names};
use crate::{Attribute, Info, Kind, Snapshot};
use std::collections::BTreeSet;

/// Whether the listing is incremental.
pub fn is_increment(listing: &[u8]) -> bool {
    listing.starts_with(b"snapshot ")
}

pub fn parse(listing: &[u8], mut info: Info, base: Option<&Snapshot>) -> Result<Snapshot, String> {
    info.lacks.extend([Attribute::Allocated, Attribute::Born, Attribute::Extents]);
    info.lacks.sort_unstable();
    info.lacks.dedup();
    info.fs = "btrfs".to_owned();
    // The root directory of every subvolume has this inode number.
    let tree = base.map_or_else(|| Tree::new(entry(Kind::Dir, 256)), Tree::of);
    let mut stream = Stream { tree, written: BTreeSet::new(), begun: false };
    for (number, record) in records(listing, b'\n')? {
        let wrong = |why: String| format!("line {number}, {}: {why}", shown(record));
        stream.command(record).map_err(wrong)?;
    }
    if !stream.begun {
        return Err("it is empty; a listing must begin with the command subvol or snapshot".into());
    }
    Ok(stream.finish(info))
}

/// The result of the commands so far.
struct Stream {
    tree: Tree,
    /// Files that were created or written.
    written: BTreeSet<usize>,
    begun: bool,
}

/// The fields of a command.
struct Fields(Vec<Vec<u8>>);

impl Fields {
    /// The value of a field.
    fn get(&self, name: &str) -> Result<&[u8], String> {
        let found = self.0.iter().find_map(|field| field.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        found.ok_or_else(|| format!("it has no {name}"))
    }

    fn number(&self, name: &str) -> Result<u64, String> {
        number(self.get(name)?).ok_or_else(|| format!("its {name} is not a number"))
    }

    fn time(&self, name: &str) -> Result<i64, String> {
        let text = self.get(name)?;
        time(text).ok_or_else(|| format!("its {name} is not a time"))
    }
}

impl Stream {
    fn command(&mut self, record: &[u8]) -> Result<(), String> {
        let mut words = words(record).into_iter();
        let (word, path) = (words.next().unwrap_or_default(), words.next().ok_or("it has no path")?);
        let fields = Fields(words.collect());
        if matches!(&word[..], b"subvol" | b"snapshot") {
            return if std::mem::replace(&mut self.begun, true) {
                Err("a second subvolume begins; list one at a time".into())
            } else {
                Ok(())
            };
        }
        if !self.begun {
            return Err("it does not begin with the command subvol or snapshot".into());
        }
        let path = inside(&path)?;
        match &word[..] {
            b"mkfile" => self.make(&path, Kind::File),
            b"mkdir" => self.make(&path, Kind::Dir),
            b"symlink" => {
                let size = fields.get("dest")?.len() as u64;
                self.make(&path, Kind::Symlink)?;
                let node = self.node(&path)?;
                self.tree.file(node).entry.size = size;
                Ok(())
            }
            b"mknod" | b"mkfifo" | b"mksock" => self.make(&path, Kind::Special),
            b"rename" => {
                let to = inside(fields.get("dest")?)?;
                let node = self.tree.take(&path)?;
                self.tree.give(&to, node)
            }
            b"link" => {
                let from = names(fields.get("dest")?)?;
                let file = self.tree.file_id(self.node(&from)?);
                self.tree.put_name(&path, file).map(drop)
            }
            b"unlink" | b"rmdir" => self.tree.take(&path).map(drop),
            b"write" | b"update_extent" | b"encoded_write" => {
                let len = if &word[..] == b"encoded_write" { "unencoded_file_len" } else { "len" };
                let end = fields
                    .number("offset")?
                    .checked_add(fields.number(len)?)
                    .ok_or("it ends beyond the maximum file size")?;
                self.write(&path, |size| size.max(end))
            }
            b"clone" => {
                let end = fields
                    .number("offset")?
                    .checked_add(fields.number("len")?)
                    .ok_or("it ends beyond the maximum file size")?;
                self.write(&path, |size| size.max(end))
            }
            b"truncate" => {
                let size = fields.number("size")?;
                self.write(&path, |_| size)
            }
            b"utimes" => {
                let (modified_ns, changed_ns) = (fields.time("mtime")?, fields.time("ctime")?);
                let node = self.node(&path)?;
                let entry = &mut self.tree.file(node).entry;
                (entry.modified_ns, entry.changed_ns) = (modified_ns, changed_ns);
                Ok(())
            }
            b"chmod" | b"chown" | b"set_xattr" | b"remove_xattr" | b"fallocate" | b"fileattr"
            | b"enable_verity" => Ok(()),
            _ => Err("unknown command".into()),
        }
    }

    fn node(&self, path: &[&[u8]]) -> Result<NodeId, String> {
        self.tree.find(path).ok_or_else(|| format!("{} does not exist", shown(&path.join(&b'/'))))
    }

    fn make(&mut self, path: &[&[u8]], kind: Kind) -> Result<(), String> {
        let name = path.last().ok_or("the root already exists")?;
        let (inode, generation) = number_of(name).unwrap_or((inode_of(&path.join(&b'/')), None));
        let mut entry = entry(kind, inode);
        entry.generation = generation;
        let node = self.tree.put(path, entry)?;
        self.written.insert(self.tree.file_id(node));
        Ok(())
    }

    fn write(&mut self, path: &[&[u8]], size: impl FnOnce(u64) -> u64) -> Result<(), String> {
        let node = self.node(path)?;
        self.written.insert(self.tree.file_id(node));
        let entry = &mut self.tree.file(node).entry;
        entry.size = size(entry.size);
        entry.allocated = entry.size;
        Ok(())
    }

    fn finish(mut self, info: Info) -> Snapshot {
        for (file, names) in self.tree.count_names().into_iter().enumerate() {
            let file_of = &mut self.tree.files[file];
            if file_of.entry.kind != Kind::Dir {
                file_of.entry.links = names;
            }
            if self.written.contains(&file) {
                // The listing does not contain the new extents.
                file_of.forget_extents();
            }
        }
        self.tree.finish(info)
    }
}

/// The inode number and generation in the temporary name of a new file: `o257-7-0`.
fn number_of(name: &[u8]) -> Option<(u64, Option<u32>)> {
    let mut numbers = name.strip_prefix(b"o")?.split(|byte| *byte == b'-');
    let (inode, generation) = (number(numbers.next()?)?, number::<u64>(numbers.next()?)?);
    number::<u64>(numbers.next()?)?;
    // The kernel reports only the lower half of the generation.
    numbers.next().is_none().then_some((inode, Some(generation as u32)))
}

/// The components of a path without the subvolume.
fn inside(path: &[u8]) -> Result<Vec<&[u8]>, String> {
    let mut names = names(path)?;
    if names.is_empty() {
        return Err("its path does not begin with a subvolume".into());
    }
    names.remove(0);
    Ok(names)
}

/// Parses `2026-11-22T01:50:42+0000`, with or without a fraction of the second.
fn time(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let (time, rest) = rest.strip_prefix(b"T")?.split_at_checked(8)?;
    let digits = rest
        .strip_prefix(b".")
        .map_or(0, |fraction| 1 + fraction.iter().take_while(|byte| byte.is_ascii_digit()).count());
    let (fraction, zone) = rest.split_at(digits);
    let fraction = super::text::seconds(&[b"0", fraction].concat())?;
    let (sign, zone) = zone.split_first()?;
    if zone.len() != 4 {
        return None;
    }
    let east = number::<i64>(&zone[..2])? * 60 + number::<i64>(&zone[2..])?;
    let west = match sign {
        b'+' => -east,
        b'-' => east,
        _ => return None,
    };
    Some(date_time(date, time, b'-')? + west * 60_000_000_000 + fraction)
}

/// The space-separated words of a line; a backslash escapes unprintable bytes and spaces.
fn words(record: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut rest = record;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match first {
            b' ' => words.extend(word.take()),
            b'\\' => {
                let (byte, length) = escaped(tail);
                word.get_or_insert_default().push(byte);
                rest = &tail[length..];
            }
            _ => word.get_or_insert_default().push(*first),
        }
    }
    words.extend(word);
    words
}

/// The byte of an escape sequence after its backslash, and the length of the sequence.
fn escaped(tail: &[u8]) -> (u8, usize) {
    if let Some(byte) = octal(tail) {
        return (byte, 3);
    }
    match tail.first() {
        None => (b'\\', 0),
        Some(b'a') => (7, 1),
        Some(b'b') => (8, 1),
        Some(b'e') => (27, 1),
        Some(b'f') => (12, 1),
        Some(b'n') => (b'\n', 1),
        Some(b'r') => (b'\r', 1),
        Some(b't') => (b'\t', 1),
        Some(b'v') => (11, 1),
        Some(byte) => (*byte, 1),
    }
}

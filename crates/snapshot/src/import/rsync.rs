//! Listings of rsync: `TZ=UTC rsync --list-only -r PATH/`. A line has the mode, the size with commas, date
//! and time, and the path, in which an unprintable byte is `\#` and three octal digits; the target of a link
//! may follow.

use super::text::{date_time, inode_of, number, octal, records, shown};
use super::tree::{Tree, entry, names};
use crate::{Attribute, Entry, Info, Kind, Snapshot};

const ARROW: &[u8] = b" -> ";

pub fn parse(listing: &[u8], mut info: Info) -> Result<Snapshot, String> {
    info.lacks = vec![
        Attribute::Inode,
        Attribute::Generation,
        Attribute::Links,
        Attribute::Allocated,
        Attribute::Changed,
        Attribute::Born,
        Attribute::Extents,
    ];
    let mut lines = Vec::new();
    for (number, record) in records(listing, b'\n')? {
        let (entry, path) = line(record).ok_or_else(|| {
            format!("line {number} is {} instead of mode, size, date, time and path", shown(record))
        })?;
        lines.push((path, number, entry));
    }
    // rsync lists a directory before its contents, but not always before directories that sort after it.
    let mut split = Vec::with_capacity(lines.len());
    for (path, number, entry) in &lines {
        let path = names(path).map_err(|why| format!("line {number}: {why}"))?;
        let inode = inode_of(&path.join(&b'/'));
        split.push((path, *number, Entry { inode, ..entry.clone() }));
    }
    split.sort_by(|a, b| a.0.cmp(&b.0));
    let mut split = split.into_iter();
    let root = split.next().filter(|(path, _, entry)| path.is_empty() && entry.kind == Kind::Dir);
    let (_, _, root) = root.ok_or("it does not list the root as \".\"; list PATH/, with a trailing slash")?;
    let mut tree = Tree::new(root);
    for (path, number, entry) in split {
        if tree.find(&path).is_some() {
            return Err(format!("line {number} lists {} again", shown(&path.join(&b'/'))));
        }
        tree.put(&path, entry).map_err(|why| format!("line {number}: {why}"))?;
    }
    Ok(tree.finish(info))
}

fn line(record: &[u8]) -> Option<(Entry, Vec<u8>)> {
    let (mode, rest) = word(record)?;
    let kind = match mode.first()? {
        b'-' => Kind::File,
        b'd' => Kind::Dir,
        b'l' => Kind::Symlink,
        b'b' | b'c' | b'p' | b's' => Kind::Special,
        _ => return None,
    };
    let (size, rest) = word(rest.trim_ascii_start())?;
    let digits: Vec<u8> = size.iter().copied().filter(|byte| *byte != b',').collect();
    let size: u64 = number(&digits)?;
    let (date, rest) = word(rest)?;
    let (time, path) = word(rest)?;
    let time = date_time(date, time, b'/')?;
    let mut path = path.to_vec();
    if kind == Kind::Symlink {
        cut_target(&mut path, size);
    }
    let entry = Entry { size, allocated: size, changed_ns: time, modified_ns: time, ..entry(kind, 0) };
    Some((entry, unescape(&path)))
}

/// Cuts the target off a path. Its length is the size of the link, so arrows in names do no harm.
fn cut_target(path: &mut Vec<u8>, size: u64) {
    let arrows = (0..path.len()).filter(|place| path[*place..].starts_with(ARROW));
    let of_length = |place: &usize| unescape(&path[place + ARROW.len()..]).len() as u64 == size;
    if let Some(place) = arrows.rev().find(of_length) {
        path.truncate(place);
    }
}

/// Splits at the first space.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b' ')?;
    Some((&text[..end], &text[end + 1..]))
}

fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let code = (*first == b'\\').then(|| octal(tail.strip_prefix(b"#")?)).flatten();
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[4..] } else { tail };
    }
    bytes
}

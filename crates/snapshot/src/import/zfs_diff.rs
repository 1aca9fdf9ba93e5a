//! Listings of `zfs diff -H -F -t`: a line has the change time, the kind of change (`+`, `-`, `M` or `R`),
//! the type, the path, and for a rename the new path, separated by tabs. An unprintable byte is a backslash
//! and four octal digits.

use super::text::{inode_of, octal, records, seconds, shown};
use super::tree::{Tree, entry, names};
use crate::{Attribute, Entry, Info, Kind, Snapshot};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

struct Line {
    number: usize,
    changed_ns: i64,
    change: u8,
    kind: Kind,
    path: Vec<u8>,
    to: Option<Vec<u8>>,
}

pub fn parse(listing: &[u8], mut info: Info, base: &Snapshot, below: &Path) -> Result<Snapshot, String> {
    let lacking = [
        Attribute::Inode,
        Attribute::Generation,
        Attribute::Links,
        Attribute::Size,
        Attribute::Allocated,
        Attribute::Modified,
        Attribute::Born,
    ];
    info.lacks.extend(lacking.into_iter().chain([Attribute::Extents]));
    info.lacks.sort_unstable();
    info.lacks.dedup();
    let below = names(below.as_os_str().as_bytes())?;
    let mut lines = Vec::new();
    for (number, record) in records(listing, b'\n')? {
        let line = line(number, record).ok_or_else(|| {
            format!("line {number} is {} instead of time, change, type and path between tabs", shown(record))
        })?;
        lines.push(line);
    }
    apply(&lines, Tree::of(base), &below).map(|tree| tree.finish(info))
}

/// Applies the lines, which are not ordered by time: first removes deleted entries, then adds renamed and new
/// ones at their current places, directories before their contents.
fn apply(lines: &[Line], mut tree: Tree, below: &[&[u8]]) -> Result<Tree, String> {
    let at = |line: &Line| wrong(line.number);
    let mut taken = Vec::new();
    let mut new = Vec::new();
    let mut modified = Vec::new();
    for line in lines {
        let path = inside(&line.path, below).map_err(at(line))?;
        match (line.change, &line.to) {
            (b'-', None) => taken.push((path, line, None)),
            (b'R', Some(to)) => taken.push((path, line, Some(inside(to, below).map_err(at(line))?))),
            (b'+', None) => new.push((path, line, None)),
            (b'M', None) => modified.push((path, line)),
            _ => return Err(at(line)(format!("{} is not a change", shown(&[line.change])))),
        }
    }
    // Deeper entries first, so that they are not removed with their directory.
    taken.sort_by(|a, b| b.0.cmp(&a.0));
    for (path, line, to) in taken {
        let node = tree.take(&path).map_err(at(line))?;
        if let Some(to) = to {
            new.push((to, line, Some(node)));
        }
    }
    new.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, line, node) in new {
        let Some(node) = node else {
            // An earlier file of that path is a different one.
            let mut known_by = path.join(&b'/');
            known_by.push(0);
            known_by.extend(line.changed_ns.to_le_bytes());
            let entry = Entry {
                changed_ns: line.changed_ns,
                modified_ns: line.changed_ns,
                ..entry(line.kind, inode_of(&known_by))
            };
            tree.put(&path, entry).map_err(at(line))?;
            continue;
        };
        tree.give(&path, node).map_err(at(line))?;
        tree.file(node).entry.changed_ns = line.changed_ns;
    }
    for (path, line) in modified {
        let node =
            tree.find(&path).ok_or_else(|| at(line)(format!("{} does not exist", shown(&line.path))))?;
        let entry = &mut tree.file(node).entry;
        (entry.changed_ns, entry.modified_ns) = (line.changed_ns, line.changed_ns);
    }
    Ok(tree)
}

/// Prefixes an error with its line number.
fn wrong(number: usize) -> impl Fn(String) -> String {
    move |why| format!("line {number}: {why}")
}

/// The components of a path below the common root directory.
fn inside<'p>(path: &'p [u8], below: &[&[u8]]) -> Result<Vec<&'p [u8]>, String> {
    let mut path = names(path)?;
    if path.starts_with(below) {
        return Ok(path.split_off(below.len()));
    }
    Err(format!("{} is not below the directory given by --below", shown(&path.join(&b'/'))))
}

fn line(number: usize, record: &[u8]) -> Option<Line> {
    let mut fields = record.split(|byte| *byte == b'\t');
    let changed_ns = seconds(fields.next()?)?;
    let change = match fields.next()? {
        [change] => *change,
        _ => return None,
    };
    let kind = match fields.next()? {
        b"F" => Kind::File,
        b"/" => Kind::Dir,
        b"@" => Kind::Symlink,
        b"B" | b"C" | b">" | b"|" | b"P" | b"=" => Kind::Special,
        _ => return None,
    };
    let path = unescape(fields.next()?);
    // The field after the path may also be the change of the number of links.
    let to = fields.next().filter(|_| change == b'R').map(unescape);
    Some(Line { number, changed_ns, change, kind, path, to })
}

fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let code = (*first == b'\\').then(|| octal(tail.strip_prefix(b"0")?)).flatten();
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[4..] } else { tail };
    }
    bytes
}

//! Listings of GNU find: `-printf '%y\t%i\t%n\t%s\t%b\t%C@\t%T@\t%B@\t%P\n'`, or with `\0` instead of `\n`,
//! as required for names with line ends. Fields are the type, inode, links, size, blocks of 512 bytes, times
//! of change, modification and birth, and the path below the root, which is empty for the root.

use super::text::{number, records, seconds, shown};
use super::tree::{Tree, entry, names};
use crate::{Attribute, Entry, Info, Kind, Snapshot};

/// The output of find without a birth time.
const NO_BIRTH: &[&[u8]] = &[b"", b"-1.-000000010", b"0"];

pub fn parse(listing: &[u8], mut info: Info) -> Result<Snapshot, String> {
    info.lacks = vec![Attribute::Generation, Attribute::Extents];
    let end = if listing.contains(&0) { 0 } else { b'\n' };
    let mut lines = Vec::new();
    for (number, record) in records(listing, end)? {
        let line = line(record).ok_or_else(|| {
            format!(
                "record {number} is {} instead of eight fields and a path between tabs; list with the \
                 documented format, and with \\0 if names contain line ends",
                shown(record)
            )
        })?;
        let path = names(line.1).map_err(|why| format!("record {number}: {why}"))?;
        lines.push((path, number, line.0));
    }
    // find lists in directory order, and with -depth lists the contents of a directory before it.
    lines.sort_by(|a, b| a.0.cmp(&b.0));
    let mut lines = lines.into_iter();
    let root = lines.next().filter(|(path, _, entry)| path.is_empty() && entry.kind == Kind::Dir);
    let (_, _, root) =
        root.ok_or("it does not list the root, with an empty path; list a directory with all its contents")?;
    let mut tree = Tree::new(root);
    for (path, number, entry) in lines {
        if tree.find(&path).is_some() {
            return Err(format!("record {number} lists {} again", shown(&path.join(&b'/'))));
        }
        tree.put(&path, entry).map_err(|why| format!("record {number}: {why}"))?;
    }
    Ok(tree.finish(info))
}

fn line(record: &[u8]) -> Option<(Entry, &[u8])> {
    let mut fields = record.splitn(9, |byte| *byte == b'\t');
    let kind = match fields.next()? {
        b"f" => Kind::File,
        b"d" => Kind::Dir,
        b"l" => Kind::Symlink,
        b"b" | b"c" | b"p" | b"s" | b"D" => Kind::Special,
        _ => return None,
    };
    let bare = entry(kind, number(fields.next()?)?);
    let entry = Entry {
        links: number(fields.next()?)?,
        size: number(fields.next()?)?,
        allocated: number::<u64>(fields.next()?)?.checked_mul(512)?,
        changed_ns: seconds(fields.next()?)?,
        modified_ns: seconds(fields.next()?)?,
        born_ns: match fields.next()? {
            none if NO_BIRTH.contains(&none) => None,
            born => Some(seconds(born)?),
        },
        ..bare
    };
    Some((entry, fields.next()?))
}

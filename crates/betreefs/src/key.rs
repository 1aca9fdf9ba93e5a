//! Keys, which encode paths: see the table in `FORMAT.md`.

/// The file system's own record.
pub(crate) const SUPER: &[u8] = b"s";
/// The record of the root.
pub(crate) const ROOT: &[u8] = b"r";
/// Kind of data keys.
pub(crate) const DATA: u8 = b'd';
/// Kind of the records of directory entries.
pub(crate) const META: u8 = b'm';
/// Kind of the records of files that have, or had, several names.
pub(crate) const LINKED: u8 = b'i';
/// Kind of the records of files without a name.
pub(crate) const ORPHAN: u8 = b'o';

/// Bytes of the longest name.
pub const NAME_MAX: usize = 255;

/// Appends a component: a name and a tag, which is zero or an inode number.
pub(crate) fn push_component(prefix: &mut Vec<u8>, name: &[u8], tag: u64) {
    prefix.extend_from_slice(name);
    let bytes = tag.to_be_bytes();
    let skip = tag.leading_zeros() as usize / 8;
    prefix.push(0);
    prefix.push((8 - skip) as u8);
    prefix.extend_from_slice(&bytes[skip..]);
}

/// The prefix of a directory whose path is too long for a key.
pub(crate) fn far_prefix(ino: u64) -> Vec<u8> {
    let mut prefix = vec![b'/'];
    prefix.extend_from_slice(&ino.to_be_bytes());
    prefix
}

/// Whether a prefix is from [`far_prefix`].
pub(crate) fn is_far(prefix: &[u8]) -> bool {
    prefix.first() == Some(&b'/')
}

/// The key of the record of `name` in the directory with this prefix.
pub(crate) fn meta(prefix: &[u8], name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(2 + prefix.len() + name.len());
    key.push(META);
    key.extend_from_slice(prefix);
    key.push(0);
    key.extend_from_slice(name);
    key
}

/// The end of the key range of the entries of the directory with this prefix.
pub(crate) fn entries_end(prefix: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(2 + prefix.len());
    key.push(META);
    key.extend_from_slice(prefix);
    key.push(1);
    key
}

/// The key of a block of the file with this prefix.
pub(crate) fn data(prefix: &[u8], block: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(9 + prefix.len());
    key.push(DATA);
    key.extend_from_slice(prefix);
    key.extend_from_slice(&block.to_be_bytes());
    key
}

/// The key of the record of an inode outside its directory; `kind` is [`LINKED`] or [`ORPHAN`].
pub(crate) fn number(kind: u8, ino: u64) -> Vec<u8> {
    let mut key = vec![kind];
    key.extend_from_slice(&ino.to_be_bytes());
    key
}

/// The scan bounds of all keys that begin with `kind` and then `prefix`.
pub(crate) fn below(kind: u8, prefix: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut from = Vec::with_capacity(1 + prefix.len());
    from.push(kind);
    from.extend_from_slice(prefix);
    let mut to = from.clone();
    while to.last() == Some(&0xff) {
        to.pop();
    }
    *to.last_mut().expect("a kind is not 255") += 1;
    (from, to)
}

/// Splits the key of a record into the prefix of its directory and the name.
pub(crate) fn split_meta(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = key.strip_prefix(&[META])?;
    let mut at = 0;
    if is_far(rest) {
        at = 9;
    }
    // Components come first, then a zero byte instead of the next name.
    while *rest.get(at)? != 0 {
        let zero = at + rest[at..].iter().position(|byte| *byte == 0)?;
        match component_end(rest, zero) {
            Some(end) => at = end,
            None => return None,
        }
    }
    Some((&rest[..at], &rest[at + 1..]))
}

/// The end of the component whose zero byte is at `zero`.
fn component_end(rest: &[u8], zero: usize) -> Option<usize> {
    let tag = usize::from(*rest.get(zero + 1)?);
    let end = zero + 2 + tag;
    (tag <= 8 && end <= rest.len()).then_some(end)
}

/// The lengths of the prefixes of all directories that may contain this prefix, the root's first; without the root's if the prefix
/// does not begin with a name.
pub(crate) fn component_ends(prefix: &[u8]) -> Vec<usize> {
    let mut ends = vec![if is_far(prefix) { 9 } else { 0 }];
    while let Some(at) = ends.last().copied()
        && let Some(zero) = prefix.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == 0))
        && let Some(end) = component_end(prefix, at + zero)
        && end < prefix.len()
    {
        ends.push(end);
    }
    ends.retain(|end| *end < prefix.len());
    ends
}

/// Splits the key of a block into the prefix of its file and the number of the block.
pub(crate) fn split_data(key: &[u8]) -> Option<(&[u8], u64)> {
    let rest = key.strip_prefix(&[DATA])?;
    let (prefix, block) = rest.split_last_chunk::<8>()?;
    Some((prefix, u64::from_be_bytes(*block)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(parts: &[(&str, u64)]) -> Vec<u8> {
        let mut out = Vec::new();
        parts.iter().for_each(|(name, tag)| push_component(&mut out, name.as_bytes(), *tag));
        out
    }

    #[test]
    fn entries_sort_by_name_before_deeper_keys() {
        let dir = prefix(&[("a", 0)]);
        let entry = meta(&dir, b"z");
        let deeper = meta(&prefix(&[("a", 0), ("b", 0)]), b"c");
        assert!(entry < deeper);
        assert!(entry < entries_end(&dir) && entries_end(&dir) <= deeper);
        let names: [&[u8]; 5] = [b"a", b"a\x01", b"a.c", b"ab", b"b"];
        let keys = names.map(|name| data(&prefix(&[(std::str::from_utf8(name).unwrap(), 0)]), 7));
        assert!(keys.is_sorted());
    }

    #[test]
    fn split_reverses_key_construction() {
        for parts in [&[][..], &[("a", 0)], &[("a", 0x1_0000), ("b c", 0)], &[("x", 256), ("y", u64::MAX)]] {
            let prefix = prefix(parts);
            assert_eq!(split_meta(&meta(&prefix, b"name")), Some((&prefix[..], &b"name"[..])));
            assert_eq!(split_data(&data(&prefix, 3)), Some((&prefix[..], 3)));
        }
        let far = far_prefix(77);
        assert_eq!(split_meta(&meta(&far, b"n")), Some((&far[..], &b"n"[..])));
    }

    #[test]
    fn only_ancestor_prefixes_are_prefixes_of_a_prefix() {
        let a = prefix(&[("a", 0)]);
        for other in [prefix(&[("a", 5)]), prefix(&[("ab", 0)]), prefix(&[("b", 0)])] {
            assert!(!other.starts_with(&a) && !a.starts_with(&other));
        }
    }
}

//! Snapshots for tests.

use proptest::prelude::*;
use senesce_snapshot::{Attribute, Entry, Extent, Info, Kind, ROOT, Snapshot, SnapshotBuilder};
use std::collections::BTreeMap;

pub fn any_info() -> impl Strategy<Value = Info> {
    let texts = (".{0,9}", ".{0,9}", prop::option::of(".{0,9}"), prop::option::of("[0-9a-f]{4}"));
    let attributes = prop::sample::subsequence(Attribute::ALL.to_vec(), 0..=9);
    (texts, any::<[u64; 6]>(), any::<(i64, i64)>(), attributes).prop_map(
        |((tool, fs, fs_id, key_id), numbers, times, lacks)| Info {
            tool,
            fs,
            fs_id,
            block_bytes: numbers[0],
            capacity_bytes: numbers[1],
            used_bytes: numbers[2],
            begun_ns: times.0,
            ended_ns: times.1,
            vanished: numbers[3],
            unmapped: numbers[4],
            other_fs: numbers[5],
            lacks,
            key_id,
        },
    )
}

fn any_entry() -> impl Strategy<Value = (Entry, Vec<Extent>)> {
    let kind = prop::sample::select(&Kind::ALL[..]);
    let extent = any::<(u64, u64, u64)>();
    let extents = prop::collection::vec(extent, 0..4);
    let times = any::<(i64, i64, Option<i64>)>();
    (kind, any::<(u64, Option<u32>, u32, u64, u64)>(), times, extents).prop_map(
        |(kind, (inode, generation, links, size, allocated), (changed_ns, modified_ns, born_ns), extents)| {
            let entry = Entry {
                parent: ROOT,
                kind,
                inode,
                generation,
                links,
                size,
                allocated,
                changed_ns,
                modified_ns,
                born_ns,
            };
            let extent = |(logical, physical, len)| Extent { logical, physical, len };
            (entry, extents.into_iter().map(extent).collect())
        },
    )
}

fn any_name() -> impl Strategy<Value = Vec<u8>> {
    let byte = any::<u8>().prop_filter("a name has neither", |byte| !matches!(byte, 0 | b'/'));
    prop::collection::vec(byte, 1..5).prop_filter("these are no names", |name| name != b"." && name != b"..")
}

/// A snapshot with up to `most` entries below the root, in any shape of tree.
pub fn any_snapshot(most: usize) -> impl Strategy<Value = Snapshot> {
    let below = (any::<prop::sample::Index>(), any_name(), any_entry());
    (any_info(), any_entry(), prop::collection::vec(below, 0..=most)).prop_map(|(info, root, below)| {
        let root = Entry { kind: Kind::Dir, ..root.0 };
        // The entries of each directory by name; directories are numbered, the root is 0.
        let mut dirs: Vec<Below> = vec![BTreeMap::new()];
        for (parent, name, (entry, extents)) in below {
            let parent = parent.index(dirs.len());
            if dirs[parent].contains_key(&name) {
                continue;
            }
            let dir = (entry.kind == Kind::Dir).then_some(dirs.len());
            if dir.is_some() {
                dirs.push(BTreeMap::new());
            }
            dirs[parent].insert(name, (entry, extents, dir));
        }
        let mut builder = SnapshotBuilder::new(info, root);
        add(&mut builder, ROOT, 0, &dirs);
        builder.finish()
    })
}

type Below = BTreeMap<Vec<u8>, (Entry, Vec<Extent>, Option<usize>)>;

fn add(builder: &mut SnapshotBuilder, parent: u32, number: usize, dirs: &[Below]) {
    for (name, (entry, extents, dir)) in &dirs[number] {
        let extents = if entry.kind == Kind::File { &extents[..] } else { &[] };
        let place = builder.add(Entry { parent, ..entry.clone() }, name, extents);
        if let Some(dir) = dir {
            add(builder, place, *dir, dirs);
        }
    }
}

//! Sorts the results of a parallel walk into scan order, which is independent of the threads.

use super::walk::{File, FileBatch, WalkResult};
use rayon::prelude::*;
use snapshot::{Entry, Info, Key, Kind, ROOT, Snapshot, SnapshotBuilder};
use std::collections::HashSet;

/// An entry of a directory.
enum Child<'w> {
    /// The directory with this number.
    Dir(u32, Vec<u8>),
    /// A file of a batch.
    File(&'w FileBatch, &'w File),
}

impl Child<'_> {
    fn name(&self) -> &[u8] {
        match self {
            Child::Dir(_, name) => name,
            Child::File(batch, file) => batch.name(file),
        }
    }
}

/// Creates the snapshot.
pub fn assemble(info: Info, walked: WalkResult, key: Option<&Key>) -> Snapshot {
    let mut children: Vec<Vec<Child>> = walked.dirs.iter().map(|_| Vec::new()).collect();
    for batch in &walked.batches {
        for file in &batch.files {
            children[file.dir as usize].push(Child::File(batch, file));
        }
    }
    let dirs = walked.dirs.iter().enumerate().skip(1).filter(|(_, dir)| dir.entry.is_some());
    for (number, dir) in dirs {
        let name = dir.name.to_bytes();
        let name = key.map_or_else(|| name.to_vec(), |key| key.hash_name(name).into_bytes());
        children[dir.parent as usize].push(Child::Dir(number as u32, name));
    }
    children.par_iter_mut().for_each(|children| {
        // They consist of a few sorted runs, which a stable sort exploits.
        children.sort_by(|a, b| a.name().cmp(b.name()));
        // A name that is deleted and created again may be listed twice.
        children.dedup_by(|a, b| a.name() == b.name());
    });
    let entry = |number: u32| {
        walked.dirs[number as usize].entry.clone().expect("only directories with an entry are added")
    };
    let mut builder = SnapshotBuilder::new(info, entry(0));
    let mut linked = HashSet::new();
    let mut levels = vec![(ROOT, std::mem::take(&mut children[0]).into_iter())];
    while let Some((parent, level)) = levels.last_mut() {
        let parent = *parent;
        match level.next() {
            None => drop(levels.pop()),
            Some(Child::Dir(number, name)) => {
                let place = builder.add(Entry { parent, ..entry(number) }, &name, &[]);
                levels.push((place, std::mem::take(&mut children[number as usize]).into_iter()));
            }
            Some(Child::File(batch, file)) => {
                let has_extents = file.entry.kind == Kind::File
                    && (file.entry.links < 2 || linked.insert(file.entry.inode));
                let extents = if has_extents { batch.extents(file) } else { &[] };
                builder.add(Entry { parent, ..file.entry.clone() }, batch.name(file), extents);
            }
        }
    }
    builder.finish()
}

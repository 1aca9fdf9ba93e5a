//! The files that a pull writes below `.git`: the fetched objects, each in its own file or, from 100 objects
//! on, in one pack; the index; references and their logs. The sizes are those of git's files, the contents
//! are made up.
//!
//! Left out: short-lived files (temporary names of objects, locks that stay empty), fetched tags, `git gc`.
//! Every object is compressed on its own, while git stores some objects of a pack as deltas of others: packs
//! are larger here.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write as _};

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;
use gix_zlib::Compression;
use gix_zlib::stream::deflate;
use trace::{Content, DirId, FileId, Op, ROOT};

use super::command::{DATE_S, IDENTITY};
use super::maker::{Maker, plain};
use super::path::Path;
use super::repository::{Reader, TreeEntry};
use crate::Error;

/// A fetch of at least this many objects keeps its pack (`fetch.unpackLimit`).
const UNPACK_LIMIT: usize = 100;
/// Compression level of a loose object. Git's level is 1 (`core.looseCompression`); level 2 of the library
/// used here comes closest: its level 1 is a faster method with files a third larger.
const LOOSE_LEVEL: i32 = 2;
/// Compression level of an object in a pack.
const PACK_LEVEL: i32 = 6;

/// The directory `.git` of a working tree.
pub(super) struct DotGit {
    objects: DirId,
    packs: DirId,
    /// The object directories, by the first byte of the object names.
    fans: BTreeMap<u8, DirId>,
    have: HashSet<ObjectId>,
    top: DirId,
    fetch_head: Option<FileId>,
    index_lock: Option<FileId>,
    index: Replaced,
    orig_head: Replaced,
    branch: Reference,
    tracking: Reference,
    head_log: Log,
}

/// A file that is written under a temporary name and then renamed over the old one.
struct Replaced {
    dir: DirId,
    name: &'static str,
    file: Option<FileId>,
}

/// A file that grows by one line per pull.
struct Log {
    dir: DirId,
    name: &'static str,
    file: Option<FileId>,
}

/// A branch and its log.
struct Reference {
    value: Replaced,
    log: Log,
}

impl DotGit {
    /// Creates it like `git init`.
    pub fn init(maker: &mut Maker) -> Self {
        let top = maker.mkdir(ROOT, b".git");
        let objects = maker.mkdir(top, b"objects");
        let packs = maker.mkdir(objects, b"pack");
        maker.mkdir(objects, b"info");
        let refs = maker.mkdir(top, b"refs");
        let heads = maker.mkdir(refs, b"heads");
        maker.mkdir(refs, b"tags");
        for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", CONFIG)] {
            maker.create(top, plain(name.as_bytes()), text.len() as u64, Content::Written);
        }
        let remotes = maker.mkdir(refs, b"remotes");
        let origin = maker.mkdir(remotes, b"origin");
        let logs = maker.mkdir(top, b"logs");
        let log_refs = maker.mkdir(logs, b"refs");
        let log_heads = maker.mkdir(log_refs, b"heads");
        let log_remotes = maker.mkdir(log_refs, b"remotes");
        let log_origin = maker.mkdir(log_remotes, b"origin");
        let main = |dir, logs| Reference { value: Replaced::new(dir, "main"), log: Log::new(logs, "main") };
        Self {
            objects,
            packs,
            fans: BTreeMap::new(),
            have: HashSet::new(),
            top,
            fetch_head: None,
            index_lock: None,
            index: Replaced::new(top, "index"),
            orig_head: Replaced::new(top, "ORIG_HEAD"),
            branch: main(heads, log_heads),
            tracking: main(origin, log_origin),
            head_log: Log::new(logs, "HEAD"),
        }
    }

    /// The writes before the working tree changes: all that `git fetch` writes for `commit`.
    pub fn fetch(&mut self, commit: ObjectId, reader: &mut Reader, maker: &mut Maker) -> Result<(), Error> {
        const FETCH_HEAD_BYTES: u64 = 100;
        match self.fetch_head {
            None => {
                let label = plain(b"FETCH_HEAD");
                self.fetch_head = Some(maker.create(self.top, label, FETCH_HEAD_BYTES, Content::Written));
            }
            Some(file) => {
                maker.push(Op::Truncate { file, parent: self.top, size: 0 });
                maker.push(Op::Append { file, parent: self.top, len: FETCH_HEAD_BYTES });
            }
        }
        let new = self.new_objects(commit, reader)?;
        if new.len() < UNPACK_LIMIT {
            for id in &new {
                self.write_loose(*id, reader, maker)?;
            }
        } else {
            self.write_pack(commit, &new, reader, maker)?;
        }
        self.have.extend(new);
        self.tracking.update("fetch origin main: fast-forward", maker);
        if self.branch.value.file.is_some() {
            self.orig_head.write(REFERENCE_BYTES, maker);
        }
        // The lock file is created before the working tree changes and written afterwards.
        self.index_lock = Some(maker.create(self.top, plain(b"index.lock"), 0, Content::Written));
        Ok(())
    }

    /// The writes after the working tree has changed.
    pub fn finish(&mut self, index_bytes: u64, maker: &mut Maker) {
        if let Some(file) = self.index_lock.take() {
            maker.push(Op::Append { file, parent: self.top, len: index_bytes });
            self.index.replace(file, maker);
        }
        self.branch.update("pull --ff-only origin main: Fast-forward", maker);
        self.head_log.add("pull --ff-only origin main: Fast-forward", maker);
    }

    /// The commits, trees and blobs reachable from `commit` that are not present yet, those of newer commits
    /// first.
    fn new_objects(&self, commit: ObjectId, reader: &mut Reader) -> Result<Vec<ObjectId>, Error> {
        let mut new = Found { have: &self.have, ids: Vec::new(), seen: HashSet::new() };
        let mut trees = Vec::new();
        let mut left = vec![commit];
        while let Some(id) = left.pop() {
            if new.add(id) {
                let commit = reader.commit(id)?;
                left.extend(commit.parents.iter().rev());
                trees.push(commit);
            }
        }
        for commit in trees {
            let parents = commit.parents.iter().map(|parent| Ok(reader.commit(*parent)?.tree));
            let parents = parents.collect::<Result<Vec<_>, Error>>()?;
            new.add_tree(commit.tree, &parents, &mut Path::top(), reader)?;
        }
        Ok(new.ids)
    }

    fn write_loose(&mut self, id: ObjectId, reader: &mut Reader, maker: &mut Maker) -> Result<(), Error> {
        let (kind, data) = reader.object(id)?;
        let header = format!("{kind} {}\0", data.len());
        let size = compressed_bytes(&[header.as_bytes(), data], LOOSE_LEVEL);
        let hex = id.to_string();
        let objects = self.objects;
        let dir =
            *self.fans.entry(id.as_slice()[0]).or_insert_with(|| maker.mkdir(objects, &hex.as_bytes()[..2]));
        maker.create(dir, plain(&hex.as_bytes()[2..]), size, Content::Auto);
        Ok(())
    }

    fn write_pack(
        &mut self,
        commit: ObjectId,
        objects: &[ObjectId],
        reader: &mut Reader,
        maker: &mut Maker,
    ) -> Result<(), Error> {
        const HEADER_AND_HASH: u64 = 12 + 20;
        let mut bytes = HEADER_AND_HASH;
        for id in objects {
            let data = reader.object(*id)?.1;
            // The size is encoded with 4 bits in the first byte and 7 in each further one.
            let size_bits = u64::from(u64::BITS - (data.len() as u64).leading_zeros());
            bytes += 1 + size_bits.saturating_sub(4).div_ceil(7) + compressed_bytes(&[data], PACK_LEVEL);
        }
        // Header and fan-out; name, checksum and offset of each object; two hashes.
        let index_bytes = 8 + 1024 + objects.len() as u64 * 28 + 40;
        for (ending, bytes) in [("pack", bytes), ("idx", index_bytes)] {
            let name = format!("pack-{commit}.{ending}");
            maker.create(self.packs, plain(name.as_bytes()), bytes, Content::Auto);
        }
        Ok(())
    }
}

/// Objects that are not present yet.
struct Found<'f> {
    have: &'f HashSet<ObjectId>,
    ids: Vec<ObjectId>,
    seen: HashSet<ObjectId>,
}

impl Found<'_> {
    /// Adds an object unless it is present or was added.
    fn add(&mut self, id: ObjectId) -> bool {
        let new = !self.have.contains(&id) && self.seen.insert(id);
        if new {
            self.ids.push(id);
        }
        new
    }

    /// Adds `tree` and its contents, except entries that one of `parents` has under the same name.
    fn add_tree(
        &mut self,
        tree: ObjectId,
        parents: &[ObjectId],
        path: &mut Path,
        reader: &mut Reader,
    ) -> Result<(), Error> {
        if parents.contains(&tree) || !self.add(tree) {
            return Ok(());
        }
        let mut before = Vec::new();
        for parent in parents {
            before.extend(reader.tree(*parent)?);
        }
        let mut before_by_name: BTreeMap<&[u8], Vec<&TreeEntry>> = BTreeMap::new();
        for entry in &before {
            before_by_name.entry(&entry.name).or_default().push(entry);
        }
        for entry in reader.tree(tree)? {
            let before = before_by_name.get(&entry.name[..]).map_or(&[][..], Vec::as_slice);
            match entry.kind {
                _ if before.iter().any(|before| before.id == entry.id) => {}
                EntryKind::Tree => {
                    let trees = before.iter().filter(|before| before.kind == EntryKind::Tree);
                    let trees: Vec<ObjectId> = trees.map(|before| before.id).collect();
                    path.enter(&entry.name, reader)?;
                    self.add_tree(entry.id, &trees, path, reader)?;
                    path.leave();
                }
                // The contents of a submodule are in another repository.
                EntryKind::Commit => {}
                _ => drop(self.add(entry.id)),
            }
        }
        Ok(())
    }
}

impl Replaced {
    fn new(dir: DirId, name: &'static str) -> Self {
        Self { dir, name, file: None }
    }

    /// Writes a new version of the file.
    fn write(&mut self, bytes: u64, maker: &mut Maker) {
        let lock = plain(format!("{}.lock", self.name).as_bytes());
        let lock = maker.create(self.dir, lock, bytes, Content::Written);
        self.replace(lock, maker);
    }

    /// Renames `file` over it.
    fn replace(&mut self, file: FileId, maker: &mut Maker) {
        let to = *self.file.get_or_insert_with(|| maker.reserve(self.name.as_bytes()));
        maker.replace(file, to, self.dir);
    }
}

impl Log {
    fn new(dir: DirId, name: &'static str) -> Self {
        Self { dir, name, file: None }
    }

    fn add(&mut self, message: &str, maker: &mut Maker) {
        // Two commit names, identity, time and message.
        let len = (2 * 41 + IDENTITY.len() + format!(" {DATE_S} +0000\t{message}\n").len()) as u64;
        match self.file {
            Some(file) => maker.push(Op::Append { file, parent: self.dir, len }),
            None => {
                self.file = Some(maker.create(self.dir, plain(self.name.as_bytes()), len, Content::Written));
            }
        }
    }
}

impl Reference {
    fn update(&mut self, message: &str, maker: &mut Maker) {
        self.value.write(REFERENCE_BYTES, maker);
        self.log.add(message, maker);
    }
}

/// The name of a commit and a newline.
const REFERENCE_BYTES: u64 = 41;
/// The configuration that `git init` writes.
const CONFIG: &str =
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

/// The compressed size of the concatenated `parts`, in bytes.
fn compressed_bytes(parts: &[&[u8]], level: i32) -> u64 {
    let level = Compression::new(level).expect("the level is between 0 and 9");
    let mut out = deflate::Write::new(Counter(0), level);
    let written = parts.iter().try_for_each(|part| out.write_all(part)).and_then(|()| out.flush());
    written.expect("a counting writer does not fail");
    out.into_inner().0
}

/// A writer that counts bytes.
struct Counter(u64);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! Read-only access to a repository, with gitoxide: its newest commit and its objects.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use gix_discover::repository::Kind as RepositoryKind;
use gix_hash::{Kind as Hash, ObjectId};
use gix_object::tree::EntryKind;
use gix_object::{CommitRefIter, Find as _, Kind, TreeRefIter};
use gix_odb::{HandleArc, Header as _};
use gix_pack::cache::lru::MemoryCappedHashmap;
use gix_ref::file::{ReferenceExt as _, Store};

use super::path::MAX_BYTES;
use crate::Error;

/// Cache size of a reader for decoded pack objects: neighbours in a history are mostly deltas of each other.
const PACK_CACHE_BYTES: usize = 32 << 20;

/// A repository on this machine.
pub(crate) struct Repository {
    path: PathBuf,
    objects: PathBuf,
    head: ObjectId,
    /// The source of new readers.
    odb: Mutex<HandleArc>,
}

/// Reads objects of a repository; one per thread.
pub(crate) struct Reader {
    path: PathBuf,
    odb: HandleArc,
    buffer: Vec<u8>,
}

/// The fields of a commit that are used here.
pub(crate) struct Commit {
    pub tree: ObjectId,
    pub parents: Vec<ObjectId>,
    /// Commit time, in seconds since 1970; 0 if the commit has no valid one.
    pub time_s: i64,
}

/// An entry of a tree.
#[derive(Clone, Debug)]
pub(crate) struct TreeEntry {
    pub name: Vec<u8>,
    pub kind: EntryKind,
    pub id: ObjectId,
}

impl Repository {
    /// Opens the repository at `path`: bare, or the top of a working tree.
    pub fn open(path: &Path) -> Result<Repository, Error> {
        let fail = |why: String| Error::Git { action: "opening the repository", path: path.into(), why };
        let (git_dir, common_dir) = find(path).ok_or_else(|| {
            fail(
                "it is not a git repository; give its top directory, or the path of a bare repository".into(),
            )
        })?;
        if std::fs::metadata(common_dir.join("shallow")).is_ok_and(|file| file.len() > 0) {
            return Err(fail("it is a shallow clone; fetch its history with `git fetch --unshallow`".into()));
        }
        let objects = common_dir.join("objects");
        let odb = gix_odb::at(&objects, Hash::Sha1).and_then(gix_odb::Handle::into_arc);
        let mut odb = odb.map_err(|error| fail(format!("its objects cannot be read: {error}")))?;
        odb.set_pack_cache(|| Box::new(MemoryCappedHashmap::new(PACK_CACHE_BYTES)));
        let refs = Store::for_linked_worktree(git_dir, common_dir, Hash::Sha1);
        let head = refs.find("HEAD").and_then(|mut head| head.peel_to_id(&refs, &odb));
        let head = head.map_err(|error| {
            fail(format!(
                "it has no readable newest commit ({error}); commit something, or check out HEAD again; \
                 repositories with SHA-256 names are not supported"
            ))
        })?;
        Ok(Repository { path: path.into(), objects, head, odb: Mutex::new(odb) })
    }

    /// The path that the user gave.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The object directory.
    pub fn objects(&self) -> &Path {
        &self.objects
    }

    /// The newest commit.
    pub fn head(&self) -> ObjectId {
        self.head
    }

    /// The paths of all entries of the newest commit except directories. Files and directories together are
    /// limited to `most`.
    pub fn files(&self, most: u64) -> Result<Vec<PathBuf>, Error> {
        let mut reader = self.reader();
        let mut files = Vec::new();
        let mut left = vec![(Vec::new(), reader.commit(self.head)?.tree)];
        let mut entries = 0;
        while let Some((above, tree)) = left.pop() {
            for entry in reader.tree(tree)? {
                entries += 1;
                let path = [&above[..], &entry.name].concat();
                if entries > most || path.len() > MAX_BYTES {
                    return Err(reader.error(format!(
                        "its tree has more than {most} entries, or paths of more than {MAX_BYTES} bytes"
                    )));
                }
                match entry.kind {
                    EntryKind::Tree => left.push(([&path[..], b"/"].concat(), entry.id)),
                    _ => files.push(PathBuf::from(OsString::from_vec(path))),
                }
            }
        }
        Ok(files)
    }

    /// A new reader.
    pub fn reader(&self) -> Reader {
        let odb = self.odb.lock().expect("no thread panics while it holds the objects").clone();
        Reader { path: self.path.clone(), odb, buffer: Vec::new() }
    }
}

/// The git directory at `path`, and the one that it shares with other working trees.
fn find(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let dot_git = path.join(gix_discover::DOT_GIT_DIR);
    let (found, kind) = [dot_git.as_path(), path]
        .into_iter()
        .find_map(|candidate| Some((candidate, gix_discover::is_git(candidate).ok()?)))?;
    let git_dir = match kind {
        RepositoryKind::WorkTree { linked_git_dir: Some(git_dir) } => git_dir,
        _ if found.is_file() => gix_discover::path::from_gitdir_file(found).ok()?,
        _ => found.to_owned(),
    };
    let common_dir = match gix_discover::path::from_plain_file(&git_dir.join("commondir")) {
        Some(common_dir) => git_dir.join(common_dir.ok()?),
        None => git_dir.clone(),
    };
    // The path may be relative to a directory that is left later.
    Some((git_dir.canonicalize().ok()?, common_dir.canonicalize().ok()?))
}

impl Reader {
    /// Reads a commit.
    pub fn commit(&mut self, id: ObjectId) -> Result<Commit, Error> {
        let data = self.find(id, Kind::Commit)?;
        let commit = || CommitRefIter::from_bytes(data, Hash::Sha1);
        let tree = commit().tree_id().map_err(|error| error.to_string());
        let parents = commit().parent_ids().collect();
        let time_s = commit().committer().ok().and_then(|by| by.time().ok()).map_or(0, |time| time.seconds);
        match tree {
            Ok(tree) => Ok(Commit { tree, parents, time_s }),
            Err(error) => Err(self.damaged(id, &error)),
        }
    }

    /// Reads a tree, in its order.
    pub fn tree(&mut self, id: ObjectId) -> Result<Vec<TreeEntry>, Error> {
        let data = self.find(id, Kind::Tree)?;
        let entries = TreeRefIter::from_bytes(data, Hash::Sha1).map(|entry| {
            entry.map(|entry| TreeEntry {
                name: entry.filename.to_vec(),
                kind: entry.mode.kind(),
                id: entry.oid.to_owned(),
            })
        });
        let entries: Result<Vec<_>, _> = entries.collect();
        entries.map_err(|error| self.damaged(id, &error.to_string()))
    }

    /// The size of a blob in bytes.
    pub fn size(&self, id: ObjectId) -> Result<u64, Error> {
        match self.odb.try_header(&id) {
            Ok(Some(header)) => Ok(header.size()),
            Ok(None) => Err(self.missing(id)),
            Err(error) => Err(self.damaged(id, &error.to_string())),
        }
    }

    /// The contents of a blob.
    pub fn contents(&mut self, id: ObjectId) -> Result<Vec<u8>, Error> {
        self.find(id, Kind::Blob)?;
        // Neither copied nor cached: the largest blob of a history may be larger than all other memory in use.
        Ok(std::mem::take(&mut self.buffer))
    }

    /// Any object: its kind and its bytes.
    pub fn object(&mut self, id: ObjectId) -> Result<(Kind, &[u8]), Error> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let found = self.odb.try_find(&id, &mut buffer).map(|found| found.map(|data| data.kind));
        self.buffer = buffer;
        match found {
            Ok(Some(kind)) => Ok((kind, &self.buffer)),
            Ok(None) => Err(self.missing(id)),
            Err(error) => Err(self.damaged(id, &error.to_string())),
        }
    }

    fn find(&mut self, id: ObjectId, kind: Kind) -> Result<&[u8], Error> {
        let is = self.object(id)?.0;
        match is == kind {
            true => Ok(&self.buffer),
            false => Err(self.damaged(id, &format!("it is a {is} instead of a {kind}"))),
        }
    }

    fn missing(&self, id: ObjectId) -> Error {
        self.error(format!(
            "object {id} is missing: the clone is partial or damaged; clone the whole repository"
        ))
    }

    fn damaged(&self, id: ObjectId, why: &str) -> Error {
        self.error(format!("cannot read object {id} ({why}); run git fsck for details"))
    }

    /// An error on this repository.
    pub fn error(&self, why: String) -> Error {
        Error::Git { action: "reading the history of", path: self.path.clone(), why }
    }
}

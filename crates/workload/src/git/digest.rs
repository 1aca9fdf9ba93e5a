//! A digest of a working tree, to compare two trees.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use digest::Digest;
use sha2::{Digest as _, Sha256};

use crate::Error;

/// The SHA-256, in hexadecimal, of the paths, modes (as git records them) and contents of all entries below
/// `root`, without `.git` at its top.
///
/// One record per file, link and directory, in byte order of the names, parents first: `d`, `f`, `x`
/// (executable) or `l`, then path and contents (or target, or nothing), each preceded by its length in 8
/// bytes, little-endian.
pub fn working_tree_digest(root: &Path) -> Result<String, Error> {
    let mut hasher = Sha256::new();
    add(root, Path::new(""), &mut hasher).map_err(|(path, error)| Error::Git {
        action: "reading the working tree",
        path,
        why: error.to_string(),
    })?;
    Ok(Digest::from(hasher).to_string())
}

type Failed = (std::path::PathBuf, io::Error);

fn add(root: &Path, below: &Path, hasher: &mut Sha256) -> Result<(), Failed> {
    let dir = root.join(below);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| (path, error)
    };
    let entries = fs::read_dir(&dir).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let mut names: Vec<_> =
        entries.map_err(failed(&dir))?.into_iter().map(|entry| entry.file_name()).collect();
    names.sort_unstable();
    for name in names {
        let path = below.join(&name);
        if path == Path::new(".git") {
            continue;
        }
        let full = root.join(&path);
        let metadata = fs::symlink_metadata(&full).map_err(failed(&full))?;
        let (kind, contents) = if metadata.is_dir() {
            (b"d", Vec::new())
        } else if metadata.is_symlink() {
            (b"l", fs::read_link(&full).map_err(failed(&full))?.into_os_string().as_bytes().to_vec())
        } else {
            let executable = metadata.permissions().mode() & 0o100 != 0;
            (if executable { b"x" } else { b"f" }, fs::read(&full).map_err(failed(&full))?)
        };
        hasher.update(kind);
        for bytes in [path.as_os_str().as_bytes(), &contents] {
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        }
        if metadata.is_dir() {
            add(root, &path, hasher)?;
        }
    }
    Ok(())
}

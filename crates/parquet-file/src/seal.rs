//! The seal of a Parquet file: the SHA-256 of the whole file, in the 32 bytes after its first mark, which
//! count as zeros.
//!
//! Parquet decoders trust the lengths in a file; damaged lengths can make them panic or allocate all memory.
//! So the seal is verified before anything is decoded, which also reports a damaged trace at the start of an
//! aging run, not hours later. Other programs ignore the seal: in Parquet, only bytes that the footer points
//! to have a meaning.

use std::fs::{File, Permissions};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

/// The mark at the start of a Parquet file.
const MARK: &[u8] = b"PAR1";

/// The placeholder after the mark, which [`finish`] replaces.
pub const PLACEHOLDER: [u8; 32] = [0; 32];

/// Creates a temporary file beside `path`, which is removed when dropped.
pub fn begin(path: &Path) -> io::Result<NamedTempFile> {
    // Temporary files are readable only by their owner; this one gets the usual permissions.
    tempfile::Builder::new()
        .prefix(".senesce-")
        .suffix(".part")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder(path))
}

/// Seals a finished file, makes it durable and renames it to `path`, replacing an existing file.
pub fn finish(file: NamedTempFile, path: &Path) -> io::Result<()> {
    seal(&file)?;
    file.persist(path).map_err(|e| e.error)?;
    sync_parent(path)
}

/// Like [`finish`], but fails if `path` exists.
pub fn finish_new(file: NamedTempFile, path: &Path) -> io::Result<()> {
    seal(&file)?;
    file.persist_noclobber(path).map_err(|e| e.error)?;
    sync_parent(path)
}

fn seal(file: &NamedTempFile) -> io::Result<()> {
    let seal = compute(file.as_file())?;
    file.as_file().write_all_at(&seal, MARK.len() as u64)?;
    file.as_file().sync_all()
}

/// Syncs the parent directory, without which a new name is not durable.
fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

/// The directory that `path` is in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether every byte of the file is unchanged since it was sealed. Rejects files that are not regular, which
/// may be endless.
pub fn is_intact(file: &File) -> io::Result<bool> {
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let mut found = PLACEHOLDER;
    match file.read_exact_at(&mut found, MARK.len() as u64) {
        Ok(()) => Ok(found == *compute(file)?),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

fn compute(mut file: &File) -> io::Result<sha2::digest::Output<Sha256>> {
    let mut hasher = Sha256::new();
    let mut piece = vec![0; 1 << 20];
    file.rewind()?;
    file.read_exact(&mut piece[..MARK.len() + PLACEHOLDER.len()])?;
    hasher.update(&piece[..MARK.len()]);
    hasher.update(PLACEHOLDER);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.finalize()),
            length => hasher.update(&piece[..length]),
        }
    }
}

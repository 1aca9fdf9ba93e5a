//! The seal of a Parquet file of ours: the SHA-256 of the whole file, in 32 bytes behind its first mark, counted as zeros.
//!
//! Decoders of Parquet trust the lengths they find; on damaged ones they may panic or ask for all the memory
//! there is. So not a byte is decoded before the seal is found whole; and who starts to age for
//! hours learns of a damaged trace at once, not at its end. Other programs step over the seal: in Parquet,
//! only bytes that the footer points to have a meaning.

use std::fs::{File, Permissions};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

/// The mark that a Parquet file begins with.
const MARK: &[u8] = b"PAR1";

/// What a writer puts behind the mark, for [`finish`] to fill in.
pub const BLANK: [u8; 32] = [0; 32];

/// Begins the file that will be `path`: beside it, under another name, gone if it is dropped.
pub fn begin(path: &Path) -> io::Result<NamedTempFile> {
    // A temporary file is readable by its owner only; ours are as readable as the user's other files.
    tempfile::Builder::new()
        .prefix(".senesce-")
        .suffix(".part")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder(path))
}

/// Seals a file that is otherwise finished, makes it durable and gives it its name, which replaces what is there.
pub fn finish(file: NamedTempFile, path: &Path) -> io::Result<()> {
    seal(&file)?;
    file.persist(path).map_err(|e| e.error)?;
    settle(path)
}

/// The same, but fails if the name is taken.
pub fn finish_new(file: NamedTempFile, path: &Path) -> io::Result<()> {
    seal(&file)?;
    file.persist_noclobber(path).map_err(|e| e.error)?;
    settle(path)
}

fn seal(file: &NamedTempFile) -> io::Result<()> {
    let seal = compute(file.as_file())?;
    file.as_file().write_all_at(&seal, MARK.len() as u64)?;
    file.as_file().sync_all()
}

/// A new name lasts only once the directory that holds it is on disk too.
fn settle(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

/// The directory that `path` is in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether every byte of the file is as it was when it was sealed. What is no regular file may have no end, and is none of ours.
pub fn is_whole(file: &File) -> io::Result<bool> {
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let mut found = BLANK;
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
    file.read_exact(&mut piece[..MARK.len() + BLANK.len()])?;
    hasher.update(&piece[..MARK.len()]);
    hasher.update(BLANK);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.finalize()),
            length => hasher.update(&piece[..length]),
        }
    }
}

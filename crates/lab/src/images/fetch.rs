//! Fetching an image that a catalogue names.

use super::catalogue::{Catalogue, CatalogueEntry};
use super::shelf::Shelf;
use super::sign::{self, Key};
use crate::{Error, Watch};
use saved::{Digest, NewFile, Saved};
use serde::Serialize;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A signature of more bytes than that is none.
const MOST_SIGNATURE_BYTES: u64 = 64 << 10;

/// What was fetched.
#[derive(Clone, Debug, Serialize)]
pub struct Fetched {
    /// Its name.
    pub name: String,
    /// The file on the shelf.
    pub file: PathBuf,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// The key that signed it, if the catalogue names one.
    pub signed_by: Option<String>,
}

/// Fetches the image `name` of the catalogue in `file` to the shelf. It gets its name there only when its signature, its checksum and every byte
/// of it are found to be right.
pub fn fetch(file: &Path, name: &str, watch: &mut dyn Watch) -> Result<Fetched, Error> {
    let catalogue = Catalogue::load(file)?;
    let entry = catalogue.find(name)?;
    let shelf = Shelf::of_user()?;
    shelf.make()?;
    let to = shelf.file(name);
    let mut image = NewFile::begin(&to)?;
    let base = file.parent().unwrap_or(Path::new(""));
    watch.phase(&format!("{name}: fetching"), None);
    get(&entry.at, base, image.file())?;
    // It has no name yet, but can be opened.
    let unnamed = PathBuf::from(format!("/proc/self/fd/{}", image.file().as_raw_fd()));
    let of_entry = |error: Error| Error::Refused(format!("{name} from {}: {error}", entry.at));
    check_sum(entry, &unnamed).map_err(of_entry)?;
    let saved = Saved::open(&unnamed).map_err(|error| of_entry(error.into()))?;
    let signature = match &entry.key {
        Some(key) => Some(signature(entry, key, base, &saved, &to).map_err(of_entry)?),
        None => None,
    };
    saved
        .verify(&mut super::progress(watch, &format!("{name}: checksums")))
        .map_err(|error| of_entry(error.into()))?;
    let file_bytes = saved.file_bytes();
    drop(saved);
    let signed_by = match signature {
        Some((file, id)) => {
            file.finish()?;
            Some(id)
        }
        None => None,
    };
    image.finish()?;
    Ok(Fetched { name: name.to_owned(), file: to, file_bytes, signed_by })
}

/// Refuses a file that has not the sum that the catalogue says.
fn check_sum(entry: &CatalogueEntry, path: &Path) -> Result<(), Error> {
    let Some(expected) = entry.sha256 else { return Ok(()) };
    let mut file = File::open(path).map_err(Error::io("opening", path))?;
    let found = Digest::of_file(&mut file).map_err(Error::io("reading", path))?;
    if found != expected {
        return Err(Error::Refused(format!(
            "its SHA-256 is {found}, and {expected} in the catalogue; it is not used"
        )));
    }
    Ok(())
}

/// The signature of an image, checked and ready to be put beside it, and the number of the key.
fn signature(
    entry: &CatalogueEntry,
    key: &str,
    base: &Path,
    saved: &Saved,
    to: &Path,
) -> Result<(NewFile, String), Error> {
    let key = Key::parse(key).map_err(Error::Refused)?;
    let at =
        entry.signature.clone().unwrap_or_else(|| sign::beside(Path::new(&entry.at)).display().to_string());
    let mut file = NewFile::begin(&sign::beside(to))?;
    get(&at, base, file.file())?;
    let path = file.path().to_owned();
    let mut text = String::new();
    let unnamed = PathBuf::from(format!("/proc/self/fd/{}", file.file().as_raw_fd()));
    File::open(unnamed)
        .and_then(|file| file.take(MOST_SIGNATURE_BYTES).read_to_string(&mut text))
        .map_err(Error::io("reading the signature for", &path))?;
    key.check_text(saved.manifest_text(), &text).map_err(|why| {
        Error::Refused(format!("its signature is not one by the key {}: {why}; it is not used", key.id()))
    })?;
    Ok((file, key.id()))
}

/// Writes what lies at a URL, or at a path from `base` on, to `to`.
fn get(at: &str, base: &Path, to: &mut File) -> Result<(), Error> {
    let is_remote = ["https://", "http://"].iter().any(|scheme| at.starts_with(scheme));
    if !is_remote {
        let path = base.join(at.strip_prefix("file://").unwrap_or(at));
        let mut from = File::open(&path).map_err(Error::io("opening", &path))?;
        return std::io::copy(&mut from, to).and_then(|_| to.flush()).map_err(Error::io("copying", &path));
    }
    disk::require_tool("curl", "curl")?;
    let out = to.try_clone().map_err(Error::io("fetching to the place of", base))?;
    let mut curl = disk::command("curl");
    curl.args([
        "--fail",
        "--location",
        "--silent",
        "--show-error",
        "--proto",
        "=https,http",
        "--proto-redir",
        "=https",
    ]);
    let output = curl
        .arg("--")
        .arg(at)
        .stdout(Stdio::from(out))
        .stderr(Stdio::piped())
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .map_err(Error::io("running curl for", Path::new(at)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Failed(format!("fetching {at}: {}", said.trim().trim_start_matches("curl: "))));
    }
    Ok(())
}

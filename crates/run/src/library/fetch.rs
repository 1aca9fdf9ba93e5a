//! Fetches an image of a catalogue.

use super::about::About;
use super::catalogue::{Catalogue, CatalogueEntry};
use super::directory::Library;
use super::download::download;
use super::sign::{self, Key};
use crate::Error;
use archive::{ArchivedImage, AtomicFile, Digest};
use results::Watch;
use serde::Serialize;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

/// Maximum size of a signature.
const MOST_SIGNATURE_BYTES: u64 = 64 << 10;

/// Maximum size of an image without a size in the catalogue.
const MOST_BYTES: u64 = 16 << 30;

/// The result of a fetch.
#[derive(Clone, Debug, Serialize)]
pub struct FetchedImage {
    /// Its name.
    pub name: String,
    /// The file in the library.
    pub file: PathBuf,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// The key that signed it, if the catalogue names one.
    pub signed_by: Option<String>,
}

/// Fetches the image `name` of the catalogue in `file` to the library; with a key, only if the catalogue is signed with it. The image gets
/// its name only after its signature, its checksum and every byte are verified.
pub fn fetch(
    file: &Path,
    name: &str,
    key: Option<&Key>,
    watch: &mut dyn Watch,
) -> Result<FetchedImage, Error> {
    let catalogue = Catalogue::load(file, key)?;
    let entry = catalogue.find(name)?;
    let library = Library::of_user()?;
    library.create()?;
    let to = library.image_path(name);
    let mut image = AtomicFile::begin(&to)?;
    let base = file.parent().unwrap_or(Path::new(""));
    watch.phase(&format!("{name}: fetching"), entry.bytes);
    let signature = entry.key.as_ref().map(|key| Signature::fetch(entry, key, base, &to)).transpose()?;
    let most = entry.bytes.unwrap_or(MOST_BYTES);
    download(&entry.at, base, most, image.file(), &mut |done| watch.at(done))?;
    // The file has no name yet, but can be opened.
    let unnamed = PathBuf::from(format!("/proc/self/fd/{}", image.file().as_raw_fd()));
    let of_entry = |error: Error| Error::Refused(format!("{name} from {}: {error}", entry.at));
    check_sum(entry, &unnamed).map_err(of_entry)?;
    let archive = ArchivedImage::open(&unnamed).map_err(|error| of_entry(error.into()))?;
    if let Some(signature) = &signature {
        signature.check(&archive).map_err(of_entry)?;
    }
    About::of(&archive).map_err(of_entry)?;
    archive
        .verify(&mut super::progress(watch, &format!("{name}: checksums")))
        .map_err(|error| of_entry(error.into()))?;
    let file_bytes = archive.file_bytes();
    drop(archive);
    let signed_by = signature.map(Signature::keep).transpose()?;
    image.finish()?;
    Ok(FetchedImage { name: name.to_owned(), file: to, file_bytes, signed_by })
}

/// Refuses a file whose checksum differs from that in the catalogue.
fn check_sum(entry: &CatalogueEntry, path: &Path) -> Result<(), Error> {
    let Some(expected) = entry.sha256 else { return Ok(()) };
    let mut file = input::open(path).map_err(Error::io("opening", path))?;
    let found = Digest::of_file(&mut file).map_err(Error::io("reading", path))?;
    if found != expected {
        return Err(Error::Refused(format!(
            "its SHA-256 is {found}, but {expected} in the catalogue; the image is not used"
        )));
    }
    Ok(())
}

/// The signature of an image being fetched.
struct Signature {
    key: Key,
    text: String,
    /// The file that receives the signature; `None` if it exists already, as after a run that was killed before it named the image.
    file: Option<AtomicFile>,
}

impl Signature {
    /// Fetches the signature for the image at `to`.
    fn fetch(entry: &CatalogueEntry, key: &str, base: &Path, to: &Path) -> Result<Signature, Error> {
        let key = Key::parse(key).map_err(Error::Refused)?;
        let beside = |at: &String| sign::signature_path(Path::new(at)).display().to_string();
        let at = entry.signature.clone().unwrap_or_else(|| beside(&entry.at));
        let mut text = Vec::new();
        download(&at, base, MOST_SIGNATURE_BYTES, &mut text, &mut |_| {})?;
        let text = String::from_utf8(text).map_err(|_| Error::Refused(format!("{at} is not a signature")))?;
        let path = sign::signature_path(to);
        let is_there = input::read(&path).is_ok_and(|there| there == text.as_bytes());
        let file = if is_there { None } else { Some(AtomicFile::begin(&path)?) };
        Ok(Signature { key, text, file })
    }

    fn check(&self, archive: &ArchivedImage) -> Result<(), Error> {
        self.key.check_text(archive.manifest_text(), &self.text).map_err(|why| {
            let id = self.key.id();
            Error::Refused(format!("its signature is not by the key {id}: {why}; the image is not used"))
        })
    }

    /// Stores the signature next to the image, and returns the key number.
    fn keep(self) -> Result<String, Error> {
        if let Some(mut file) = self.file {
            let path = file.path().to_owned();
            file.file().write_all(self.text.as_bytes()).map_err(Error::io("writing", &path))?;
            file.finish()?;
        }
        Ok(self.key.id())
    }
}

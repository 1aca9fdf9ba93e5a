//! Signatures of saved images, by minisign (Ed25519). The signature covers the manifest, whose checksums cover every byte of the file. It
//! is stored next to the file, as `NAME.aged.manifest.minisig`; that of a catalogue as `FILE.minisig`.

use super::catalogue::Catalogue;
use crate::Error;
use archive::{ArchivedImage, AtomicFile};
use minisign::{KeyPair, PublicKey, PublicKeyBox, SecretKeyBox, SignatureBox};
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};

/// A public key.
#[derive(Clone, Debug)]
pub struct Key(PublicKey);

impl Key {
    /// Parses a key from a single line or from the text of a key file.
    pub fn parse(text: &str) -> Result<Key, String> {
        let text = text.trim();
        let key = match text.contains('\n') {
            true => PublicKeyBox::from_string(text).and_then(PublicKeyBox::into_public_key),
            false => PublicKey::from_base64(text),
        };
        key.map(Key).map_err(|_| format!("{text:?} is not a minisign public key (these begin with RW)"))
    }

    /// Reads the key from a file, or parses the argument as a key.
    pub fn find(key: &str) -> Result<Key, Error> {
        let path = Path::new(key);
        let text = match path.is_file() {
            true => input::read_to_string(path).map_err(Error::io("reading", path))?,
            false => key.to_owned(),
        };
        Key::parse(&text).map_err(|why| {
            Error::Refused(if path.is_file() {
                format!("{key}: {why}")
            } else {
                format!("{why}, nor a file")
            })
        })
    }

    /// The key number shown to users.
    pub fn id(&self) -> String {
        self.0.keynum().iter().rev().map(|byte| format!("{byte:02X}")).collect()
    }

    /// Refuses a saved image whose manifest is not signed with this key, according to the signature next to it.
    pub fn check(&self, archive: &ArchivedImage) -> Result<(), Error> {
        self.check_file(archive.path(), archive.manifest_text(), &signature_path(archive.path()))
    }

    /// Refuses `text`, from the file at `path`, if it is not signed with this key, according to the signature at `beside`.
    pub(super) fn check_file(&self, path: &Path, text: &[u8], beside: &Path) -> Result<(), Error> {
        let signature = match input::read_to_string(beside) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::Refused(format!(
                    "{} has no signature: {} does not exist",
                    path.display(),
                    beside.display()
                )));
            }
            text => text.map_err(Error::io("reading", beside))?,
        };
        self.check_text(text, &signature).map_err(|why| {
            Error::Refused(format!(
                "the signature of {} in {} is not by the key {}: {why}; do not trust it",
                path.display(),
                beside.display(),
                self.id()
            ))
        })
    }

    /// Checks a signature of `text`.
    pub(super) fn check_text(&self, text: &[u8], signature: &str) -> Result<(), String> {
        // The fourth line signs the first signature and the comment: 64 bytes in base64. The minisign crate assumes that it exists.
        if signature.lines().nth(3).is_none_or(|line| line.trim().len() != 88) {
            return Err("the signature of its trusted comment is incomplete".into());
        }
        let signature = SignatureBox::from_string(signature).map_err(|why| why.to_string())?;
        minisign::verify(&self.0, &signature, Cursor::new(text), true, false, false)
            .map_err(|why| why.to_string())
    }
}

/// The path of the signature of a saved image.
pub(super) fn signature_path(file: &Path) -> PathBuf {
    with_ending(file, ".manifest.minisig")
}

/// The path of the signature of a catalogue: the default of minisign itself.
pub(super) fn catalogue_signature_path(file: &Path) -> PathBuf {
    with_ending(file, ".minisig")
}

fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Makes a key pair: the secret key in `path`, readable only by its owner, and the public key in `path` with `.pub` appended. Asks for a
/// password if `password` is set. Returns the public key as a single line.
pub fn make_key(path: &Path, password: bool) -> Result<String, Error> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let fail = |why: minisign::PError| Error::Failed(format!("creating a key: {why}"));
    let public = with_ending(path, ".pub");
    if path.exists() || public.exists() {
        return Err(Error::Refused(format!(
            "{} or its .pub already exists; choose another name",
            path.display()
        )));
    }
    let pair = match password {
        true => KeyPair::generate_encrypted_keypair(None),
        false => KeyPair::generate_unencrypted_keypair(),
    };
    let KeyPair { pk, sk } = pair.map_err(fail)?;
    let secret = sk.to_box(None).map_err(fail)?.into_string();
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(secret.as_bytes()).and_then(|()| file.sync_all()));
    written.map_err(Error::io("writing", path))?;
    let text = pk.to_box().map_err(fail)?.into_string();
    std::fs::write(&public, text).map_err(Error::io("writing", &public))?;
    Ok(pk.to_base64())
}

/// Signs the saved image in `file` with the secret key in `key`; asks for its password if it has one. Verifies every byte first. Returns
/// the path of the signature.
pub fn sign(file: &Path, key: &Path) -> Result<PathBuf, Error> {
    let archive = ArchivedImage::open(file)?;
    archive.verify(&mut |_, _| {})?;
    sign_text(archive.manifest_text(), &format!("manifest of {}", name_of(file)), key, signature_path(file))
}

/// Signs the catalogue in `file` likewise, after parsing it.
pub fn sign_catalogue(file: &Path, key: &Path) -> Result<PathBuf, Error> {
    Catalogue::load(file, None)?;
    let text = input::read(file).map_err(Error::io("reading", file))?;
    sign_text(&text, &format!("catalogue {}", name_of(file)), key, catalogue_signature_path(file))
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().replace(char::is_control, "?")
}

/// Stores a signature of `signed` at `beside`.
fn sign_text(signed: &[u8], comment: &str, key: &Path, beside: PathBuf) -> Result<PathBuf, Error> {
    let text = input::read_to_string(key).map_err(Error::io("reading", key))?;
    let fail = |why: minisign::PError| Error::Refused(format!("signing with {}: {why}", key.display()));
    let secret = || SecretKeyBox::from_string(&text);
    // Only a key without a password can be read unencrypted.
    let secret = secret()
        .and_then(SecretKeyBox::into_unencrypted_secret_key)
        .or_else(|_| secret().and_then(|key| key.into_secret_key(None)))
        .map_err(fail)?;
    let signature = minisign::sign(None, &secret, Cursor::new(signed), Some(comment), None).map_err(fail)?;
    let mut out = AtomicFile::begin(&beside)?;
    out.file().write_all(signature.to_string().as_bytes()).map_err(Error::io("writing", &beside))?;
    out.finish()?;
    Ok(beside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_signed_text_passes() {
        let KeyPair { pk, sk } = KeyPair::generate_unencrypted_keypair().unwrap();
        let sign =
            |text: &[u8]| minisign::sign(None, &sk, Cursor::new(text), None, None).unwrap().to_string();
        let (key, signature) = (Key::parse(&pk.to_base64()).unwrap(), sign(b"this"));
        assert_eq!(key.check_text(b"this", &signature), Ok(()));
        assert!(key.check_text(b"that", &signature).is_err());
        assert!(key.check_text(b"this", &sign(b"that")).is_err());
        let other = Key(KeyPair::generate_unencrypted_keypair().unwrap().pk);
        assert!(other.check_text(b"this", &signature).is_err());
        let file = pk.to_box().unwrap().into_string();
        assert_eq!(Key::parse(&file).unwrap().id(), key.id());
    }

    proptest! {
        #[test]
        fn any_text_is_refused_without_panic(text in "\\PC{0,80}(\n\\PC{0,80}){0,4}", at in 0usize..300, to: u8) {
            let pair = KeyPair::generate_unencrypted_keypair().unwrap();
            let key = Key(pair.pk);
            prop_assert!(Key::parse(&text).is_err());
            prop_assert!(key.check_text(b"this", &text).is_err());
            let signature = minisign::sign(None, &pair.sk, Cursor::new(b"this"), Some("c"), Some("c")).unwrap().to_string();
            let mut changed = signature.into_bytes();
            let at = at % changed.len();
            changed[at] = to;
            if let Ok(text) = String::from_utf8(changed) {
                let _ = key.check_text(b"this", &text);
                prop_assert!(key.check_text(b"that", &text).is_err());
            }
        }
    }
}

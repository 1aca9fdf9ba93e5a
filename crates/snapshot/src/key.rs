//! Keys for hashing names, so that a snapshot reveals no names and two snapshots of one file system can still
//! be compared.

use crate::Error;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// Bytes of the keyed hash of a name: with 10⁹ names, the probability of a collision is 10⁻²¹.
const HASH_BYTES: usize = 16;

/// A secret key for hashing names, one path component at a time, so that the tree keeps its shape. The hash
/// is HMAC-SHA-256, truncated to 128 bits, in hexadecimal. Under one key, equal names have equal hashes in
/// any place.
pub struct Key(Hmac<Sha256>);

impl Key {
    /// Writes a random key to the new file `path`, readable only by its owner.
    pub fn make(path: &Path) -> Result<Key, Error> {
        let mut bytes = [0; KEY_BYTES];
        let random = Path::new("/dev/urandom");
        let read = File::open(random).and_then(|mut file| file.read_exact(&mut bytes));
        read.map_err(Error::io("reading", random))?;
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let mut file = opened.map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => Error::Key {
                path: path.to_owned(),
                why: "the key file to create already exists; use it with --key, or give another name",
            },
            _ => Error::io("creating", path)(source),
        })?;
        // Set the mode explicitly: an umask could remove the owner's read permission.
        let written = file
            .set_permissions(Permissions::from_mode(0o600))
            .and_then(|()| file.write_all(format!("{}\n", hexadecimal(&bytes)).as_bytes()))
            .and_then(|()| file.sync_all());
        written.map_err(Error::io("writing", path))?;
        Ok(Key::of(&bytes))
    }

    /// Reads the key in the file `path`.
    pub fn load(path: &Path) -> Result<Key, Error> {
        let failed = Error::io("reading", path);
        let file = input::open(path).map_err(&failed)?;
        if file.metadata().map_err(&failed)?.permissions().mode() & 0o077 != 0 {
            let why = "other users can read it, so it may not be secret; create a new key, or chmod 600 it";
            return Err(Error::Key { path: path.to_owned(), why });
        }
        let mut text = Vec::new();
        file.take(1024).read_to_end(&mut text).map_err(&failed)?;
        let why = "it must be 64 hexadecimal digits and a line end; create one with --make-key";
        let key = from_hexadecimal(text.trim_ascii_end()).ok_or(Error::Key { path: path.to_owned(), why })?;
        Ok(Key::of(&key))
    }

    fn of(bytes: &[u8; KEY_BYTES]) -> Key {
        Key(Hmac::new_from_slice(bytes).expect("HMAC accepts keys of any length"))
    }

    /// The keyed hash of a name.
    pub fn hash_name(&self, name: &[u8]) -> String {
        self.hash(b"name", name)
    }

    /// An identifier of the key that does not reveal it.
    pub fn id(&self) -> String {
        self.hash(b"key", b"")
    }

    /// Hashes with separate domains, so that hashes for different purposes never collide.
    fn hash(&self, what_for: &[u8], bytes: &[u8]) -> String {
        let mut mac = self.0.clone();
        mac.update(what_for);
        mac.update(b"\0");
        mac.update(bytes);
        hexadecimal(&mac.finalize().into_bytes()[..HASH_BYTES])
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn from_hexadecimal(text: &[u8]) -> Option<[u8; KEY_BYTES]> {
    if text.len() != 2 * KEY_BYTES {
        return None;
    }
    let mut bytes = [0; KEY_BYTES];
    for (byte, digits) in bytes.iter_mut().zip(text.chunks(2)) {
        let digit = |index: usize| char::from(digits[index]).to_digit(16).map(|digit| digit as u8);
        *byte = digit(0)? << 4 | digit(1)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_key_gives_equal_hashes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let made = Key::make(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let loaded = Key::load(&path).unwrap();
        assert_eq!((made.id(), made.hash_name(b"a")), (loaded.id(), loaded.hash_name(b"a")));
        assert_ne!(made.hash_name(b"a"), made.hash_name(b"b"));
        let secret = std::fs::read_to_string(&path).unwrap();
        assert!(!secret.contains(&made.id()) && made.id().len() == 32);
        // A key is never overwritten, and never used if other users can read it.
        assert!(Key::make(&path).err().unwrap().to_string().contains("already exists"));
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(Key::load(&path).err().unwrap().to_string().contains("chmod 600"));
    }

    #[test]
    fn hash_matches_openssl() {
        // printf 'name\0a' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0b0b…0b
        let key = Key::of(&[0x0b; 32]);
        assert_eq!(key.hash_name(b"a"), "bd867e69ab40e1fc11f80765676f1e88");
    }

    #[test]
    fn invalid_key_files_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        for text in [&b""[..], b"abc", &[b'0'; 63], &[b'g'; 64], &[0xff; 64], &[b'0'; 65]] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            assert!(Key::load(&path).err().unwrap().to_string().contains("64 hexadecimal"));
        }
    }
}

//! SHA-256 checksums: computed, printed and parsed as 64 hexadecimal digits.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// The digest of the concatenation of `parts`.
    pub fn of_all<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
        let mut sha = Sha256::new();
        parts.into_iter().for_each(|part| sha.update(part));
        sha.into()
    }

    /// The digest of everything that can still be read from `file`.
    ///
    /// # Errors
    /// If reading fails.
    pub fn of_file(file: &mut impl std::io::Read) -> std::io::Result<Digest> {
        let (mut sha, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(sha.into()),
                read => sha.update(&buffer[..read]),
            }
        }
    }

    /// Parses 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Digest> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Digest(bytes))
    }
}

impl From<Sha256> for Digest {
    fn from(sha: Sha256) -> Digest {
        Digest(sha.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(from)?;
        Digest::parse(&text).ok_or_else(|| de::Error::custom("a SHA-256 must have 64 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn digests_match_fips_180_4() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").to_string(), abc);
        assert_eq!(Digest::of_all([&b"a"[..], b"bc"]), Digest::of(b"abc"));
        assert_eq!(Digest::of_file(&mut &b"abc"[..]).unwrap(), Digest::of(b"abc"));
    }

    proptest! {
        #[test]
        fn digits_round_trip_and_other_text_is_refused(bytes: [u8; 32], text in "\\PC{0,70}") {
            prop_assert_eq!(Digest::parse(&Digest(bytes).to_string()), Some(Digest(bytes)));
            prop_assert!(Digest::parse(&text).is_none_or(|digest| digest.to_string() == text.to_lowercase()));
        }
    }
}

//! Catalogues: lists of saved images, with the location and the expected signature or checksum of each.

use super::sign::{self, Key};
use crate::{Error, can_name};
use archive::Digest;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Component, Path};

/// The TOML file of a catalogue.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// The images.
    #[serde(rename = "image", default)]
    pub images: Vec<CatalogueEntry>,
}

/// A saved image in a catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueEntry {
    /// Name in the library.
    pub name: String,
    /// Location: a URL (`https`, `http` or `file`), or a path relative to the directory of the catalogue.
    pub at: String,
    /// The minisign public key that signed the manifest.
    #[serde(default)]
    pub key: Option<String>,
    /// Location of the signature, if not next to the image.
    #[serde(default)]
    pub signature: Option<String>,
    /// Size of the file. A fetch stops at this size, or at 16 GiB if it is not given.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// SHA-256 of the file.
    #[serde(default)]
    pub sha256: Option<Digest>,
    /// Description for users.
    #[serde(default)]
    pub about: Option<String>,
}

impl Catalogue {
    /// Reads the catalogue in a file; with a key, only if it is signed with it.
    pub fn load(path: &Path, key: Option<&Key>) -> Result<Catalogue, Error> {
        let text = input::read_to_string(path).map_err(Error::io("reading the catalogue", path))?;
        if let Some(key) = key {
            key.check_file(path, text.as_bytes(), &sign::catalogue_signature_path(path))?;
        }
        Catalogue::parse(&text)
            .map_err(|why| Error::Refused(format!("{} is not a catalogue: {why}", path.display())))
    }

    fn parse(text: &str) -> Result<Catalogue, String> {
        let catalogue: Catalogue = toml::from_str(text).map_err(|why| why.to_string())?;
        let mut names = HashSet::new();
        for entry in &catalogue.images {
            let name = &entry.name;
            if !can_name(name) {
                return Err(format!("{name:?} is not a valid image name"));
            }
            if !names.insert(name) {
                return Err(format!("two images are named {name}"));
            }
            if entry.key.is_none() && entry.sha256.is_none() {
                return Err(format!("{name} has neither a key nor a sha256, so it cannot be verified"));
            }
            let paths = [Some(&entry.at), entry.signature.as_ref()].into_iter().flatten();
            if let Some(path) = paths.into_iter().find(|at| !is_remote(at) && leads_out(at)) {
                return Err(format!("{name}: path {path:?} contains `..`; give the full path"));
            }
            if let Some(key) = &entry.key {
                Key::parse(key).map_err(|why| format!("{name}: {why}"))?;
            }
        }
        Ok(catalogue)
    }

    /// The image with that name.
    pub fn find(&self, name: &str) -> Result<&CatalogueEntry, Error> {
        self.images.iter().find(|entry| entry.name == name).ok_or_else(|| {
            let names: Vec<_> = self.images.iter().map(|entry| entry.name.as_str()).collect();
            Error::Refused(format!("the catalogue has no image {name}; it has {}", names.join(", ")))
        })
    }
}

/// Whether the location is a web URL.
pub(super) fn is_remote(at: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| at.starts_with(scheme))
}

fn leads_out(path: &str) -> bool {
    Path::new(path).components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = r#"
        [[image]]
        name = "a"
        at = "https://example.org/a.aged"
        sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        about = "an example"
    "#;

    #[test]
    fn unknown_unsigned_and_duplicate_entries_are_refused() {
        let good = Catalogue::parse(GOOD).unwrap();
        assert_eq!(good.find("a").unwrap().at, "https://example.org/a.aged");
        assert!(good.find("b").unwrap_err().to_string().contains("it has a"));
        for (from, to, why) in [
            ("sha256", "#", "neither a key nor a sha256"),
            ("about", "abuot", "unknown field"),
            ("\"a\"", "\"../a\"", "is not a valid image name"),
            ("https://example.org", "there/../..", "contains `..`"),
            ("about", "signature = \"../a\"\nabout", "contains `..`"),
            ("\"a\"", "\"a\\nb\"", "is not a valid image name"),
            ("about", "key = \"RWx\"\nabout", "not a minisign public key"),
            ("ba78", "xx", "64 hexadecimal digits"),
        ] {
            let message = Catalogue::parse(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(message.contains(why), "{message}");
        }
        assert!(Catalogue::parse(&GOOD.repeat(2)).unwrap_err().contains("two images are named a"));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_panic(text in "\\PC*", at in 0usize..200, to in any::<char>()) {
            let _ = Catalogue::parse(&text);
            let mut changed: Vec<char> = GOOD.chars().collect();
            let at = at % changed.len();
            changed[at] = to;
            let _ = Catalogue::parse(&changed.into_iter().collect::<String>());
        }
    }
}

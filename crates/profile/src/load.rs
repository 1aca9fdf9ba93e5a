//! Loads profiles: built-in ones, or from a TOML file.

use crate::{Error, Profile};
use std::path::Path;

/// The built-in profiles, one per line.
const BUILTIN: &[(&str, &str)] = &[
    ("agrawal", include_str!("../../../profiles/agrawal.toml")),
    ("dabre", include_str!("../../../profiles/dabre.toml")),
    ("douceur", include_str!("../../../profiles/douceur.toml")),
    ("grundman", include_str!("../../../profiles/grundman.toml")),
    ("meyer", include_str!("../../../profiles/meyer.toml")),
    ("pramod", include_str!("../../../profiles/pramod.toml")),
    ("wang_lanl", include_str!("../../../profiles/wang_lanl.toml")),
    ("wang_os", include_str!("../../../profiles/wang_os.toml")),
];

/// The names of the built-in profiles.
pub fn builtin() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}

/// Loads the built-in profile with this name, or the file with this path.
pub fn load(name_or_path: impl AsRef<Path>) -> Result<Profile, Error> {
    let path = name_or_path.as_ref();
    if let Some((name, text)) = BUILTIN.iter().find(|(name, _)| path.as_os_str() == *name) {
        return Profile::parse(text, name);
    }
    let name = || path.display().to_string();
    match input::read_to_string(path) {
        Ok(text) => Profile::parse(&text, &name()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let known = builtin().collect::<Vec<_>>().join(", ");
            Err(Error::Unknown { name: name(), known })
        }
        Err(source) => Err(Error::Io { path: path.to_owned(), source }),
    }
}

impl Profile {
    /// Parses a profile from TOML and checks it. `place` names the origin of the text in errors.
    pub fn parse(text: &str, place: &str) -> Result<Profile, Error> {
        let profile: Profile = toml::from_str(text)
            .map_err(|e| Error::Syntax { place: place.to_owned(), why: input::toml_error(&e, text) })?;
        profile.check()?;
        Ok(profile)
    }

    /// The profile as TOML; [`Profile::parse`] reads back the same profile.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a profile is plain data")
    }
}

//! Personalities as TOML files, built-in or user-defined.

use super::error::Error;
use super::operation::{Operation, parse};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// The built-in personalities, one per line.
const BUILTIN: &[(&str, &str)] = &[
    ("fileserver", include_str!("../../../../personalities/fileserver.toml")),
    ("varmail", include_str!("../../../../personalities/varmail.toml")),
    ("webserver", include_str!("../../../../personalities/webserver.toml")),
];

/// The names of the built-in personalities.
pub fn builtin() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}

/// The workload of a server on a file system.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Personality {
    /// Its name.
    pub name: String,
    /// A description.
    pub title: String,
    /// The source of the workload.
    pub source: String,
    /// Number of threads that run the loop.
    pub threads: u32,
    /// Maximum bytes of a read or write call.
    pub io_bytes: u64,
    /// The loop, step by step, in the language of [`Operation`].
    #[serde(rename = "loop")]
    pub steps: Vec<String>,
    /// The sets of files, by their names.
    pub set: BTreeMap<String, FileSet>,
}

/// A set of files that is created before the run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSet {
    /// Maximum number of files.
    pub files: u64,
    /// Mean size in bytes. Sizes have a gamma distribution.
    pub mean_bytes: u64,
    /// Shape of the gamma distribution, at least 1.
    #[serde(default = "shape")]
    pub shape: f64,
    /// Mean number of entries of a directory, also with a gamma distribution.
    pub width: u64,
    /// The fraction of the files that exist at the start of the run.
    pub preallocated: f64,
    /// `append … to` truncates a file that exceeds this size. Without it, files grow until the file system is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_bytes: Option<u64>,
}

/// The default shape of Filebench.
fn shape() -> f64 {
    1.5
}

impl Personality {
    /// The built-in personality with this name, or the one in the file with this path.
    pub fn find(name_or_path: &str) -> Result<Personality, Error> {
        if let Some((name, text)) = BUILTIN.iter().find(|(name, _)| *name == name_or_path) {
            return Personality::parse(text, name);
        }
        let path = Path::new(name_or_path);
        match input::read_to_string(path) {
            Ok(text) => Personality::parse(&text, name_or_path),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let known = builtin().collect::<Vec<_>>().join(", ");
                Err(Error::Unknown { name: name_or_path.to_owned(), known })
            }
            Err(e) => Err(Error::io("reading the personality", path)(e)),
        }
    }

    /// Parses and checks a personality in TOML. `place` names the source of the text in errors.
    pub fn parse(text: &str, place: &str) -> Result<Personality, Error> {
        let invalid = |why: String| Error::Invalid { place: place.to_owned(), why };
        let personality: Personality =
            toml::from_str(text).map_err(|e| invalid(input::toml_error(&e, text)))?;
        let told = |flaw: Flaw| invalid(format!("line {}: {}", flaw.line(text), flaw.why));
        personality.validate().map_err(told)?;
        Ok(personality)
    }

    /// The names of the sets, in their order.
    pub fn sets(&self) -> Vec<&str> {
        self.set.keys().map(String::as_str).collect()
    }

    /// The operations of the loop.
    pub fn operations(&self) -> Result<Vec<Operation>, Error> {
        let invalid = |(_, why)| Error::Invalid { place: self.name.clone(), why };
        parse(&self.steps, &self.sets()).map_err(invalid)
    }

    /// Returns why the personality is invalid, if it is.
    pub fn check(&self) -> Result<(), String> {
        self.validate().map_err(|flaw| flaw.why)
    }

    fn validate(&self) -> Result<(), Flaw> {
        if self.name.is_empty() || !self.name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        {
            return flaw(
                "name",
                format!("its name {:?} is not valid; use letters, digits, - and _", self.name),
            );
        }
        if !(1..=4096).contains(&self.threads) {
            return flaw("threads", format!("it must have 1 to 4096 threads, not {}", self.threads));
        }
        if !(1..=1 << 30).contains(&self.io_bytes) {
            let why = format!("a call must read or write 1 byte to 1 GiB, not {}", self.io_bytes);
            return flaw("io_bytes", why);
        }
        if self.set.is_empty() {
            return flaw("set", "it has no file set".to_owned());
        }
        for (name, set) in &self.set {
            set.validate(name).map_err(|(key, why)| {
                let at = ["set", name, key].map(str::to_owned).into();
                Flaw { at, why: format!("set {name:?} {why}") }
            })?;
        }
        let of_step = |(at, why): (usize, String)| Flaw { at: vec!["loop".to_owned(), at.to_string()], why };
        parse(&self.steps, &self.sets()).map(drop).map_err(of_step)
    }

    /// The personality with the number of files of each set multiplied by `factor`, at least one.
    pub fn scaled(mut self, factor: f64) -> Personality {
        for set in self.set.values_mut().filter(|set| set.files > 1) {
            set.files = ((set.files as f64 * factor).round() as u64).max(1);
        }
        self
    }
}

impl FileSet {
    /// The invalid key and the reason.
    fn validate(&self, name: &str) -> Result<(), (&'static str, String)> {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(("", "has an invalid name; use letters and digits only".to_owned()));
        }
        if !(1..=100_000_000).contains(&self.files) {
            return Err(("files", format!("must have 1 to 100 million files, not {}", self.files)));
        }
        if self.mean_bytes > 1 << 40 {
            let why = format!("has a mean size of {} bytes; the maximum is 1 TiB", self.mean_bytes);
            return Err(("mean_bytes", why));
        }
        if !(1.0..=1000.0).contains(&self.shape) {
            return Err(("shape", format!("has the shape {}; it must be from 1 to 1000", self.shape)));
        }
        if self.width < 2 {
            let why =
                format!("has the width {}; a directory needs at least 2 entries on average", self.width);
            return Err(("width", why));
        }
        if !(0.0..=1.0).contains(&self.preallocated) {
            let why = format!("has preallocated = {}; it must be a share from 0 to 1", self.preallocated);
            return Err(("preallocated", why));
        }
        Ok(())
    }
}

/// An invalid value in a personality.
struct Flaw {
    /// The path of keys in its file; for a list element, its index.
    at: Vec<String>,
    why: String,
}

fn flaw(key: &str, why: String) -> Result<(), Flaw> {
    Err(Flaw { at: vec![key.to_owned()], why })
}

impl Flaw {
    /// The line in its file.
    fn line(&self, text: &str) -> usize {
        let table = DeTable::parse(text).ok();
        let start = table.and_then(|table| start_of(table.get_ref(), &self.at)).unwrap_or(0);
        line_at(text, start)
    }
}

/// The start of the value at this path of keys, or of the longest prefix of the path that exists.
fn start_of(table: &DeTable, keys: &[String]) -> Option<usize> {
    let (first, rest) = keys.split_first()?;
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == first)?;
    let within = match value.get_ref() {
        DeValue::Table(table) => start_of(table, rest),
        DeValue::Array(list) => {
            rest.first().and_then(|at| list.get(at.parse::<usize>().ok()?)).map(|value| value.span().start)
        }
        _ => None,
    };
    Some(within.unwrap_or(key.span().start))
}

/// The line number of a byte in a text, from 1.
fn line_at(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn built_in_personalities_match_filebench() {
        // Operations of one loop, according to the flows of the Filebench workloads.
        for (name, operations, threads) in
            [("fileserver", 11, 50), ("varmail", 13, 16), ("webserver", 31, 100)]
        {
            let personality = Personality::find(name).unwrap();
            assert_eq!(personality.name, name);
            assert_eq!(personality.operations().unwrap().len(), operations);
            assert_eq!((personality.threads, personality.io_bytes), (threads, 1 << 20));
        }
        assert_eq!(builtin().count(), 3);
    }

    #[test]
    fn invalid_values_are_reported_with_their_line() {
        let text = BUILTIN[0].1;
        for (from, to, said) in [
            ("threads = 50", "threads = 0", "line 4: it must have 1 to 4096 threads"),
            ("threads = 50", "threats = 50", "line 4"),
            ("threads = 50", "threads = -1", "line 4"),
            ("threads = 50", "", "missing field `threads`"),
            (
                "width = 20",
                "width = 1",
                "line 18: set \"files\" has the width 1; a directory needs at least 2",
            ),
            ("preallocated = 0.8", "preallocated = 80", "from 0 to 1"),
            (
                "preallocated = 0.8",
                "preallocated = 0.8\nshape = nan",
                "line 20: set \"files\" has the shape NaN; it must be from 1 to 1000",
            ),
            ("preallocated = 0.8", "preallocated = 0.8\nshape = 0.2", "from 1 to 1000"),
            ("mean_bytes = 131_072", "mean_bytes = 9_000_000_000_000_000", "the maximum is 1 TiB"),
            ("[set.files]", "[set.things]", "unknown set \"files\""),
            ("files = 10_000", "files = 0", "100 million"),
            ("io_bytes = 1_048_576", "io_bytes = 0", "line 5: a call"),
            ("name = \"fileserver\"", "name = \"file server\"", "letters"),
            ("delete files", "remove files", "line 11: step \"remove files\""),
        ] {
            assert!(text.contains(from), "{from}");
            let error = Personality::parse(&text.replace(from, to), "it").unwrap_err().to_string();
            assert!(error.starts_with("it is not a personality") && error.contains(said), "{error}");
        }
        assert!(Personality::find("mailserver").unwrap_err().to_string().contains("varmail"));
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "(\\PC|\n|\\[|\\]|=){0,200}") {
            prop_assert!(Personality::parse(&text, "it").is_err());
        }

        /// Damage anywhere causes an error or is harmless.
        #[test]
        fn damaged_personalities_do_not_panic(at in 0_usize..2000, byte in any::<u8>(), cut: bool, which in 0..BUILTIN.len()) {
            let mut bytes = BUILTIN[which].1.as_bytes().to_vec();
            let at = at % bytes.len();
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            if let Ok(text) = String::from_utf8(bytes) && let Ok(personality) = Personality::parse(&text, "it") {
                prop_assert!(personality.check().is_ok());
            }
        }
    }
}

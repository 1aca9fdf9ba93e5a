//! Files of activity sets: readable JSON lines, after a header line that identifies the format and before a
//! checksum line that proves completeness.
//!
//! ```json
//! {"senesce_activity":1,"source":"recorded …","profiles":1}
//! {"profile":0,"at_ms":50400000,"create":0,"bytes":4096}
//! {"profile":0,"at_ms":50430000,"delete":0}
//! {"sha256":"…"}
//! ```
//!
//! The sum covers all bytes before its line.

use super::{Action, ActivityError, ActivityProfile, ActivitySet, Event};
use digest::Digest;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};
use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read as _, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use tempfile::NamedTempFile;

/// The version of written files, and the newest that can be read.
const VERSION: u32 = 1;

/// Limit of the line length, so that a foreign file cannot fill the memory before it is rejected.
const LONGEST_LINE: u64 = 64 << 10;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    senesce_activity: u32,
    source: String,
    profiles: u32,
}

/// The part of the header common to all versions.
#[derive(Deserialize)]
struct Version {
    senesce_activity: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    profile: u32,
    at_ms: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    create: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delete: Option<u32>,
}

impl Row {
    fn of(profile: u32, event: &Event) -> Row {
        let at_ms = event.at_ms;
        match event.action {
            Action::Create { file, size } => {
                Row { profile, at_ms, create: Some(file), bytes: Some(size), delete: None }
            }
            Action::Delete { file } => Row { profile, at_ms, create: None, bytes: None, delete: Some(file) },
        }
    }

    fn event(&self) -> Option<Event> {
        let action = match (self.create, self.bytes, self.delete) {
            (Some(file), Some(size), None) => Action::Create { file, size },
            (None, None, Some(file)) => Action::Delete { file },
            _ => return None,
        };
        Some(Event { at_ms: self.at_ms, action })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seal {
    sha256: String,
}

/// Writes `set` to a temporary file beside `path` and renames it once it is on disk. Profiles without files
/// are left out.
pub(crate) fn write(set: &ActivitySet, path: &Path) -> Result<(), ActivityError> {
    let temporary = begin(path)?;
    let failed = ActivityError::io("writing", path);
    let mut out = Summed { out: BufWriter::new(temporary.as_file()), sum: Sha256::new() };
    let finish = |out: &mut Summed<BufWriter<&File>>| -> std::io::Result<()> {
        let with_files: Vec<_> = set.profiles.iter().filter(|profile| profile.files() > 0).collect();
        let profiles = with_files.len() as u32;
        out.line(&Header { senesce_activity: VERSION, source: set.source.clone(), profiles })?;
        for (number, profile) in (0..).zip(with_files) {
            for event in &profile.events {
                out.line(&Row::of(number, event))?;
            }
        }
        let sha256 = Digest::from(out.sum.clone()).to_string();
        out.line(&Seal { sha256 })?;
        out.out.flush()
    };
    finish(&mut out).map_err(&failed)?;
    drop(out);
    temporary.as_file().sync_all().map_err(&failed)?;
    temporary.persist(path).map_err(|e| failed(e.error))?;
    // The new name is durable only after a sync of its directory.
    File::open(folder(path)).and_then(|folder| folder.sync_all()).map_err(&failed)
}

/// Creates a temporary file beside `path`, which is removed when dropped.
pub(crate) fn begin(path: &Path) -> Result<NamedTempFile, ActivityError> {
    let failed = ActivityError::io("writing", path);
    if path.is_dir() {
        return Err(failed(ErrorKind::IsADirectory.into()));
    }
    tempfile::Builder::new()
        .prefix(".senesce-")
        .suffix(".part")
        // Temporary files are readable only by their owner; this one gets the usual permissions.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder(path))
        .map_err(failed)
}

/// The directory that `path` is in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

struct Summed<W> {
    out: W,
    sum: Sha256,
}

impl<W: Write> Summed<W> {
    fn line(&mut self, value: &impl Serialize) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.sum.update(&line);
        self.out.write_all(&line)
    }
}

/// Reads the set at `path`.
pub(crate) fn read(path: &Path) -> Result<ActivitySet, ActivityError> {
    let file = input::open(path).map_err(ActivityError::io("opening", path))?;
    read_from(BufReader::new(file), path)
}

/// Reads a set; messages refer to it as `path`.
fn read_from(input: impl BufRead, path: &Path) -> Result<ActivitySet, ActivityError> {
    let mut lines = Lines { input, path, text: Vec::new(), number: 0 };
    let mut sum = Sha256::new();
    if !lines.next()? {
        return Err(lines.foreign("it is empty"));
    }
    let Some(Version { senesce_activity: version }) = lines.parse() else {
        return Err(lines.foreign(
            "it does not start with the header of activity profiles; create them with `senesce activity`",
        ));
    };
    if version > VERSION {
        return Err(lines.foreign("it was written by a newer senesce; use that version"));
    }
    let Some(Header { source, profiles: announced, .. }) = lines.parse() else {
        return Err(lines.foreign("its first line is damaged"));
    };
    sum.update(&lines.text);
    let mut profiles: Vec<Vec<Event>> = Vec::new();
    loop {
        if !lines.next()? {
            return Err(lines.foreign("it is truncated; record or fetch it again"));
        }
        if let Some(Seal { sha256 }) = lines.parse() {
            if sha256 != Digest::from(sum).to_string() {
                return Err(lines.foreign("its SHA-256 does not match; fetch it again"));
            }
            break;
        }
        let row: Option<Row> = lines.parse();
        let Some((row, event)) = row.and_then(|row| row.event().map(|event| (row, event))) else {
            return Err(lines.foreign("it is not an event"));
        };
        if row.profile as usize == profiles.len() {
            profiles.push(Vec::new());
        }
        if row.profile as usize + 1 != profiles.len() {
            return Err(lines.foreign("its profile is out of order"));
        }
        profiles.last_mut().expect("the profile of the event exists").push(event);
        sum.update(&lines.text);
    }
    if lines.next()? {
        return Err(lines.foreign("it has data after its end"));
    }
    if profiles.len() as u32 != announced {
        return Err(lines.foreign("it contains fewer profiles than its header says"));
    }
    let checked = (0..).zip(profiles).map(|(number, events): (u32, _)| {
        ActivityProfile::new(events).map_err(|e| ActivityError::Foreign {
            path: path.to_owned(),
            why: format!("profile {number}: {e}"),
        })
    });
    Ok(ActivitySet { profiles: checked.collect::<Result<_, _>>()?, source })
}

struct Lines<'p, R> {
    input: R,
    path: &'p Path,
    text: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<'_, R> {
    /// Reads the next line, including its end; returns false after the last line.
    fn next(&mut self) -> Result<bool, ActivityError> {
        self.text.clear();
        self.number += 1;
        let read = (&mut self.input).take(LONGEST_LINE).read_until(b'\n', &mut self.text);
        let length = read.map_err(ActivityError::io("reading", self.path))?;
        if length > 0 && !self.text.ends_with(b"\n") {
            return Err(self.foreign("it is truncated, or longer than the maximum line length"));
        }
        Ok(length > 0)
    }

    fn parse<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.text).ok()
    }

    fn foreign(&self, why: &str) -> ActivityError {
        ActivityError::Foreign { path: self.path.to_owned(), why: format!("line {}: {why}", self.number) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    fn bytes(set: &ActivitySet) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("set");
        set.save(&path).unwrap();
        assert_eq!(ActivitySet::load(&path).unwrap(), *set);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file may remain");
        std::fs::read(path).unwrap()
    }

    fn small() -> ActivitySet {
        let mut set = ActivitySet::builtin();
        set.profiles.truncate(2);
        set.profiles.sort_by_key(ActivityProfile::files);
        set.source = "two of \"the\" built-in\n".to_owned();
        set
    }

    #[test]
    fn sets_round_trip() {
        bytes(&ActivitySet::builtin());
        bytes(&ActivitySet { profiles: Vec::new(), source: String::new() });
        bytes(&small());
    }

    #[test]
    fn invalid_files_are_rejected_with_reason() {
        let newer = b"{\"senesce_activity\":2,\"else\":1}\n";
        for (text, expected) in [
            (&b""[..], "empty"),
            (b"PAR1\0\0", "truncated"),
            (b"{\"a\":1}\n", "does not start with the header"),
            (newer, "newer"),
        ] {
            let error = read_from(text, Path::new("x")).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
    }

    proptest! {
        #[test]
        fn damage_is_detected(
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| bytes(&small()));
            let whole = &*WHOLE;
            let mut damaged = whole.clone();
            for (place, byte) in edits {
                let place = place.index(damaged.len());
                damaged[place] = byte;
            }
            if let Some(cut) = cut {
                damaged.truncate(cut.index(damaged.len()));
            }
            if damaged != *whole {
                let error = read_from(&damaged[..], Path::new("x")).unwrap_err().to_string();
                prop_assert!(!error.contains('\n'), "{}", error);
            }
        }

        #[test]
        fn random_bytes_are_rejected(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(read_from(&bytes[..], Path::new("x")).is_err());
        }
    }
}

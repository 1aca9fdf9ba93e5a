//! A sample repository with a history like that of a small project, for tests: source files in directories,
//! and commits that mostly change a few lines of a few files. At fixed commits it has every case that makes a checkout hard: renames, deletions, modes, symbolic links,
//! submodules, directories that become files and vice versa, names beyond ASCII and with newlines, merges.

use std::fs;
use std::path::Path;

use super::command::{DATE_S, IDENTITY, git, git_reading};
use super::live::quote;
use super::sample_tree::SampleTree;
use crate::Error;
use crate::random::Random;

/// Seconds between two commits.
pub(super) const STEP_S: u64 = 3600;
/// Every so many commits, one is on a side branch and is merged two commits later.
const MERGE_EVERY: u64 = 16;

/// Source files at the start.
const FILES: u64 = 120;

pub(super) const ACTION: &str = "creating a sample repository at";

/// Creates a bare repository at `path`, a new or empty directory, with at least three `commits`. A seed gives
/// the same commits on every machine.
pub fn make(path: &Path, commits: u64, seed: u64) -> Result<(), Error> {
    if commits < 3 {
        return Err(fail(path, "it needs at least 3 commits".into()));
    }
    begin(path)?;
    git_reading(ACTION, path, ["fast-import", "--quiet"], |to| to.write_all(&stream(FILES, commits, seed)))
}

/// Creates a bare repository without commits at `path`, a new or empty directory.
pub(super) fn begin(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(|error| fail(path, error.to_string()))?;
    let there = fs::read_dir(path).map_err(|error| fail(path, error.to_string()))?.next();
    if there.is_some() {
        return Err(fail(path, "it is not empty; give an empty or new directory".into()));
    }
    git(ACTION, path, &[], ["init", "--quiet", "--bare", "--template="])
}

fn fail(path: &Path, why: String) -> Error {
    Error::Git { action: ACTION, path: path.into(), why }
}

/// The history in the format of `git fast-import`.
fn stream(files: u64, commits: u64, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed, 0);
    let mut tree = SampleTree::new(files, &mut random);
    let mut stream = Stream { text: Vec::new(), marks: 0 };
    let mut head = None;
    while stream.marks < commits {
        let number = stream.marks + 1;
        if number % MERGE_EVERY == MERGE_EVERY / 2 && number + 2 <= commits {
            // A side branch with its own change, a change on the main line, and their merge.
            let side = tree.edit_beside(&mut random);
            let branch = stream.commit("side", head, None, &side);
            tree.edit(&mut random);
            let main = stream.commit("main", head, None, &tree.take_changes());
            head = Some(stream.commit("main", Some(main), Some(branch), &side));
            continue;
        }
        if number > 1 {
            tree.develop(number, &mut random);
        }
        head = Some(stream.commit("main", head, None, &tree.take_changes()));
    }
    stream.text
}

/// The input of `fast-import`.
struct Stream {
    text: Vec<u8>,
    marks: u64,
}

impl Stream {
    /// Adds a commit and returns its number.
    fn commit(&mut self, branch: &str, from: Option<u64>, merged: Option<u64>, changes: &[Change]) -> u64 {
        self.marks += 1;
        let (mark, date) = (self.marks, DATE_S + self.marks * STEP_S);
        let message =
            if merged.is_some() { format!("Merge change {mark}\n") } else { format!("Change {mark}\n") };
        let length = message.len();
        self.line(&format!("commit refs/heads/{branch}\nmark :{mark}"));
        self.line(&format!("committer {IDENTITY} {date} +0000\ndata {length}\n{message}"));
        // Without `from`, the branch continues from its last commit.
        from.inspect(|from| self.line(&format!("from :{from}")));
        merged.inspect(|merged| self.line(&format!("merge :{merged}")));
        for change in changes {
            self.change(change);
        }
        self.line("");
        mark
    }

    fn change(&mut self, change: &Change) {
        let start = match &change.to {
            None => "D ".to_owned(),
            Some(PathContent { mode, inline: false, bytes }) => {
                format!("M {mode} {} ", String::from_utf8_lossy(bytes))
            }
            Some(PathContent { mode, .. }) => format!("M {mode} inline "),
        };
        self.text.extend(start.bytes());
        quote(&change.path, &mut self.text);
        self.line("");
        if let Some(PathContent { bytes, inline: true, .. }) = &change.to {
            self.line(&format!("data {}", bytes.len()));
            self.text.extend(bytes);
            self.line("");
        }
    }

    fn line(&mut self, line: &str) {
        self.text.extend(line.bytes());
        self.text.push(b'\n');
    }
}

/// A path that a commit changes.
#[derive(Clone)]
pub(super) struct Change {
    pub path: Vec<u8>,
    /// `None` if the path is removed.
    pub to: Option<PathContent>,
}

/// The entry at a path.
#[derive(Clone)]
pub(super) struct PathContent {
    /// The mode as git writes it.
    pub mode: &'static str,
    /// Whether the bytes are contents; for a submodule they are the name of a commit.
    pub inline: bool,
    pub bytes: Vec<u8>,
}

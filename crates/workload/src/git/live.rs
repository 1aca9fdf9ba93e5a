//! The real git pulls a history, commit by commit, into a working tree on the aged file system.
//!
//! Outside the aged file system, a bare repository without objects of its own refers to those of the source
//! through `objects/info/alternates`. Before each pull its branch moves to the next commit; then git pulls
//! from it as from any server, through `upload-pack`. In first-parent order every commit follows the previous
//! one, so git runs `git pull --ff-only`; in full order the next commit may belong to another branch, so git
//! runs `git fetch` and `git reset --hard`, which checks out in the same way. The source is opened read-only.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::command::git;
use super::{History, Order};
use crate::Error;

/// When to run `git gc`, which packs loose objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gc {
    /// Never.
    Off,
    /// When git decides (`gc.auto`: 6,700 loose objects or 50 packs), before the pull ends.
    Auto,
    /// After every so many pulls.
    Every(u64),
    /// As git decides, but with this limit of loose objects: a small history collects as often in proportion as a large one does by default. Git
    /// estimates their number in steps of 256.
    Loose(u64),
}

/// How a history is pulled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveOptions {
    /// When to run `git gc`.
    pub gc: Gc,
    /// A directory outside the aged file system for the repository that is pulled from; the repository is
    /// removed at the end.
    pub scratch: PathBuf,
    /// Where to clone all of the history before the first pull; nowhere by default.
    pub source: Option<PathBuf>,
}

/// A working tree that pulls a history.
pub struct Live {
    history: History,
    root: PathBuf,
    upstream: TempDir,
    gc: Gc,
    pull: u64,
}

const ACTION: &str = "pulling into";

impl Live {
    /// Creates an empty repository at `root`, a new or empty directory, to pull `history` into.
    pub fn begin(history: &History, root: &Path, options: &LiveOptions) -> Result<Live, Error> {
        let fail = |why: String| Error::Git { action: ACTION, path: root.into(), why };
        if matches!(options.gc, Gc::Every(0) | Gc::Loose(0)) {
            return Err(fail("gc must run after every 1 pull or loose object or more".into()));
        }
        fs::create_dir_all(root).map_err(|error| fail(error.to_string()))?;
        let root = root.canonicalize().map_err(|error| fail(error.to_string()))?;
        let mut there = fs::read_dir(&root).map_err(|error| fail(error.to_string()))?;
        if there.next().is_some() {
            return Err(fail("it is not empty; give an empty or new directory".into()));
        }
        let upstream = upstream(history, &options.scratch)?;
        if let Some(source) = &options.source {
            let newest = history.commit(history.count()).expect("a history has commits");
            set_branch(upstream.path(), &newest)?;
            let clone = ["clone", "--quiet", "--template=", "--no-local", "--no-checkout", "."];
            let clone = clone.map(OsStr::new).into_iter().chain([source.as_os_str()]);
            git("cloning to", upstream.path(), &[], clone)?;
            check_out_bytes(source)?;
            git("checking out", source, &[], ["reset", "--quiet", "--hard"])?;
        }
        git(ACTION, &root, &[], ["init", "--quiet", "--template="])?;
        check_out_bytes(&root)?;
        let add = ["remote".as_ref(), "add".as_ref(), "origin".as_ref(), upstream.path().as_os_str()];
        git(ACTION, &root, &[], add)?;
        Ok(Live { history: history.clone(), root, upstream, gc: options.gc, pull: 0 })
    }

    /// The number of pulls so far.
    pub fn pulls(&self) -> u64 {
        self.pull
    }

    /// Pulls, one by one, the commits up to number `pull`. No git process is left when it returns.
    pub fn pull(&mut self, pull: u64) -> Result<(), Error> {
        if pull > self.history.count() {
            let why = format!("there are {} commits, so commit {pull} does not exist", self.history.count());
            return Err(Error::Git { action: ACTION, path: self.root.clone(), why });
        }
        while self.pull < pull {
            self.next()?;
        }
        Ok(())
    }

    fn next(&mut self) -> Result<(), Error> {
        let commit = self.history.commit(self.pull + 1).expect("the pull exists");
        set_branch(self.upstream.path(), &commit)?;
        let limit;
        let auto: &[&str] = match self.gc {
            Gc::Auto => &[],
            Gc::Loose(objects) => {
                limit = format!("gc.auto={objects}");
                &[&limit]
            }
            Gc::Off | Gc::Every(_) => &["gc.auto=0", "maintenance.auto=false"],
        };
        match self.history.order() {
            Order::FirstParent => {
                git(ACTION, &self.root, auto, ["pull", "--quiet", "--ff-only", "origin", "main"])?;
            }
            Order::Full => {
                git(ACTION, &self.root, auto, ["fetch", "--quiet", "origin", "main"])?;
                git(ACTION, &self.root, auto, ["reset", "--quiet", "--hard", "FETCH_HEAD"])?;
            }
        }
        self.pull += 1;
        if let Gc::Every(pulls) = self.gc
            && self.pull.is_multiple_of(pulls)
        {
            git("cleaning up", &self.root, &[], ["gc", "--quiet"])?;
        }
        Ok(())
    }
}

/// Makes git check out the bytes of a commit at `root`, whatever its .gitattributes request.
fn check_out_bytes(root: &Path) -> Result<(), Error> {
    let info = root.join(".git/info");
    let attributes = "* -text -ident -filter !working-tree-encoding\n";
    fs::create_dir_all(&info).and_then(|()| fs::write(info.join("attributes"), attributes)).map_err(|error| {
        Error::Git { action: "setting the attributes of", path: info.clone(), why: error.to_string() }
    })
}

/// Moves the branch that is pulled from.
fn set_branch(upstream: &Path, commit: &str) -> Result<(), Error> {
    let branch = upstream.join("refs/heads/main");
    fs::write(&branch, format!("{commit}\n")).map_err(|error| Error::Git {
        action: "moving the branch",
        path: branch,
        why: error.to_string(),
    })
}

/// A bare repository without objects of its own.
fn upstream(history: &History, scratch: &Path) -> Result<TempDir, Error> {
    let fail = |error: std::io::Error| Error::Git {
        action: "creating the repository to pull from in",
        path: scratch.into(),
        why: error.to_string(),
    };
    let upstream = tempfile::Builder::new().prefix("senesce-git-").tempdir_in(scratch).map_err(fail)?;
    git("making", upstream.path(), &[], ["init", "--quiet", "--bare", "--template="])?;
    let info = upstream.path().join("objects/info");
    let mut alternates = Vec::new();
    // The path is alone in its line, quoted if it could be misread.
    quote(history.repository.objects().as_os_str().as_encoded_bytes(), &mut alternates);
    alternates.push(b'\n');
    fs::create_dir_all(&info).and_then(|()| fs::write(info.join("alternates"), alternates)).map_err(fail)?;
    Ok(upstream)
}

/// Appends `bytes` quoted as git expects them in its lists and in `fast-import`.
pub(super) fn quote(bytes: &[u8], to: &mut Vec<u8>) {
    to.push(b'"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => to.extend([b'\\', byte]),
            b'\n' => to.extend(b"\\n"),
            _ => to.push(byte),
        }
    }
    to.push(b'"');
}

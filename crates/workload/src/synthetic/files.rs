//! Executes tasks with the system calls that programs make.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{statvfs, syncfs};

use super::{Step, Task};
use crate::Error;
use crate::git::run_git;
use crate::random::Random;

/// The files of a synthetic workload. Between two days none is open.
pub(super) struct Files {
    root: PathBuf,
    open: HashMap<String, File>,
    /// Text for the contents of files; each write starts at another offset.
    text: Vec<u8>,
}

impl Files {
    pub fn new(root: &Path, seed: u64) -> Files {
        let mut random = Random::new(seed, u64::MAX);
        // A skewed distribution of bytes, so that git can compress the contents like text.
        let text = (0..4 << 20).map(|_| b' ' + random.below(48) as u8).collect();
        Files { root: root.to_owned(), open: HashMap::new(), text }
    }

    /// The share of the file system that is in use.
    pub fn fullness(&self) -> Result<f64, Error> {
        let space =
            statvfs(&self.root).map_err(|e| Error::io("reading the free space of", &self.root)(e.into()))?;
        Ok(1.0 - space.f_bavail as f64 / space.f_blocks.max(1) as f64)
    }

    /// Syncs the file system.
    pub fn write_back(&mut self) -> Result<(), Error> {
        let dir = File::open(&self.root).map_err(Error::io("opening", &self.root))?;
        syncfs(dir).map_err(|e| Error::io("writing back", &self.root)(e.into()))
    }

    /// Runs tasks concurrently: each next step belongs to a random task.
    pub fn run(&mut self, mut tasks: Vec<Task>, random: &mut Random) -> Result<(), Error> {
        tasks.retain(|task| !task.0.is_empty());
        while !tasks.is_empty() {
            let chosen = random.below(tasks.len());
            let step = tasks[chosen].0.pop_front().expect("empty tasks are removed");
            self.step(step, random)?;
            if tasks[chosen].0.is_empty() {
                tasks.swap_remove(chosen);
            }
            if disk::interrupted() {
                return Err(Error::Interrupted);
            }
        }
        self.open.clear();
        Ok(())
    }

    fn step(&mut self, step: Step, random: &mut Random) -> Result<(), Error> {
        let at = |path: &str| self.root.join(path);
        match step {
            Step::Mkdir(path) => fs::create_dir_all(at(&path)).map_err(Error::io("making", &at(&path))),
            Step::Append(path, len) => {
                let from = random.below(self.text.len() / 2);
                let bytes: Vec<u8> =
                    self.text.iter().cycle().skip(from).take(len as usize).copied().collect();
                let at = at(&path);
                let mut file = self.file(&path)?;
                file.write_all(&bytes).map_err(Error::io("writing", &at))
            }
            Step::Write(path, offset, len) => {
                let at = at(&path);
                let file = OpenOptions::new().write(true).open(&at).map_err(Error::io("opening", &at))?;
                file.write_all_at(&self.text[..len as usize], offset).map_err(Error::io("writing", &at))
            }
            Step::Fsync(path) => {
                let at = at(&path);
                self.file(&path)?.sync_all().map_err(Error::io("syncing", &at))
            }
            Step::Close(path) => {
                self.open.remove(&path);
                Ok(())
            }
            Step::Rename(from, to) => {
                let (from, to) = (at(&from), at(&to));
                fs::rename(&from, to).map_err(Error::io("renaming", &from))
            }
            Step::Remove(path) => {
                let path_at = at(&path);
                self.open.remove(&path);
                fs::remove_file(&path_at).map_err(Error::io("removing", &path_at))
            }
            Step::RemoveAll(path) => fs::remove_dir_all(at(&path)).map_err(Error::io("removing", &at(&path))),
            Step::Git(path, args) => run_git("working in", &at(&path), args),
        }
    }

    /// The open file at `path`, for appending; it stays open.
    fn file(&mut self, path: &str) -> Result<&File, Error> {
        if !self.open.contains_key(path) {
            let at = self.root.join(path);
            let file =
                OpenOptions::new().append(true).create(true).open(&at).map_err(Error::io("opening", &at))?;
            self.open.insert(path.to_owned(), file);
        }
        Ok(&self.open[path])
    }
}

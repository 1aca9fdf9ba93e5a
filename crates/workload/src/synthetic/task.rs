//! Tasks as sequences of steps.

use std::collections::VecDeque;

/// One step; paths are relative to the root of the workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Creates a directory and its missing parents.
    Mkdir(String),
    /// Appends so many bytes to a file; creates it if necessary.
    Append(String, u64),
    /// Writes so many bytes at an offset of an existing file.
    Write(String, u64, u64),
    /// Syncs a file.
    Fsync(String),
    /// Closes a file if it is open.
    Close(String),
    /// Renames a file, over an existing one if any.
    Rename(String, String),
    /// Removes a file.
    Remove(String),
    /// Removes a directory and its contents.
    RemoveAll(String),
    /// Runs git in a directory.
    Git(String, Vec<String>),
}

/// A sequence of steps.
#[derive(Default, Debug)]
pub(super) struct Task(pub VecDeque<Step>);

impl Task {
    /// A task without steps.
    pub fn new() -> Task {
        Task::default()
    }

    /// Adds a step.
    pub fn push(&mut self, step: Step) {
        self.0.push_back(step);
    }

    /// Writes a new file in pieces of 128 KiB, as `cp` does, and closes it.
    pub fn create(&mut self, path: &str, size: u64) {
        const PIECE: u64 = 128 << 10;
        let mut left = size;
        loop {
            self.push(Step::Append(path.to_owned(), left.min(PIECE)));
            left = left.saturating_sub(PIECE);
            if left == 0 {
                break;
            }
        }
        self.push(Step::Close(path.to_owned()));
    }

    /// Replaces a file as careful programs do: writes a new one, syncs it and renames it over the old one.
    pub fn replace(&mut self, path: &str, size: u64) {
        let new = format!("{path}.new");
        self.create(&new, size);
        self.push(Step::Fsync(new.clone()));
        self.push(Step::Close(new.clone()));
        self.push(Step::Rename(new, path.to_owned()));
    }

    /// Removes a file.
    pub fn remove(&mut self, path: String) {
        self.push(Step::Remove(path));
    }
}

//! What is to be done, step by step.

use std::collections::VecDeque;

/// One step; paths are relative to the root of the office.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Makes a directory with all that are above it.
    Mkdir(String),
    /// Writes so many bytes behind what the file has, which is made if it is not there.
    Append(String, u64),
    /// Writes so many bytes at a place of a file that is there.
    Write(String, u64, u64),
    /// Forces a file to disk.
    Fsync(String),
    /// Closes a file, if it is open.
    Close(String),
    /// Gives a file another name, over what may have had it.
    Rename(String, String),
    /// Removes a file.
    Remove(String),
    /// Removes a directory with all that is in it.
    RemoveAll(String),
    /// Has git do something in a directory.
    Git(String, Vec<String>),
}

/// Steps in their order.
#[derive(Default, Debug)]
pub(super) struct Task(pub VecDeque<Step>);

impl Task {
    /// Nothing to do.
    pub fn new() -> Task {
        Task::default()
    }

    /// Adds a step.
    pub fn push(&mut self, step: Step) {
        self.0.push_back(step);
    }

    /// Writes a new file whole, in pieces of 128 KiB as `cp` does, and closes it.
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

    /// Replaces a file as careful programs do: a new one is written, forced to disk and renamed over it.
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

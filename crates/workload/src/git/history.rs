//! The commits of a repository in pull order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::Path;
use std::sync::Arc;

use gix_hash::ObjectId;
use serde::{Deserialize, Serialize};

use super::repository::{Reader, Repository};
use crate::Error;

/// The commits to pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The newest commit, its first parent, and so on: the main line, as seen by a user who pulls after every
    /// change.
    FirstParent,
    /// All commits, each after its parents, otherwise by commit time. Consecutive commits may belong to
    /// different branches, so pulls alternate between branches.
    Full,
}

/// The commits of a repository, oldest first.
#[derive(Clone)]
pub struct History {
    pub(super) repository: Arc<Repository>,
    pub(super) order: Order,
    commits: Arc<[ObjectId]>,
}

impl History {
    /// Lists the commits that lead to the newest one of the repository at `path`, which is opened read-only.
    pub fn open(path: &Path, order: Order) -> Result<History, Error> {
        let repository = Repository::open(path)?;
        let mut reader = repository.reader();
        let commits = match order {
            Order::FirstParent => first_parents(&mut reader, repository.head())?,
            Order::Full => topological(&mut reader, repository.head())?,
        };
        match commits.len() {
            0 | 1 => Err(reader.error("it has fewer than two commits, so there is nothing to pull".into())),
            _ => Ok(History { repository: Arc::new(repository), order, commits: commits.into() }),
        }
    }

    /// The same history without its first commits, which the first pull then brings along.
    pub fn without_first(self, commits: u64) -> History {
        let left = usize::try_from(commits).ok().and_then(|first| self.commits.get(first..)).unwrap_or(&[]);
        History { commits: left.into(), ..self }
    }

    /// The path that the repository was opened with.
    pub fn path(&self) -> &Path {
        self.repository.path()
    }

    /// The number of commits.
    pub fn count(&self) -> u64 {
        self.commits.len() as u64
    }

    /// The order of the commits.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The name of the commit of pull number `pull`; the first pull is 1.
    pub fn commit(&self, pull: u64) -> Option<String> {
        self.id(pull).map(|id| id.to_string())
    }

    pub(super) fn id(&self, pull: u64) -> Option<ObjectId> {
        let index = usize::try_from(pull.checked_sub(1)?).ok()?;
        self.commits.get(index).copied()
    }
}

fn first_parents(reader: &mut Reader, head: ObjectId) -> Result<Vec<ObjectId>, Error> {
    let mut commits = vec![head];
    let mut at = head;
    while let Some(&parent) = reader.commit(at)?.parents.first() {
        commits.push(parent);
        at = parent;
    }
    commits.reverse();
    Ok(commits)
}

/// Kahn's algorithm; takes the oldest commit whose parents have all been taken.
fn topological(reader: &mut Reader, head: ObjectId) -> Result<Vec<ObjectId>, Error> {
    struct Node {
        time_s: i64,
        parents_left: usize,
        children: Vec<ObjectId>,
    }
    let mut nodes: HashMap<ObjectId, Node> = HashMap::new();
    let mut ready = BinaryHeap::new();
    let mut left = vec![head];
    // A child may be visited before its parents.
    let mut children: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
    while let Some(id) = left.pop() {
        if nodes.contains_key(&id) {
            continue;
        }
        let mut commit = reader.commit(id)?;
        commit.parents.sort_unstable();
        commit.parents.dedup();
        for &parent in &commit.parents {
            children.entry(parent).or_default().push(id);
            left.push(parent);
        }
        if commit.parents.is_empty() {
            ready.push(Reverse((commit.time_s, id)));
        }
        let parents_left = commit.parents.len();
        nodes.insert(id, Node { time_s: commit.time_s, parents_left, children: Vec::new() });
    }
    for (parent, of) in children {
        nodes.get_mut(&parent).expect("every parent has been read").children = of;
    }
    let mut commits = Vec::with_capacity(nodes.len());
    while let Some(Reverse((_, id))) = ready.pop() {
        commits.push(id);
        for child in std::mem::take(&mut nodes.get_mut(&id).expect("the commit has been read").children) {
            let node = nodes.get_mut(&child).expect("the commit has been read");
            node.parents_left -= 1;
            if node.parents_left == 0 {
                ready.push(Reverse((node.time_s, child)));
            }
        }
    }
    Ok(commits)
}

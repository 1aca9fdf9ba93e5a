//! Decides which operations may run in parallel.
//!
//! Operations on one name run in one lane, in order. With many directories the same holds for operations on one directory,
//! because the kernel lets only one thread at a time change a directory, so that two lanes would wait for each
//! other. An operation that connects lanes runs exclusively.

use std::collections::HashSet;

use trace::{DirId, FileId, Op};

/// Directories per lane from which each directory is assigned to a lane.
const DIRS_PER_LANE: usize = 8;

/// Where an operation runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    /// In a lane, in order.
    Lane(usize),
    /// Immediately: it depends on no queued operation.
    Now,
    /// After all lanes are empty.
    Exclusive,
}

/// Distributes the operations of a trace, in order.
pub(crate) struct Router {
    lanes: usize,
    dirs: usize,
    by_dir: bool,
    /// Names come from labels, so a name may be reused under another number.
    labelled: bool,
    /// Names of files that have, or had, several names. They share a lane, because changes under one name are visible
    /// under the others.
    linked: HashSet<(DirId, FileId)>,
    /// The `linked` names that no longer exist once the lanes are empty.
    unlinked: Vec<(DirId, FileId)>,
}

impl Router {
    pub fn new(lanes: usize, labelled: bool) -> Self {
        // A file that reuses a name must not overtake the deletion of the former file: each directory has one lane from the start.
        let by_dir = labelled;
        Self { lanes, dirs: 0, by_dir, labelled, linked: HashSet::new(), unlinked: Vec::new() }
    }

    /// The route of `op`. For [`Route::Exclusive`], the caller empties the lanes first.
    pub fn route(&mut self, op: &Op) -> Route {
        let route = self.find(op);
        if route == Route::Exclusive {
            for name in self.unlinked.drain(..) {
                self.linked.remove(&name);
            }
            self.follow(op);
        }
        route
    }

    fn find(&mut self, op: &Op) -> Route {
        match *op {
            Op::Create { file, parent, .. }
            | Op::Write { file, parent, .. }
            | Op::Append { file, parent, .. }
            | Op::Truncate { file, parent, .. }
            | Op::Punch { file, parent, .. }
            | Op::Fsync { file, parent } => Route::Lane(self.lane(parent, file)),
            Op::Delete { file, parent } => {
                if self.is_linked(parent, file) {
                    self.unlinked.push((parent, file));
                }
                Route::Lane(self.lane(parent, file))
            }
            Op::Rename { file, parent, to_file, to_parent } => {
                let (from, to) = (self.lane(parent, file), self.lane(to_parent, to_file));
                let linked = self.is_linked(parent, file) || self.is_linked(to_parent, to_file);
                if from == to && !linked { Route::Lane(from) } else { Route::Exclusive }
            }
            Op::Clone { file, parent, to_file, to_parent } => {
                let (from, to) = (self.lane(parent, file), self.lane(to_parent, to_file));
                if from == to { Route::Lane(from) } else { Route::Exclusive }
            }
            // Its name may be that of a file whose deletion is still queued.
            Op::Mkdir { .. } if self.labelled => Route::Exclusive,
            Op::Mkdir { .. } => {
                self.dirs += 1;
                let many = self.dirs >= DIRS_PER_LANE * self.lanes;
                if many && !self.by_dir { Route::Exclusive } else { Route::Now }
            }
            Op::Rmdir { .. }
            | Op::Link { .. }
            | Op::Snapshot { .. }
            | Op::DeleteSnapshot { .. }
            | Op::Checkpoint { .. } => Route::Exclusive,
        }
    }

    /// Updates the state after an operation that runs exclusively.
    fn follow(&mut self, op: &Op) {
        match *op {
            Op::Mkdir { .. } => self.by_dir = true,
            Op::Rmdir { .. } => self.dirs = self.dirs.saturating_sub(1),
            Op::Link { file, parent, to_file, to_parent } => {
                self.linked.extend([(parent, file), (to_parent, to_file)]);
            }
            Op::Rename { file, parent, to_file, to_parent } => {
                let linked = self.linked.remove(&(parent, file));
                self.linked.remove(&(to_parent, to_file));
                if linked {
                    self.linked.insert((to_parent, to_file));
                }
            }
            _ => {}
        }
    }

    fn is_linked(&self, parent: DirId, file: FileId) -> bool {
        !self.linked.is_empty() && self.linked.contains(&(parent, file))
    }

    fn lane(&self, parent: DirId, file: FileId) -> usize {
        if self.is_linked(parent, file) {
            return 0;
        }
        let number = if self.by_dir { u64::from(parent.0) } else { file.0 };
        // Numbers follow the order of creation, in which file systems spread directories over their allocation groups:
        // round-robin assignment keeps lanes in different groups as far as possible.
        (number % self.lanes as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(1);
    const PARENT: DirId = DirId(1);

    fn fsync(file: FileId, parent: DirId) -> Op {
        Op::Fsync { file, parent }
    }

    #[test]
    fn many_directories_are_assigned_to_lanes() {
        let mut router = Router::new(2, false);
        for dir in 1..=16 {
            let expected = if dir == 16 { Route::Exclusive } else { Route::Now };
            assert_eq!(router.route(&Op::Mkdir { dir: DirId(dir), parent: DirId(0) }), expected);
        }
        let lane = |router: &mut Router, dir: u64| router.route(&fsync(FileId(dir * 7), DirId(dir as u32)));
        let firsts = (1..1000).filter(|&dir| lane(&mut router, dir) == Route::Lane(0)).count();
        assert!((400..600).contains(&firsts), "{firsts} of 999 directories have the first lane");
        assert_eq!(router.route(&fsync(FileId(1), PARENT)), router.route(&fsync(FileId(2), PARENT)));
    }

    #[test]
    fn names_of_one_file_share_a_lane_until_deleted() {
        let mut router = Router::new(64, false);
        let (to_file, to_parent) = (FileId(2), DirId(2));
        assert_ne!(router.route(&fsync(FILE, PARENT)), Route::Lane(0));
        let link = Op::Link { file: FILE, parent: PARENT, to_file, to_parent };
        assert_eq!(router.route(&link), Route::Exclusive);
        assert_eq!(router.route(&fsync(FILE, PARENT)), Route::Lane(0));
        assert_eq!(router.route(&fsync(to_file, to_parent)), Route::Lane(0));
        assert_eq!(router.route(&Op::Delete { file: FILE, parent: PARENT }), Route::Lane(0));
        assert_eq!(
            router.route(&fsync(FILE, PARENT)),
            Route::Lane(0),
            "its deletion may still be waiting there"
        );
        assert_eq!(router.route(&Op::Checkpoint { number: 1 }), Route::Exclusive);
        assert_ne!(router.route(&fsync(FILE, PARENT)), Route::Lane(0));
    }
}

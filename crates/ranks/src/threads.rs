//! Ranks that are threads of one process.

use crate::{Error, Group};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Creates the ranks of a group, one per thread.
pub fn threads(ranks: u32) -> Vec<ThreadRank> {
    let shared = Arc::new(Shared {
        state: Mutex::new(GroupState {
            given: vec![VecDeque::new(); ranks as usize],
            said: vec![VecDeque::new(); ranks as usize],
            lost: None,
        }),
        changed: Condvar::new(),
        over: AtomicBool::new(false),
    });
    (0..ranks).map(|rank| ThreadRank { rank, ranks, shared: shared.clone(), ended: false }).collect()
}

/// A rank that is a thread. If it is dropped before [`ThreadRank::end`], it counts as lost and ends the others.
pub struct ThreadRank {
    rank: u32,
    ranks: u32,
    shared: Arc<Shared>,
    ended: bool,
}

struct Shared {
    state: Mutex<GroupState>,
    changed: Condvar,
    over: AtomicBool,
}

struct GroupState {
    /// Messages from each rank that rank 0 has not taken yet.
    given: Vec<VecDeque<Vec<u8>>>,
    /// Messages from rank 0 that each rank has not taken yet.
    said: Vec<VecDeque<Vec<u8>>>,
    /// The first lost rank.
    lost: Option<u32>,
}

impl ThreadRank {
    /// Marks the rank as finished.
    pub fn end(mut self) {
        self.ended = true;
    }

    fn lock(&self) -> MutexGuard<'_, GroupState> {
        // A rank that panicked is reported as lost; the state it locked is consistent.
        self.shared.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Waits until `ready` returns a value, or a rank is lost.
    fn wait<T>(&self, mut ready: impl FnMut(&mut GroupState) -> Option<T>) -> Result<T, Error> {
        let mut state = self.lock();
        loop {
            if let Some(found) = ready(&mut state) {
                return Ok(found);
            }
            if let Some(rank) = state.lost {
                return Err(Error::Lost { rank });
            }
            state = self.shared.changed.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}

impl Group for ThreadRank {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn gather(&mut self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        self.lock().given[self.rank as usize].push_back(message);
        self.shared.changed.notify_all();
        if self.rank != 0 {
            return Ok(Vec::new());
        }
        self.wait(|state| {
            let all = state.given.iter().all(|given| !given.is_empty());
            all.then(|| {
                state
                    .given
                    .iter_mut()
                    .map(|given| given.pop_front().expect("every rank has a message"))
                    .collect()
            })
        })
    }

    fn broadcast(&mut self, message: Vec<u8>) -> Result<Vec<u8>, Error> {
        if self.rank != 0 {
            return self.wait(|state| state.said[self.rank as usize].pop_front());
        }
        for said in self.lock().said.iter_mut().skip(1) {
            said.push_back(message.clone());
        }
        self.shared.changed.notify_all();
        Ok(message)
    }

    fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Relaxed)
    }
}

impl Drop for ThreadRank {
    fn drop(&mut self) {
        if !self.ended {
            self.lock().lost.get_or_insert(self.rank);
            self.shared.over.store(true, Ordering::Relaxed);
            self.shared.changed.notify_all();
        }
    }
}

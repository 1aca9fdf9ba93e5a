//! Blocks that are kept for files to come: of each group a run that small files share, and behind files that grow what they
//! will likely grow into. They count as free space, but nobody else gets them until space is wanted.

use super::{Placement, Space};
use std::collections::VecDeque;

/// Blocks that small files of a group share: 2 MB, as ext4 keeps.
const GROUP_BLOCKS: u32 = 512;
/// Blocks that are kept for a file at most: 8 MB.
const FILE_BLOCKS: u32 = 2048;
/// Files that something is kept for at most; others are closed meanwhile.
const FILES: usize = 32;

/// What is kept.
#[derive(Clone)]
pub(super) struct Reserves {
    /// By group: start and length.
    groups: Vec<(u32, u32)>,
    /// Inode, start and length, the oldest first.
    files: VecDeque<(u32, u32, u32)>,
    blocks: u64,
}

impl Reserves {
    pub fn new(groups: u32) -> Reserves {
        Reserves { groups: vec![(0, 0); groups as usize], files: VecDeque::new(), blocks: 0 }
    }

    /// Blocks that are kept.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Takes blocks for a small file of a group from the run there, which is made anew where it is too short.
    pub fn take_of_group(
        &mut self,
        space: &mut Space,
        placement: &impl Placement,
        group: u32,
        wanted: u32,
    ) -> Option<(u32, u32)> {
        let (mut start, mut len) = self.groups[group as usize];
        if len < wanted {
            let range = space.range(group);
            let goal = if start > 0 { start + len } else { range.start };
            // Of what is free little is kept.
            let most = GROUP_BLOCKS.min(space.free_in(group) / 8);
            let (new, new_len) = (most >= wanted).then(|| placement.place(space, goal, most)).flatten()?;
            if new_len < wanted || !range.contains(&new) {
                return None;
            }
            if len > 0 {
                space.give(start, len);
            }
            space.take(new, new_len);
            self.blocks = self.blocks + u64::from(new_len) - u64::from(len);
            (start, len) = (new, new_len);
        }
        self.groups[group as usize] = (start + wanted, len - wanted);
        self.blocks -= u64::from(wanted);
        Some((start, wanted))
    }

    /// Takes up to `wanted` blocks at `goal` that are kept for the file.
    pub fn take_of_file(&mut self, inode: u32, goal: u32, wanted: u32) -> Option<(u32, u32)> {
        let at = self.files.iter().position(|&(of, start, _)| of == inode && start == goal)?;
        let (_, start, len) = self.files.remove(at)?;
        let taken = wanted.min(len);
        if len > taken {
            self.files.push_back((inode, start + taken, len - taken));
        }
        self.blocks -= u64::from(taken);
        Some((start, taken))
    }

    /// Keeps up to `wanted` blocks from `start` on for the file, if they are free.
    pub fn keep_for_file(&mut self, space: &mut Space, inode: u32, start: u32, wanted: u32) {
        if self.files.iter().any(|&(of, ..)| of == inode) {
            return;
        }
        let len = space.run_at(start, wanted.min(FILE_BLOCKS));
        if len == 0 {
            return;
        }
        if self.files.len() == FILES
            && let Some(oldest) = self.files.pop_front()
        {
            self.give(space, oldest);
        }
        space.take(start, len);
        self.blocks += u64::from(len);
        self.files.push_back((inode, start, len));
    }

    /// Gives back what is kept for a file.
    pub fn release_file(&mut self, space: &mut Space, inode: u32) {
        if let Some(at) = self.files.iter().position(|&(of, ..)| of == inode)
            && let Some(kept) = self.files.remove(at)
        {
            self.give(space, kept);
        }
    }

    /// Gives back everything.
    pub fn release(&mut self, space: &mut Space) {
        while let Some(kept) = self.files.pop_front() {
            self.give(space, kept);
        }
        for (start, len) in &mut self.groups {
            if *len > 0 {
                space.give(*start, *len);
            }
            *len = 0;
        }
        self.blocks = 0;
    }

    fn give(&mut self, space: &mut Space, (_, start, len): (u32, u32, u32)) {
        space.give(start, len);
        self.blocks -= u64::from(len);
    }

    pub fn heap_bytes(&self) -> usize {
        self.groups.capacity() * 8 + self.files.capacity() * 12
    }
}

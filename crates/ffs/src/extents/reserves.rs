//! Preallocated blocks: per group a run that small files share, and behind growing files the blocks that they will likely use next. They count
//! as free space, but no other file gets them until space is short.

use super::{Placement, Space};
use std::collections::VecDeque;

/// Blocks shared by the small files of a group: 2 MB, as in ext4.
const GROUP_BLOCKS: u32 = 512;
/// Maximum blocks reserved for a file: 8 MB.
const FILE_BLOCKS: u32 = 2048;
/// Maximum number of files with a reservation; the oldest loses its own.
const FILES: usize = 32;

/// The reserved blocks.
#[derive(Clone)]
pub(super) struct Reserves {
    /// Per group: start and length.
    groups: Vec<(u32, u32)>,
    /// Inode, start and length, the oldest first.
    files: VecDeque<(u32, u32, u32)>,
    blocks: u64,
}

impl Reserves {
    pub fn new(groups: u32) -> Reserves {
        Reserves { groups: vec![(0, 0); groups as usize], files: VecDeque::new(), blocks: 0 }
    }

    /// Number of reserved blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Takes blocks for a small file from the run of its group, which is replaced if it is too short.
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
            // Reserves at most an eighth of the free blocks.
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

    /// Takes up to `wanted` blocks at `goal` that are reserved for the file.
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

    /// Reserves up to `wanted` blocks from `start` on for the file, if they are free.
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

    /// Releases the reservation of a file.
    pub fn release_file(&mut self, space: &mut Space, inode: u32) {
        if let Some(at) = self.files.iter().position(|&(of, ..)| of == inode)
            && let Some(kept) = self.files.remove(at)
        {
            self.give(space, kept);
        }
    }

    /// Releases all reservations.
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

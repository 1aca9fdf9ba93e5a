//! The used inodes of a group. The map reaches only up to the highest inode ever used, so its size depends on the files and not on the
//! disk.

/// Inodes of one group; a one is a used inode.
#[derive(Clone, Default)]
pub(crate) struct Inodes {
    words: Vec<u64>,
    /// No inode below this one is free: 4.4BSD moves its rotor back whenever an inode before it is freed.
    first: u32,
}

impl Inodes {
    /// Takes the first free inode of `count`.
    pub fn take(&mut self, count: u32) -> Option<u32> {
        let mut word = (self.first / 64) as usize;
        while self.words.get(word).is_some_and(|&used| used == u64::MAX) {
            word += 1;
        }
        if word == self.words.len() {
            self.words.reserve_exact(1);
            self.words.push(0);
        }
        let inode = word as u32 * 64 + self.words[word].trailing_ones();
        if inode >= count {
            return None;
        }
        self.words[word] |= 1 << (inode % 64);
        self.first = inode + 1;
        Some(inode)
    }

    /// Frees an inode.
    pub fn free(&mut self, inode: u32) {
        debug_assert!(self.words[(inode / 64) as usize] >> (inode % 64) & 1 == 1);
        self.words[(inode / 64) as usize] &= !(1 << (inode % 64));
        self.first = self.first.min(inode);
    }

    /// Number of used inodes.
    pub fn used(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    pub fn heap_bytes(&self) -> usize {
        self.words.capacity() * 8
    }
}

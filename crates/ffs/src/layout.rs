//! Where a file lies while an operation is done on it.

/// A run of a file that lies together on disk. Numbers count the units of the file system: fragments of the fast file
/// system, blocks of the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Its first unit in the file.
    pub logical: u32,
    /// Its first unit on disk.
    pub start: u32,
    /// Its length.
    pub len: u32,
}

impl Piece {
    /// The unit of the file behind it.
    pub fn logical_end(&self) -> u32 {
        self.logical + self.len
    }

    /// The unit on disk behind it.
    pub fn end(&self) -> u32 {
        self.start + self.len
    }
}

/// Where a file lies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Its inode.
    pub inode: u32,
    /// Its size in bytes.
    pub size: u64,
    /// Its data, in the order of the file; pieces that follow each other both in the file and on disk are one.
    pub pieces: Vec<Piece>,
    /// The units at which its indirect blocks begin, in the order of their making.
    pub indirect: Vec<u32>,
}

impl Layout {
    /// The unit of the file behind its last piece.
    pub fn end(&self) -> u32 {
        self.pieces.last().map_or(0, Piece::logical_end)
    }

    /// The unit on disk that holds this unit of the file, and how many follow it there.
    pub fn find(&self, logical: u32) -> Option<(u32, u32)> {
        let at = self.pieces.partition_point(|piece| piece.logical_end() <= logical);
        let piece = self.pieces.get(at).filter(|piece| piece.logical <= logical)?;
        Some((piece.start + (logical - piece.logical), piece.logical_end() - logical))
    }

    /// The unit of the file at or behind `logical` where the next piece begins; none where there is no further one.
    pub fn next_piece(&self, logical: u32) -> Option<u32> {
        let at = self.pieces.partition_point(|piece| piece.logical < logical);
        self.pieces.get(at).map(|piece| piece.logical)
    }

    /// Adds a piece where the file has none.
    pub fn insert(&mut self, piece: Piece) {
        let at = self.pieces.partition_point(|other| other.logical < piece.logical);
        self.pieces.insert(at, piece);
        self.join(at + 1);
        self.join(at);
    }

    /// Makes one of the piece at `at` and that before it where they follow each other.
    fn join(&mut self, at: usize) {
        if at == 0 || at >= self.pieces.len() {
            return;
        }
        let (before, piece) = (self.pieces[at - 1], self.pieces[at]);
        if before.logical_end() == piece.logical && before.end() == piece.start {
            self.pieces[at - 1].len += piece.len;
            self.pieces.remove(at);
        }
    }

    /// Takes the units `from..to` out of the file; `freed` gets what they held on disk (start, length).
    pub fn cut(&mut self, from: u32, to: u32, mut freed: impl FnMut(u32, u32)) {
        if from == 0 && to >= self.end() {
            return self.pieces.drain(..).for_each(|piece| freed(piece.start, piece.len));
        }
        let mut at = self.pieces.partition_point(|piece| piece.logical_end() <= from);
        while at < self.pieces.len() && self.pieces[at].logical < to {
            let piece = self.pieces[at];
            let (first, end) = (piece.logical.max(from), piece.logical_end().min(to));
            freed(piece.start + (first - piece.logical), end - first);
            let before = Piece { len: first - piece.logical, ..piece };
            let behind = Piece {
                logical: end,
                start: piece.start + (end - piece.logical),
                len: piece.logical_end() - end,
            };
            let left = [before, behind].into_iter().filter(|piece| piece.len > 0);
            let count = u32::from(before.len > 0) + u32::from(behind.len > 0);
            self.pieces.splice(at..=at, left);
            at += count as usize;
        }
    }
}

//! The layout of a file during an operation.

/// A contiguous run of a file on disk. Numbers count the units of the file system: fragments of the fast file system, blocks of the extent
/// file system.
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
    /// The unit of the file behind the piece.
    pub fn logical_end(&self) -> u32 {
        self.logical + self.len
    }

    /// The unit on disk behind the piece.
    pub fn end(&self) -> u32 {
        self.start + self.len
    }
}

/// The layout of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Its inode.
    pub inode: u32,
    /// Its size in bytes.
    pub size: u64,
    /// Its data in file order; pieces that are adjacent both in the file and on disk are merged.
    pub pieces: Vec<Piece>,
    /// The first units of its indirect blocks, in order of creation.
    pub indirect: Vec<u32>,
}

impl Layout {
    /// The unit of the file behind its last piece.
    pub fn end(&self) -> u32 {
        self.pieces.last().map_or(0, Piece::logical_end)
    }

    /// The unit on disk of this unit of the file, and the number of contiguous units from there.
    pub fn find(&self, logical: u32) -> Option<(u32, u32)> {
        // Most lookups are at the end.
        let at = match self.pieces.last() {
            Some(last) if last.logical <= logical => self.pieces.len() - 1,
            _ => self.pieces.partition_point(|piece| piece.logical_end() <= logical),
        };
        let holds = |piece: &&Piece| (piece.logical..piece.logical_end()).contains(&logical);
        let piece = self.pieces.get(at).filter(holds)?;
        Some((piece.start + (logical - piece.logical), piece.logical_end() - logical))
    }

    /// The start of the next piece at or behind `logical`; none if there is none.
    pub fn next_piece(&self, logical: u32) -> Option<u32> {
        if self.end() <= logical {
            return None;
        }
        let at = self.pieces.partition_point(|piece| piece.logical < logical);
        self.pieces.get(at).map(|piece| piece.logical)
    }

    /// Adds a piece in a hole of the file.
    #[inline]
    pub fn insert(&mut self, piece: Piece) {
        // Most files grow at their end.
        match self.pieces.last_mut() {
            Some(last) if last.logical_end() == piece.logical && last.end() == piece.start => {
                return last.len += piece.len;
            }
            Some(last) if last.logical_end() > piece.logical => {}
            _ => return self.pieces.push(piece),
        }
        let at = self.pieces.partition_point(|other| other.logical < piece.logical);
        self.pieces.insert(at, piece);
        self.join(at + 1);
        self.join(at);
    }

    /// Merges the piece at `at` with the one before it if they are adjacent.
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

    /// Removes the units `from..to` from the file; `freed` gets their units on disk (start, length).
    pub fn cut(&mut self, from: u32, to: u32, mut freed: impl FnMut(u32, u32)) {
        if from == 0 && to >= self.end() {
            return self.pieces.drain(..).for_each(|piece| freed(piece.start, piece.len));
        }
        let mut begin = self.pieces.partition_point(|piece| piece.logical_end() <= from);
        let mut end = begin + self.pieces[begin..].partition_point(|piece| piece.logical < to);
        if begin == end || from >= to {
            return;
        }
        for piece in &self.pieces[begin..end] {
            let (first, last) = (piece.logical.max(from), piece.logical_end().min(to));
            freed(piece.start + (first - piece.logical), last - first);
        }
        // The part of the first piece before the hole stays, and the part of the last one behind it.
        let (first, last) = (self.pieces[begin], self.pieces[end - 1]);
        if last.logical_end() > to {
            let cut = to - last.logical;
            let behind = Piece { logical: to, start: last.start + cut, len: last.len - cut };
            if first.logical < from && begin + 1 == end {
                self.pieces.insert(end, behind);
            } else {
                end -= 1;
                self.pieces[end] = behind;
            }
        }
        if first.logical < from {
            self.pieces[begin].len = from - first.logical;
            begin += 1;
        }
        self.pieces.drain(begin..end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The place of each unit of a file.
    fn units(layout: &Layout, count: u32) -> Vec<Option<u32>> {
        (0..count).map(|logical| layout.find(logical).map(|(start, _)| start)).collect()
    }

    proptest! {
        /// After writes and cuts, the layout equals a plain list of units, with the minimum number of pieces.
        #[test]
        fn pieces_match_a_list(steps in prop::collection::vec((any::<bool>(), 0u32..60, 0u32..20, 0u32..40), 0..40)) {
            let (mut layout, mut list) = (Layout::default(), vec![None; 80]);
            for (writes, from, len, gap) in steps {
                let range = from as usize..(from + len) as usize;
                if writes && len > 0 && list[range.clone()].iter().all(Option::is_none) {
                    // Without a gap it follows the previous unit, if that was written without a gap as well.
                    let start = 100 + from + gap / 30 * 1000;
                    layout.insert(Piece { logical: from, start, len });
                    range.for_each(|unit| list[unit] = Some(start + unit as u32 - from));
                } else if !writes {
                    let mut freed = Vec::new();
                    layout.cut(from, from + len, |start, len| {
                        assert!(len > 0, "no empty run is freed");
                        freed.extend(start..start + len);
                    });
                    let held: Vec<u32> = list[range.clone()].iter().flatten().copied().collect();
                    prop_assert_eq!(freed, held);
                    list[range].fill(None);
                }
                prop_assert_eq!(units(&layout, 80), list.clone());
                let joins = |pair: &[Piece]| pair[0].logical_end() == pair[1].logical && pair[0].end() == pair[1].start;
                prop_assert!(!layout.pieces.windows(2).any(joins), "{:?}", layout.pieces);
            }
        }
    }
}

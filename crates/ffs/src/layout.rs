//! The layout of a file during an operation.

/// A contiguous run of a file on disk. Numbers count the units of the file system: fragments of the fast file system, blocks of the extent
/// file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Its first unit in the file.
    pub logical: u32,
    /// Its first unit on disk.
    pub start: u32,
    /// Its length.
    pub len: u32,
}

impl Extent {
    /// The unit of the file behind the extent.
    pub fn logical_end(&self) -> u32 {
        self.logical + self.len
    }

    /// The unit on disk behind the extent.
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
    /// Its data in file order; extents that are adjacent both in the file and on disk are merged.
    pub extents: Vec<Extent>,
    /// The first units of its indirect blocks, in order of creation.
    pub indirect: Vec<u32>,
}

impl Layout {
    /// The unit of the file behind its last extent.
    pub fn end(&self) -> u32 {
        self.extents.last().map_or(0, Extent::logical_end)
    }

    /// The unit on disk of this unit of the file, and the number of contiguous units from there.
    pub fn find(&self, logical: u32) -> Option<(u32, u32)> {
        // Most lookups are at the end.
        let at = match self.extents.last() {
            Some(last) if last.logical <= logical => self.extents.len() - 1,
            _ => self.extents.partition_point(|extent| extent.logical_end() <= logical),
        };
        let holds = |extent: &&Extent| (extent.logical..extent.logical_end()).contains(&logical);
        let extent = self.extents.get(at).filter(holds)?;
        Some((extent.start + (logical - extent.logical), extent.logical_end() - logical))
    }

    /// The start of the next extent at or behind `logical`; none if there is none.
    pub fn next_extent(&self, logical: u32) -> Option<u32> {
        if self.end() <= logical {
            return None;
        }
        let at = self.extents.partition_point(|extent| extent.logical < logical);
        self.extents.get(at).map(|extent| extent.logical)
    }

    /// Adds an extent in a hole of the file.
    #[inline]
    pub fn insert(&mut self, extent: Extent) {
        // Most files grow at their end.
        match self.extents.last_mut() {
            Some(last) if last.logical_end() == extent.logical && last.end() == extent.start => {
                return last.len += extent.len;
            }
            Some(last) if last.logical_end() > extent.logical => {}
            _ => return self.extents.push(extent),
        }
        let at = self.extents.partition_point(|other| other.logical < extent.logical);
        self.extents.insert(at, extent);
        self.join(at + 1);
        self.join(at);
    }

    /// Merges the extent at `at` with the one before it if they are adjacent.
    fn join(&mut self, at: usize) {
        if at == 0 || at >= self.extents.len() {
            return;
        }
        let (before, extent) = (self.extents[at - 1], self.extents[at]);
        if before.logical_end() == extent.logical && before.end() == extent.start {
            self.extents[at - 1].len += extent.len;
            self.extents.remove(at);
        }
    }

    /// Removes the units `from..to` from the file; `freed` gets their units on disk (start, length).
    pub fn remove_range(&mut self, from: u32, to: u32, mut freed: impl FnMut(u32, u32)) {
        if from == 0 && to >= self.end() {
            return self.extents.drain(..).for_each(|extent| freed(extent.start, extent.len));
        }
        let mut begin = self.extents.partition_point(|extent| extent.logical_end() <= from);
        let mut end = begin + self.extents[begin..].partition_point(|extent| extent.logical < to);
        if begin == end || from >= to {
            return;
        }
        for extent in &self.extents[begin..end] {
            let (first, last) = (extent.logical.max(from), extent.logical_end().min(to));
            freed(extent.start + (first - extent.logical), last - first);
        }
        // The part of the first extent before the hole stays, and the part of the last one behind it.
        let (first, last) = (self.extents[begin], self.extents[end - 1]);
        if last.logical_end() > to {
            let cut = to - last.logical;
            let behind = Extent { logical: to, start: last.start + cut, len: last.len - cut };
            if first.logical < from && begin + 1 == end {
                self.extents.insert(end, behind);
            } else {
                end -= 1;
                self.extents[end] = behind;
            }
        }
        if first.logical < from {
            self.extents[begin].len = from - first.logical;
            begin += 1;
        }
        self.extents.drain(begin..end);
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
        /// After writes and cuts, the layout equals a plain list of units, with the minimum number of extents.
        #[test]
        fn extents_match_a_list(steps in prop::collection::vec((any::<bool>(), 0u32..60, 0u32..20, 0u32..40), 0..40)) {
            let (mut layout, mut list) = (Layout::default(), vec![None; 80]);
            for (writes, from, len, gap) in steps {
                let range = from as usize..(from + len) as usize;
                if writes && len > 0 && list[range.clone()].iter().all(Option::is_none) {
                    // Without a gap it follows the previous unit, if that was written without a gap as well.
                    let start = 100 + from + gap / 30 * 1000;
                    layout.insert(Extent { logical: from, start, len });
                    range.for_each(|unit| list[unit] = Some(start + unit as u32 - from));
                } else if !writes {
                    let mut freed = Vec::new();
                    layout.remove_range(from, from + len, |start, len| {
                        assert!(len > 0, "no empty run is freed");
                        freed.extend(start..start + len);
                    });
                    let held: Vec<u32> = list[range.clone()].iter().flatten().copied().collect();
                    prop_assert_eq!(freed, held);
                    list[range].fill(None);
                }
                prop_assert_eq!(units(&layout, 80), list.clone());
                let joins = |pair: &[Extent]| pair[0].logical_end() == pair[1].logical && pair[0].end() == pair[1].start;
                prop_assert!(!layout.extents.windows(2).any(joins), "{:?}", layout.extents);
            }
        }
    }
}

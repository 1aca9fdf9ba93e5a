//! How many free runs of each length a group has, so that nobody looks for one that is not there.

use std::cell::Cell;

/// Below this length each has a class of its own. Behind it four classes share each doubling, up to the last.
pub(super) const EXACT: u32 = 64;
/// From this length on all are in the last class: what is counted further costs more than it spares.
pub(super) const LONGEST: u32 = 1024;
const CLASSES: usize = class_of(LONGEST) as usize + 1;

/// The class of runs of this length.
pub(super) const fn class_of(len: u32) -> u32 {
    if len < EXACT {
        return len;
    }
    let len = if len < LONGEST { len } else { LONGEST };
    let doubling = len.ilog2();
    EXACT + 4 * (doubling - EXACT.ilog2()) + (len >> (doubling - 2)) % 4
}

/// The shortest length in a class.
pub(super) fn least_of(class: u32) -> u32 {
    match class.checked_sub(EXACT) {
        None => class,
        Some(behind) => (4 + behind % 4) << (EXACT.ilog2() - 2 + behind / 4),
    }
}

/// The free runs of one group by class.
#[derive(Clone)]
pub(super) struct Runs {
    counts: [u16; CLASSES],
    /// A bit for each class that has runs.
    some: u128,
    /// For each class the block of the group before which none of its runs begins. Searches raise it.
    begins: [Cell<u16>; CLASSES],
}

impl Runs {
    /// None.
    pub fn new() -> Runs {
        Runs { counts: [0; CLASSES], some: 0, begins: [const { Cell::new(0) }; CLASSES] }
    }

    /// Counts a run that begins at this block of the group.
    pub fn add(&mut self, begin: u32, len: u32) {
        let class = class_of(len);
        self.counts[class as usize] += 1;
        self.some |= 1 << class;
        let first = &self.begins[class as usize];
        first.set(first.get().min(begin as u16));
    }

    /// Counts a run less.
    pub fn remove(&mut self, len: u32) {
        let class = class_of(len);
        self.counts[class as usize] -= 1;
        self.some &= !(u128::from(self.counts[class as usize] == 0) << class);
    }

    /// How many runs of a class there are.
    pub fn count(&self, class: u32) -> u16 {
        self.counts[class as usize]
    }

    /// The class of the longest; 0 where there are none.
    pub fn longest(&self) -> u32 {
        self.some.checked_ilog2().unwrap_or(0)
    }

    /// The classes that have runs, from this one on, rising.
    pub fn classes_from(&self, class: u32) -> impl Iterator<Item = u32> + use<> {
        let mut left = self.some >> class << class;
        std::iter::from_fn(move || {
            let class = (left != 0).then(|| left.trailing_zeros())?;
            left &= left - 1;
            Some(class)
        })
    }

    /// The block of the group before which no run of a class begins.
    pub fn begin(&self, class: u32) -> u32 {
        self.begins[class as usize].get().into()
    }

    /// Sets it: the first run of the class was found there.
    pub fn set_begin(&self, class: u32, begin: u32) {
        self.begins[class as usize].set(begin as u16);
    }

    /// Whether these count the same.
    pub fn counts_as(&self, other: &Runs) -> bool {
        (self.counts, self.some) == (other.counts, other.some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_rise_with_the_length() {
        for len in 1..2 * LONGEST {
            let class = class_of(len);
            assert!((class as usize) < CLASSES && least_of(class) <= len, "{len}");
            assert!(class as usize == CLASSES - 1 || len < least_of(class + 1), "{len}");
        }
    }
}

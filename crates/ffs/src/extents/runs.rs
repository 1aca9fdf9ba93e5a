//! Counts of the free runs of each length in a group, so that searches skip missing lengths.

use std::cell::Cell;

/// Lengths below this have a class each. From here on each doubling has four classes, up to the last class.
pub(super) const EXACT: u32 = 64;
/// Lengths from this one on are in the last class: finer classes cost more than they save.
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

/// The free runs of one group, by class.
#[derive(Clone)]
pub(super) struct Runs {
    counts: [u16; CLASSES],
    /// A bit for each class with runs.
    some: u128,
    /// Per class, a block of the group before which none of its runs starts. Searches raise it.
    begins: [Cell<u16>; CLASSES],
}

impl Runs {
    /// No runs.
    pub fn new() -> Runs {
        Runs { counts: [0; CLASSES], some: 0, begins: [const { Cell::new(0) }; CLASSES] }
    }

    /// Adds a run that starts at this block of the group.
    pub fn add(&mut self, begin: u32, len: u32) {
        let class = class_of(len);
        self.counts[class as usize] += 1;
        self.some |= 1 << class;
        let first = &self.begins[class as usize];
        first.set(first.get().min(begin as u16));
    }

    /// Removes a run.
    pub fn remove(&mut self, len: u32) {
        let class = class_of(len);
        self.counts[class as usize] -= 1;
        self.some &= !(u128::from(self.counts[class as usize] == 0) << class);
    }

    /// Number of runs of a class.
    pub fn count(&self, class: u32) -> u16 {
        self.counts[class as usize]
    }

    /// The class of the longest run; 0 without runs.
    pub fn longest(&self) -> u32 {
        self.some.checked_ilog2().unwrap_or(0)
    }

    /// The classes with runs, from this one on, ascending.
    pub fn classes_from(&self, class: u32) -> impl Iterator<Item = u32> + use<> {
        let mut left = self.some >> class << class;
        std::iter::from_fn(move || {
            let class = (left != 0).then(|| left.trailing_zeros())?;
            left &= left - 1;
            Some(class)
        })
    }

    /// The block of the group before which no run of a class starts.
    pub fn begin(&self, class: u32) -> u32 {
        self.begins[class as usize].get().into()
    }

    /// Sets that block, after a search found the first run of the class there.
    pub fn set_begin(&self, class: u32, begin: u32) {
        self.begins[class as usize].set(begin as u16);
    }

    /// Whether both have the same counts.
    pub fn counts_as(&self, other: &Runs) -> bool {
        (self.counts, self.some) == (other.counts, other.some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_increase_with_the_length() {
        for len in 1..2 * LONGEST {
            let class = class_of(len);
            assert!((class as usize) < CLASSES && least_of(class) <= len, "{len}");
            assert!(class as usize == CLASSES - 1 || len < least_of(class + 1), "{len}");
        }
    }
}

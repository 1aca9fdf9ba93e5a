//! A bitmap of free blocks, processed by words: runs are found, allocated and freed in one step each.

use std::ops::{BitAndAssign, Shr};

/// A bitmap; a one is a free block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bits {
    /// One more word than needed, so that each word has a successor.
    words: Vec<u64>,
    /// A bit for each word that has a one: finds rare ones quickly.
    some: Vec<u64>,
}

impl Bits {
    /// `len` zeros.
    pub fn zeros(len: u32) -> Bits {
        Bits { words: vec![0; len as usize / 64 + 2], some: vec![0; len as usize / (64 * 64) + 1] }
    }

    #[inline]
    pub fn get(&self, at: u32) -> bool {
        self.words[(at / 64) as usize] >> (at % 64) & 1 == 1
    }

    /// The number of ones from `at` on, below `end`.
    #[inline]
    pub fn ones_from(&self, at: u32, end: u32) -> u32 {
        let mut next = at;
        while next < end {
            let here = (self.words[(next / 64) as usize] >> (next % 64)).trailing_ones();
            next += here;
            // The zeros shifted in end the run only if the run reaches the end of the word.
            if here == 0 || !next.is_multiple_of(64) {
                break;
            }
        }
        next.min(end) - at.min(end)
    }

    /// The number of ones directly before `at`, from `begin` on, at most `most`.
    #[inline]
    pub fn ones_before(&self, at: u32, begin: u32, most: u32) -> u32 {
        let least = begin.max(at.saturating_sub(most));
        let mut first = at;
        while first > least {
            let last = first - 1;
            let here = (self.words[(last / 64) as usize] << (63 - last % 64)).leading_ones();
            first -= here;
            if here == 0 || !first.is_multiple_of(64) {
                break;
            }
        }
        at - first.max(least)
    }

    /// The first one from `from` on, below `end`.
    #[inline]
    pub fn next_one(&self, from: u32, end: u32) -> Option<u32> {
        if from >= end {
            return None;
        }
        let here = self.words[(from / 64) as usize] >> (from % 64);
        let found = if here != 0 {
            from + here.trailing_zeros()
        } else {
            let word = next_in(&self.some, from / 64 + 1, end.div_ceil(64))?;
            word * 64 + self.words[word as usize].trailing_zeros()
        };
        (found < end).then_some(found)
    }

    /// The first run of `len` ones that starts at or after `from` and ends by `end`.
    pub fn first_run(&self, from: u32, end: u32, len: u32) -> Option<u32> {
        if len <= 64 {
            return self.first_short_run(from, end, len);
        }
        let mut from = from;
        while let Some(at) = self.next_one(from, end) {
            let (low, high) = self.window(at);
            let begins = starts(low, high, 64);
            if begins == 0 {
                from = (at / 64 + 1) * 64;
                continue;
            }
            let at = at + begins.trailing_zeros();
            let run = self.ones_from(at, end.min(at.saturating_add(len)));
            if run >= len {
                return Some(at);
            }
            from = at + run + 1;
        }
        None
    }

    /// The same for runs of at most 64 ones, which span at most two words.
    fn first_short_run(&self, from: u32, end: u32, len: u32) -> Option<u32> {
        let mut mask = u64::MAX << (from % 64);
        for word in from / 64..end.div_ceil(64) {
            let (low, high) = (self.words[word as usize] & mask, self.words[word as usize + 1]);
            mask = u64::MAX;
            let begins = starts_within(low, len);
            // A run that continues in the next word starts after those within this one.
            let at = if begins != 0 { begins.trailing_zeros() } else { 64 - low.leading_ones() };
            if begins != 0 || 64 - at + high.trailing_ones() >= len && at < 64 {
                let at = word * 64 + at;
                return (at + len <= end).then_some(at);
            }
        }
        None
    }

    /// The first maximal run of exactly `len` ones, fewer than 64, that starts at or after `from` and before `end`.
    pub fn first_exact_run(&self, from: u32, end: u32, len: u32) -> Option<u32> {
        let mut mask = u64::MAX << (from % 64);
        let mut last = (from / 64).checked_sub(1).map_or(0, |before| self.words[before as usize]);
        for word in from / 64..end.div_ceil(64) {
            let (low, high) = (self.words[word as usize], self.words[word as usize + 1]);
            let begins = low & !(low << 1 | last >> 63) & mask;
            if begins != 0 {
                let goes_on = low >> len | high << (64 - len);
                let exact = begins & starts(low, high, len) & !goes_on;
                if exact != 0 {
                    let at = word * 64 + exact.trailing_zeros();
                    return (at < end).then_some(at);
                }
            }
            (last, mask) = (low, u64::MAX);
        }
        None
    }

    /// The 64 bits from `at` on, and the following bits up to the end of a word; zeros behind the end of the map.
    #[inline]
    fn window(&self, at: u32) -> (u64, u64) {
        let (first, shift) = ((at / 64) as usize, at % 64);
        let (low, high) = (self.words[first], self.words[first + 1]);
        (low >> shift | (high << 1) << (63 - shift), high >> shift)
    }

    /// The number of ones directly before and directly after the `len` bits from `at` on, up to 64 each.
    #[inline]
    pub fn ones_around(&self, at: u32, len: u32) -> (u32, u32) {
        let before = match at.checked_sub(64) {
            Some(begin) => self.window(begin).0,
            None => (self.words[0] << (63 - at % 64)) << 1,
        };
        (before.leading_ones(), self.window(at + len).0.trailing_ones())
    }

    /// Every maximal run (start, length) of ones in `begin..end`.
    pub fn runs(&self, begin: u32, end: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut from = begin;
        std::iter::from_fn(move || {
            let at = self.next_one(from, end)?;
            let run = self.ones_from(at, end);
            from = at + run;
            Some((at, run))
        })
    }

    /// Sets `len` bits from `at` on to one.
    #[inline]
    pub fn set(&mut self, at: u32, len: u32) {
        each_word(at, len, |word, mask| {
            self.words[word] |= mask;
            self.some[word / 64] |= 1 << (word % 64);
        });
    }

    /// Sets `len` bits from `at` on to zero.
    #[inline]
    pub fn clear(&mut self, at: u32, len: u32) {
        each_word(at, len, |word, mask| {
            self.words[word] &= !mask;
            self.some[word / 64] &= !(u64::from(self.words[word] == 0) << (word % 64));
        });
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        (self.words.capacity() + self.some.capacity()) * 8
    }
}

/// The positions among the first 64 bits at which `len` consecutive ones start; `len` is at most 64.
#[inline]
fn starts(low: u64, high: u64, len: u32) -> u64 {
    starts_within(u128::from(high) << 64 | u128::from(low), len) as u64
}

/// The positions at which `len` consecutive ones start, all within this word; `len` is at most 64.
#[inline]
fn starts_within<T: Copy + BitAndAssign + Shr<u32, Output = T>>(word: T, len: u32) -> T {
    let (mut ones, mut have) = (word, 1);
    // Doubles the length each time: a start of `have` ones, followed `step` bits on by another such start. The first three steps are
    // unconditional, as most runs are of five to eight.
    for _ in 0..3 {
        let step = have.min(len - have);
        ones &= ones >> step;
        have += step;
    }
    while have < len {
        let step = have.min(len - have);
        ones &= ones >> step;
        have += step;
    }
    ones
}

/// The first one of a map at or after bit `from`, below `end`.
#[inline]
fn next_in(map: &[u64], from: u32, end: u32) -> Option<u32> {
    let mut at = from;
    while at < end {
        let word = map[(at / 64) as usize] >> (at % 64);
        if word != 0 {
            return Some(at + word.trailing_zeros());
        }
        at = (at / 64 + 1) * 64;
    }
    None
}

/// The words of the `len` bits from `at` on, each with the mask of these bits.
#[inline]
fn each_word(at: u32, len: u32, mut change: impl FnMut(usize, u64)) {
    let (mut at, end) = (at, at + len);
    while at < end {
        let bits = (64 - at % 64).min(end - at);
        change((at / 64) as usize, (u64::MAX >> (64 - bits)) << (at % 64));
        at += bits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every result equals that of a plain list of bits.
        #[test]
        fn results_match_a_list(
            changes in prop::collection::vec((any::<bool>(), 0u32..300, 1u32..150), 0..30),
            (from, width, len) in (0u32..300, 0u32..300, 1u32..80),
        ) {
            let (mut bits, mut list) = (Bits::zeros(300), vec![false; 300]);
            for (set, at, len) in changes {
                let len = len.min(300 - at);
                if set { bits.set(at, len) } else { bits.clear(at, len) }
                list[at as usize..(at + len) as usize].fill(set);
            }
            let end = (from + width).min(300);
            let ones = |range: &mut dyn Iterator<Item = u32>| range.take_while(|&i| list[i as usize]).count() as u32;
            prop_assert_eq!(bits.ones_from(from, end), ones(&mut (from..end)));
            prop_assert_eq!(bits.ones_before(end, from, len), ones(&mut (from.max(end.saturating_sub(len))..end).rev()));
            prop_assert_eq!(bits.next_one(from, end), (from..end).find(|&i| list[i as usize]));
            let around = (ones(&mut (from.saturating_sub(64)..from).rev()), ones(&mut (end..300.min(end + 64))));
            prop_assert_eq!(bits.ones_around(from, end - from), around);
            let fits = |&i: &u32| i + len <= 300 && list[i as usize..(i + len) as usize].iter().all(|&one| one);
            prop_assert_eq!(bits.first_run(from, end, len), (from..end).find(|i| i + len <= end && fits(i)));
            let exact = |&i: &u32| fits(&i) && (i == 0 || !list[i as usize - 1]) && !list.get((i + len) as usize).unwrap_or(&false);
            if (1..64).contains(&len) {
                prop_assert_eq!(bits.first_exact_run(from, 300, len), (from..300).find(|i| i + len <= 300 && exact(i)));
            }
            let of_runs: u32 = bits.runs(from, end).map(|(_, len)| len).sum();
            prop_assert_eq!(of_runs as usize, (from..end).filter(|&i| list[i as usize]).count());
        }
    }
}

//! A bitmap of free blocks, worked on by words: runs are found, taken and given back in one step each.

/// Bits; a one is a free block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// `len` zeros.
    pub fn zeros(len: u32) -> Bits {
        Bits(vec![0; len.div_ceil(64) as usize])
    }

    #[inline]
    pub fn get(&self, at: u32) -> bool {
        self.0[(at / 64) as usize] >> (at % 64) & 1 == 1
    }

    /// How many ones there are from `at` on, below `end`.
    #[inline]
    pub fn ones_from(&self, at: u32, end: u32) -> u32 {
        let mut next = at;
        while next < end {
            let here = (self.0[(next / 64) as usize] >> (next % 64)).trailing_ones();
            next += here;
            // The zeros that the shift brings in end the run only where the word goes on.
            if here == 0 || next % 64 != 0 {
                break;
            }
        }
        next.min(end) - at.min(end)
    }

    /// How many ones there are directly before `at`, not before `begin`, counted up to `most`.
    #[inline]
    pub fn ones_before(&self, at: u32, begin: u32, most: u32) -> u32 {
        let least = begin.max(at.saturating_sub(most));
        let mut first = at;
        while first > least {
            let last = first - 1;
            let here = (self.0[(last / 64) as usize] << (63 - last % 64)).leading_ones();
            first -= here;
            if here == 0 || first % 64 != 0 {
                break;
            }
        }
        at - first.max(least)
    }

    /// The first one from `from` on, below `end`.
    #[inline]
    pub fn next_one(&self, from: u32, end: u32) -> Option<u32> {
        let mut at = from;
        while at < end {
            let word = self.0[(at / 64) as usize] >> (at % 64);
            if word != 0 {
                let found = at + word.trailing_zeros();
                return (found < end).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// The first run of `len` ones that begins at `from` or behind it and ends by `end`.
    pub fn first_run(&self, from: u32, end: u32, len: u32) -> Option<u32> {
        let mut from = from;
        while let Some(at) = self.next_one(from, end) {
            let run = self.ones_from(at, end.min(at.saturating_add(len)));
            if run >= len {
                return Some(at);
            }
            from = at + run + 1;
        }
        None
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

    /// Makes `len` bits from `at` on ones.
    #[inline]
    pub fn set(&mut self, at: u32, len: u32) {
        each_word(at, len, |word, mask| self.0[word] |= mask);
    }

    /// Makes `len` bits from `at` on zeros.
    #[inline]
    pub fn clear(&mut self, at: u32, len: u32) {
        each_word(at, len, |word, mask| self.0[word] &= !mask);
    }

    /// Bytes that it holds on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.0.capacity() * 8
    }
}

/// The words that hold `len` bits from `at` on, each with the mask of those.
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
        /// Every answer is that of a plain list of bits.
        #[test]
        fn answers_are_those_of_a_list(
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
            let fits = |&i: &u32| i + len <= end && list[i as usize..(i + len) as usize].iter().all(|&one| one);
            prop_assert_eq!(bits.first_run(from, end, len), (from..end).find(fits));
            let of_runs: u32 = bits.runs(from, end).map(|(_, len)| len).sum();
            prop_assert_eq!(of_runs as usize, (from..end).filter(|&i| list[i as usize]).count());
        }
    }
}

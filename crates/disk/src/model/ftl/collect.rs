//! Garbage collection and wear leveling.
//!
//! A superblock is collected a little with each page that the host writes, in the proportion in which it has valid and invalid slots, so
//! that it is erased when the host has filled as many slots as it gives back.

use super::{FlashOp, Ftl, Stream};
use serde::{Deserialize, Serialize};

/// Collection starts when no more than this number of superblocks is free.
const FREE_MIN: u32 = 3;

/// Every so many superblocks the least worn one is collected, if the wear differs too much.
const LEVEL_EVERY: u64 = 16;

/// Which superblock is collected next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VictimPolicy {
    /// The one with the fewest valid units.
    Greedy,
    /// The one with the most benefit, age × invalid share / (2 × valid share): Kawaguchi, Nishioka and Motoda, A Flash-Memory Based File
    /// System, USENIX 1995.
    CostBenefit,
    /// The one that was filled first, so that all are collected in turn: data that stays is moved again and again.
    Oldest,
}

/// The superblock being collected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Victim {
    superblock: u32,
    /// The first slot that was not looked at.
    next: u32,
    /// Its valid and invalid slots when it was chosen.
    valid: u64,
    invalid: u64,
    /// Units that the host wrote since, and units moved.
    written: u64,
    moved: u64,
}

impl Ftl {
    /// Whether a superblock can be opened for the host. The last free one is for moved data.
    pub(super) fn has_room(&self) -> bool {
        self.free >= 2
    }

    /// Collects until a page of the host surely has a place.
    pub(super) fn make_room(&mut self, ops: &mut impl FnMut(FlashOp)) {
        while !self.has_room() {
            self.collect(u64::MAX, ops);
        }
    }

    /// Collects as much as `written` units of the host call for.
    pub(super) fn collect_for(&mut self, written: u32, ops: &mut impl FnMut(FlashOp)) {
        if self.victim.is_some() || self.free <= FREE_MIN {
            self.collect(written.into(), ops);
        }
    }

    /// Collects from one superblock until the units moved from it match another `written` units of the host.
    fn collect(&mut self, written: u64, ops: &mut impl FnMut(FlashOp)) {
        let Some(mut victim) = self.victim.take().or_else(|| self.choose()) else { return };
        victim.written = victim.written.saturating_add(written);
        let full = self.geometry.superblock_units();
        let page_units = self.geometry.page_units;
        while victim.next < full {
            // Without a free superblock this one must be finished: another one may need more room than there is.
            if self.free > 0
                && u128::from(victim.moved) * u128::from(victim.invalid)
                    > u128::from(victim.written) * u128::from(victim.valid)
            {
                self.victim = Some(victim);
                return;
            }
            // The valid units of one page, which is sensed once.
            let slots =
                victim.superblock * full + victim.next..victim.superblock * full + victim.next + page_units;
            victim.next += page_units;
            let valid = slots.clone().filter(|slot| self.units[*slot as usize] > 0).count() as u64;
            if valid == 0 {
                continue;
            }
            let die = self.geometry.die_of(slots.start);
            ops(FlashOp::Read { die, bytes: valid * self.geometry.unit_bytes });
            victim.moved += valid;
            for slot in slots {
                // Writing a page of the table may have made the slot invalid just now.
                if let Some(unit) = self.units[slot as usize].checked_sub(1) {
                    self.look_up(unit, true, ops);
                    self.append(Stream::Moved, unit, ops);
                }
            }
        }
        let superblock = &mut self.superblocks[victim.superblock as usize];
        superblock.written = 0;
        superblock.erases += 1;
        self.free += 1;
        ops(FlashOp::Erase);
    }

    /// Chooses the superblock to collect; `None` if none is full.
    fn choose(&mut self) -> Option<Victim> {
        self.victims += 1;
        let full = self.geometry.superblock_units();
        let filled = (0..self.geometry.superblocks)
            .filter(|superblock| !self.open.contains(&Some(*superblock)) && !self.is_free(*superblock));
        let of = |superblock: &u32| &self.superblocks[*superblock as usize];
        let worn = self.superblocks.iter().map(|superblock| superblock.erases).max()?;
        let least_worn = filled.clone().min_by_key(|superblock| of(superblock).erases)?;
        let levels = self.victims.is_multiple_of(LEVEL_EVERY)
            && self.free > 1
            && worn - of(&least_worn).erases > self.wear_gap_max;
        let superblock = if levels {
            least_worn
        } else {
            match self.policy {
                VictimPolicy::Greedy => filled.min_by_key(|superblock| of(superblock).valid)?,
                VictimPolicy::Oldest => filled.min_by_key(|superblock| of(superblock).stamp)?,
                VictimPolicy::CostBenefit => {
                    filled.max_by(|a, b| self.benefit(*a).total_cmp(&self.benefit(*b)))?
                }
            }
        };
        let valid = u64::from(of(&superblock).valid);
        let invalid = u64::from(full) - valid;
        Some(Victim { superblock, next: 0, valid, invalid, written: 0, moved: 0 })
    }

    fn benefit(&self, superblock: u32) -> f64 {
        let of = &self.superblocks[superblock as usize];
        let valid = f64::from(of.valid) / f64::from(self.geometry.superblock_units());
        let age = (self.host_units - of.stamp) as f64 + 1.0;
        // A superblock without valid units comes first, one without invalid ones last.
        age * (1.0 - valid) / (2.0 * valid)
    }
}

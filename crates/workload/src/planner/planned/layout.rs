//! Planning before the first operation: slots, windows, and files of earlier segments.

use super::{NO_FILE, Planned};
use crate::Error;
use crate::planner::apportion::apportion;
use crate::planner::calendar::{Calendar, Rhythm};
use crate::planner::sizes::blocks;
use crate::planner::targets::Targets;
use crate::planner::tree::Tree;
use crate::planner::{AgingState, Conditions, LiveFile};
use crate::random::Random;
use trace::DirId;

/// Number of slots per spare slot.
const SLOTS_A_SPARE: usize = 64;

/// The search for a total that meets every window ends at this multiple of the bound: with very few files,
/// one whole file in a short window can cost more operations than its age error is worth.
const SEARCH: f64 = 1.04;

pub(super) fn plan(conditions: &Conditions, state: AgingState) -> Result<Planned, Error> {
    let targets = Targets::new(conditions)?;
    let AgingState { mut tree, live, counters } = state;
    let past = counters.operations();
    let mut rng = Random::new(conditions.seed, past);
    let mut mkdirs = tree.grow(&targets.depth, conditions.profile.files, targets.files(), &mut rng);
    mkdirs.reverse();

    let Slots { mut slots, kept, doomed } = Slots::lay_out(&targets, live, &tree, &mut rng);
    let files = slots.len();
    let live_blocks: u64 = slots.iter().map(|s| blocks(s.size)).sum();
    let mean_blocks = live_blocks as f64 / files as f64;
    let rhythm = Rhythm { past, doomed: doomed.len() as u64, new: (files - kept) as u64 };

    let mut births_kept: Vec<u64> = slots[..kept].iter().map(|s| s.born).collect();
    births_kept.sort_unstable();
    let search = Search { targets: &targets, rhythm, births_kept: &births_kept };
    let total = match conditions.overwrites {
        Some(overwrites) => {
            let left = targets.overwritten_blocks(overwrites) - counters.created_blocks as f64;
            let creations = (left / mean_blocks).round();
            if creations < rhythm.new as f64 {
                let least = rhythm.new as f64 * mean_blocks + counters.created_blocks as f64;
                return Err(Error::Conditions(format!(
                    "{overwrites} overwrites are less than the filling needs including the operations so \
                     far, {:.3}; use more or leave --overwrites out",
                    least / targets.overwritten_blocks(1.0)
                )));
            }
            rhythm.steady() + 2 * (creations as u64 - rhythm.new)
        }
        None => search.least_total(),
    };
    let calendar = Calendar::new(&targets.age, total);

    // The number of survivors of each window, and how many of these exist already.
    let births = rhythm.births(&calendar);
    let inherited = search.inherited(&calendar);
    let cap: Vec<u64> = births.iter().zip(&inherited).map(|(b, k)| b + k).collect();
    let wanted = apportion(&targets.age_share, files as u64, &cap);
    let mut stay: Vec<u64> = (0..cap.len())
        .map(|b| {
            let even = if cap[b] == 0 { 0.0 } else { wanted[b] as f64 * inherited[b] as f64 / cap[b] as f64 };
            (even.round() as u64).clamp(wanted[b].saturating_sub(births[b]), wanted[b].min(inherited[b]))
        })
        .collect();
    let survivors = wanted.iter().zip(&stay).map(|(w, s)| w - s).collect();
    let mut ephemeral = Vec::with_capacity(files);
    for (i, slot) in slots[..kept].iter().enumerate() {
        let left = &mut stay[calendar.bin_of(slot.born)];
        match left.checked_sub(1) {
            Some(fewer) => *left = fewer,
            None => ephemeral.push(i as u32),
        }
    }
    let mut empty: Vec<u32> = (kept as u32..files as u32).collect();
    rng.shuffle(&mut empty);

    if total > rhythm.steady() {
        add_spares(&mut slots, mean_blocks, &mut rng);
    }
    let spare = (files as u32..slots.len() as u32).collect();
    let age_error = targets.age_fit(wanted).rms_error();
    Ok(Planned {
        plan: targets.plan(live_blocks, tree.directories(), total, Some(age_error)),
        bin: calendar.bins() - 1,
        targets,
        rng,
        tree,
        mkdirs,
        rhythm,
        calendar,
        counters,
        slots,
        files,
        doomed,
        ephemeral,
        empty,
        spare,
        guest: None,
        births,
        survivors,
        mean_blocks,
        excess: 0.0,
    })
}

/// The slots: first those that hold a file of an earlier segment, then the empty ones.
struct Slots {
    slots: Vec<LiveFile>,
    kept: usize,
    doomed: Vec<LiveFile>,
}

impl Slots {
    /// Existing files that fit the histograms keep their place; the others are doomed. The deficit of the
    /// histograms becomes empty slots, with size and depth drawn independently of each other.
    fn lay_out(targets: &Targets, mut live: Vec<LiveFile>, tree: &Tree, rng: &mut Random) -> Slots {
        let mut sizes = targets.sizes.count.clone();
        let mut depth_left = targets.depth_count();
        let depths = tree.depths();
        let depth_bin = targets.depth_bins();
        rng.shuffle(&mut live);
        let mut slots = Vec::with_capacity(targets.files() as usize);
        let mut doomed = Vec::new();
        for file in live {
            let size = &mut sizes[targets.sizes.bin_of(file.size)];
            let depth = depth_bin.get(depths[file.dir.0 as usize] as usize).copied().flatten();
            match depth {
                Some(bin) if *size > 0 && depth_left[bin] > 0 => {
                    *size -= 1;
                    depth_left[bin] -= 1;
                    slots.push(file);
                }
                _ => doomed.push(file),
            }
        }
        let kept = slots.len();
        for (bin, &n) in sizes.iter().enumerate() {
            let empty = |size| LiveFile { file: NO_FILE, dir: DirId(0), size, born: 0 };
            slots.extend(targets.sizes.of_bin(bin, n).map(empty));
        }
        rng.shuffle(&mut slots[kept..]);
        let mut next = kept;
        for (bin, &n) in depth_left.iter().enumerate() {
            for slot in &mut slots[next..next + n as usize] {
                slot.dir = tree.pick(targets.depth.depth[bin] as usize, rng);
            }
            next += n as usize;
        }
        Slots { slots, kept, doomed }
    }
}

/// Spare slots have the sizes and directories of random slots, but sizes are limited so that all spare slots
/// together cannot exceed an eighth of the live bytes.
fn add_spares(slots: &mut Vec<LiveFile>, mean_blocks: f64, rng: &mut Random) {
    let files = slots.len();
    let spares = files.div_ceil(SLOTS_A_SPARE);
    let most = (mean_blocks * SLOTS_A_SPARE as f64 / 8.0).ceil() as u64;
    for _ in 0..spares {
        let mut size = u64::MAX;
        for _ in 0..SLOTS_A_SPARE {
            size = size.min(slots[rng.below(files)].size);
            if blocks(size) <= most {
                break;
            }
        }
        let dir = slots[rng.below(files)].dir;
        slots.push(LiveFile { file: NO_FILE, dir, size, born: 0 });
    }
}

/// The search for the least number of operations.
struct Search<'a> {
    targets: &'a Targets,
    rhythm: Rhythm,
    /// Birth times of the files that keep their place, sorted.
    births_kept: &'a [u64],
}

impl Search<'_> {
    /// Files of earlier segments in each window.
    fn inherited(&self, calendar: &Calendar) -> Vec<u64> {
        let before = |time: u64| self.births_kept.partition_point(|&b| b < time) as u64;
        (0..calendar.bins())
            .map(|b| {
                let (from, to) = calendar.window(b);
                before(to) - before(from)
            })
            .collect()
    }

    /// The least total with a creation or an inherited file for every file of every age bin.
    fn least_total(&self) -> u64 {
        let fresh = self.rhythm.past == 0;
        let steady = self.rhythm.steady();
        let bound = self.targets.bound_operations();
        let start = if fresh { bound.saturating_sub(steady).div_ceil(2) } else { 0 };
        let most = if fresh { (start as f64 * SEARCH) as u64 } else { steady + bound };
        let mut step = 1;
        let mut low = start;
        let mut high = start;
        while !self.suffices(high) {
            if high >= most {
                return steady + 2 * if fresh { start } else { most };
            }
            low = high;
            high = (start + step).min(most);
            step *= 2;
        }
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if self.suffices(middle) { high = middle } else { low = middle }
        }
        steady + 2 * high
    }

    fn suffices(&self, pairs: u64) -> bool {
        let calendar = Calendar::new(&self.targets.age, self.rhythm.steady() + 2 * pairs);
        let births = self.rhythm.births(&calendar);
        let inherited = self.inherited(&calendar);
        let files = self.targets.files() as f64;
        (0..calendar.bins())
            .all(|b| births[b] + inherited[b] >= (self.targets.age_share[b] * files + 1e-9).floor() as u64)
    }
}

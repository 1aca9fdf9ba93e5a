//! The free space after aging by a profile: the free extents, and the fragments of a new file (Kadekodi et al. 2017, Figures 2 and 3). For
//! the comparison with natural aging, a synthetic workload ages a file system, and another one is aged to the profile captured of it.

use super::{Aging, By, Rounds, Run};
use disk::Extent;
use fs::Target;
use profile::AgeBy;
use results::measures;
use results::{Measurement, Watch};
use run::Error;
use run::checkpoint::ONLY;
use run::verify::distance;
use std::collections::BTreeMap;
use workload::synthetic::{SyntheticOptions, SyntheticWorkload};

/// The sides: freshly made, aged by the synthetic workload, and aged by the profile.
pub(super) const SIDES: [&str; 3] = ["fresh", "real", "aged"];

/// The free space of a side.
struct Free {
    /// Lengths of the free extents.
    lengths: Vec<u64>,
    /// Number of fragments of a new file, by size.
    fragments: BTreeMap<u64, u64>,
}

/// A naturally aged file system.
struct Nature {
    profile: profile::Profile,
    fullness: f64,
    free: Free,
}

impl Run<'_, '_> {
    /// The free space of a fresh file system, of one aged to the profile and, if that is the profile of a naturally aged one, of the original.
    pub(super) fn free_space(&mut self) -> Result<Rounds, Error> {
        let (task, size_bytes, seed) = (self.task, self.at.scale.size_bytes, self.at.cell.seed);
        let mut empty = self.fresh(SIDES[0], None)?;
        let fresh = self.free(empty.as_mut())?;
        empty.close()?;
        self.discard(SIDES[0])?;

        let (profile, fullness, real) = if task.profile == super::NATURE {
            let Nature { profile, fullness, free } = self.nature()?;
            (profile, fullness, Some(free))
        } else {
            (profile::load(&task.profile)?, task.fullness, None)
        };
        let conditions = task.conditions(profile, size_bytes, fullness, seed);
        let mut aging = Aging::begin(&conditions)?;
        let mut target = self.fresh(SIDES[2], Some(aging.inodes))?;
        let name = &self.at.identity.name;
        self.at.watch.phase(&format!("{name}: aging with the profile {}", task.profile), None);
        aging.advance(target.as_ref(), 100, self.at.watch)?;
        let aged = self.free(target.as_mut())?;
        target.close()?;
        self.discard(SIDES[2])?;
        Ok(found(&self.at.scale.rounds, task.by, &fresh, real.as_ref(), &aged))
    }

    /// Ages a file system by the synthetic workload, and captures its profile.
    fn nature(&mut self) -> Result<Nature, Error> {
        let (task, size_bytes) = (self.task, self.at.scale.size_bytes);
        let mut real = self.fresh(SIDES[1], None)?;
        let options = SyntheticOptions {
            size_bytes,
            days: task.days,
            concurrency: 5,
            intervals: 120,
            fullness: task.fullness,
            seed: self.at.cell.seed,
        };
        work(real.as_mut(), &options, self.at.watch)?;
        let profile = profile::capture(real.root(), super::NATURE, AgeBy::Birth, 1)?.profile;
        let fullness = probe::census(real.root())?.allocated_bytes as f64 / size_bytes as f64;
        let free = self.free(real.as_mut())?;
        real.close()?;
        self.discard(SIDES[1])?;
        Ok(Nature { profile, fullness, free })
    }

    /// Measures the free space, and the fragments of a new file of each size, one file at a time.
    fn free(&self, target: &mut dyn Target) -> Result<Free, Error> {
        target.sync()?;
        let extents: Vec<Extent> = target
            .free_extents()?
            .ok_or_else(|| Error::Refused(format!("{} does not report free extents", self.at.cell.fs)))?;
        let mut fragments = BTreeMap::new();
        if self.task.by == By::NewFile {
            for &bytes in &self.at.scale.rounds {
                fragments.insert(bytes, probe::new_file(target.root(), bytes)?.fragments);
                // Freed blocks are reused only after the deletion is on disk.
                target.sync()?;
            }
        }
        Ok(Free { lengths: extents.iter().map(|extent| extent.len_bytes).collect(), fragments })
    }
}

/// Runs a synthetic workload, which fills a file system and changes it.
fn work(target: &mut dyn Target, options: &SyntheticOptions, watch: &mut dyn Watch) -> Result<(), Error> {
    let mut workload = SyntheticWorkload::new(target.root(), *options);
    watch.phase("the real file system", Some((options.days + 1) * 100));
    for day in 0..=options.days {
        workload.run_day(&mut |done, of| watch.at(day * 100 + done * 100 / of.max(1)))?;
    }
    drop(workload);
    Ok(target.sync()?)
}

impl Free {
    fn total(&self) -> f64 {
        self.lengths.iter().sum::<u64>() as f64
    }

    fn mean(&self) -> f64 {
        self.total() / self.lengths.len().max(1) as f64
    }

    fn largest(&self) -> f64 {
        self.lengths.iter().max().copied().unwrap_or(0) as f64
    }

    /// The logarithms of the lengths, each with its weight.
    fn doublings(&self) -> Vec<(f64, f64)> {
        self.lengths.iter().map(|&len| ((len as f64).log2(), 1.0)).collect()
    }

    /// The measurements that are the same for every round.
    fn whole(&self, side: &str) -> [Measurement; 5] {
        let least = self.lengths.iter().min().copied().unwrap_or(0) as f64;
        [
            measures::FREE_LEAST_BYTES.once(side, least),
            measures::FREE_MEAN_BYTES.once(side, self.mean()),
            measures::FREE_LARGEST_BYTES.once(side, self.largest()),
            measures::FREE_LARGEST_SHARE.once(side, self.largest() / self.total().max(1.0)),
            measures::FREE_EXTENTS.once(side, self.lengths.len() as f64),
        ]
    }
}

fn found(rounds: &[u64], by: By, fresh: &Free, real: Option<&Free>, aged: &Free) -> Rounds {
    let sides = || SIDES.into_iter().zip([Some(fresh), real, Some(aged)]);
    let of = |&round: &u64| {
        let mut numbers = Vec::new();
        for (side, free) in sides().filter_map(|(side, free)| Some((side, free?))) {
            numbers.extend(free.whole(side));
            if by == By::FreeExtent {
                let class: Vec<u64> =
                    free.lengths.iter().copied().filter(|len| (round..2 * round).contains(len)).collect();
                let (count, bytes) = (class.len() as f64, class.iter().sum::<u64>() as f64);
                let of_all = count / free.lengths.len().max(1) as f64;
                numbers.push(measures::FREE_EXTENT_SHARE.once(side, of_all));
                numbers.push(measures::FREE_BYTE_SHARE.once(side, bytes / free.total().max(1.0)));
            }
            if let Some(&fragments) = free.fragments.get(&round) {
                let per_mib = fragments as f64 / (round as f64 / (1_u64 << 20) as f64);
                numbers.push(measures::NEW_FILE_FRAGMENTS.once(side, fragments as f64));
                numbers.push(measures::NEW_FILE_FRAGMENTS_PER_MIB.once(side, per_mib));
            }
        }
        if let Some(real) = real {
            numbers.extend(compared(real, aged, round));
        }
        (round, numbers)
    };
    rounds.iter().map(of).collect()
}

/// How the aged side differs from the original.
fn compared(real: &Free, aged: &Free, round: u64) -> Vec<Measurement> {
    let apart = distance::earth_mover(&real.doublings(), &aged.doublings());
    let mut numbers = vec![
        measures::FREE_MEAN_DIFFERENCE_BYTES.once(ONLY, aged.mean() - real.mean()),
        measures::FREE_LARGEST_DIFFERENCE_BYTES.once(ONLY, aged.largest() - real.largest()),
        measures::FREE_EXTENT_DOUBLINGS_APART.once(ONLY, apart),
    ];
    if let Some((&aged, &real)) = aged.fragments.get(&round).zip(real.fragments.get(&round)) {
        let over = aged as f64 / real as f64;
        numbers.push(measures::NEW_FILE_FRAGMENTS_OVER_REAL.once(ONLY, over));
    }
    numbers
}

//! Properties of the profile-driven agers, checked on the operations that they produce.

use profile::Profile;
use senesce_workload::{AgingStats, Conditions, Method, Segment, begin, resume};
use std::collections::HashMap;
use trace::{DirId, FileId, Op, ROOT};

const GIB: u64 = 1 << 30;

/// A file system model that checks every operation and records the live files.
#[derive(Default)]
struct Model {
    live: HashMap<FileId, (DirId, u64, u64)>,
    depth: HashMap<DirId, u32>,
    creations: u64,
    deletions: u64,
    created_blocks: u64,
}

impl Model {
    fn new() -> Model {
        Model { depth: HashMap::from([(ROOT, 0)]), ..Model::default() }
    }

    fn apply(&mut self, batch: &[Op]) {
        for op in batch {
            match *op {
                Op::Mkdir { dir, parent } => {
                    let depth = self.depth[&parent] + 1;
                    assert!(self.depth.insert(dir, depth).is_none(), "{op}");
                }
                Op::Create { file, parent, size, .. } => {
                    assert!(self.depth.contains_key(&parent), "{op}");
                    self.creations += 1;
                    self.created_blocks += size.div_ceil(senesce_workload::BLOCK_BYTES);
                    let born = self.creations + self.deletions;
                    assert!(self.live.insert(file, (parent, size, born)).is_none(), "{op}");
                }
                Op::Delete { file, parent } => {
                    self.deletions += 1;
                    assert_eq!(self.live.remove(&file).expect("deleted files are live").0, parent, "{op}");
                }
                ref other => panic!("unexpected operation {other}"),
            }
        }
    }

    fn operations(&self) -> u64 {
        self.creations + self.deletions
    }

    fn overwrites(&self, capacity: u64) -> f64 {
        (self.created_blocks * senesce_workload::BLOCK_BYTES) as f64 / capacity as f64
    }

    fn fullness(&self, capacity: u64) -> f64 {
        let blocks: u64 = self.live.values().map(|f| f.1.div_ceil(senesce_workload::BLOCK_BYTES)).sum();
        (blocks * senesce_workload::BLOCK_BYTES) as f64 / capacity as f64
    }

    /// Root mean square of reached minus target share over the age bins, by the definition of relative age in
    /// DESIGN §3.
    fn age_error(&self, profile: &Profile) -> f64 {
        let edges = &profile.age.upper;
        let oldest = edges.last().unwrap();
        let mut count = vec![0.0; edges.len()];
        for &(_, _, born) in self.live.values() {
            let age = (self.operations() - born) as f64 / self.operations() as f64;
            count[edges.iter().position(|e| age <= e / oldest).unwrap()] += 1.0;
        }
        rms(&count, &profile.age.weight)
    }

    fn size_error(&self, profile: &Profile) -> f64 {
        let mut count = vec![0.0; profile.size.upper_bytes.len()];
        for &(_, size, _) in self.live.values() {
            count[profile.size.upper_bytes.iter().position(|&e| size <= e).unwrap()] += 1.0;
        }
        rms(&count, &profile.size.weight)
    }

    fn depth_error(&self, profile: &Profile) -> f64 {
        let mut count = vec![0.0; profile.depth.depth.len()];
        for (dir, _, _) in self.live.values() {
            count[profile.depth.depth.iter().position(|d| *d == self.depth[dir]).unwrap()] += 1.0;
        }
        rms(&count, &profile.depth.weight)
    }
}

fn rms(count: &[f64], weight: &[f64]) -> f64 {
    let (files, total) = (count.iter().sum::<f64>(), weight.iter().sum::<f64>());
    let squares: f64 = count.iter().zip(weight).map(|(c, w)| (c / files - w / total).powi(2)).sum();
    (squares / count.len() as f64).sqrt()
}

fn conditions(name: &str, capacity_bytes: u64, seed: u64) -> Conditions {
    Conditions {
        method: Method::Planned,
        profile: profile::load(name).unwrap(),
        capacity_bytes,
        fullness: 0.8,
        seed,
        overwrites: None,
        churn: None,
    }
}

fn run(conditions: &Conditions) -> (Model, AgingStats, senesce_workload::Plan) {
    let mut planner = begin(conditions).unwrap();
    let mut model = Model::new();
    let mut batch = Vec::new();
    loop {
        planner.next_batch(&mut batch).unwrap();
        if batch.is_empty() {
            return (model, planner.stats(), planner.plan().clone());
        }
        assert!(batch.len() <= trace::BATCH);
        model.apply(&batch);
    }
}

#[test]
fn planned_meets_the_bound_exactly_for_every_profile() {
    for name in profile::builtin() {
        for (capacity, seed) in [(GIB / 4, 1), (2 * GIB, 42)] {
            // Three thousand operations per file are tested only at the smaller capacity.
            if name == "douceur" && capacity > GIB {
                continue;
            }
            let conditions = conditions(name, capacity, seed);
            let (model, reached, plan) = run(&conditions);
            let files = model.live.len() as f64;
            let what = format!("{name}, {capacity} bytes, {files} files");
            let share = |a: u64, b: u64| a as f64 / b as f64;

            assert_eq!(reached.operations, model.operations(), "{what}");
            assert_eq!(reached.live_files, model.live.len() as u64, "{what}");
            assert!((reached.age.rms_error() - model.age_error(&conditions.profile)).abs() < 1e-12, "{what}");
            assert!((reached.overwrites - model.overwrites(capacity)).abs() < 1e-9, "{what}");

            let age = model.age_error(&conditions.profile);
            assert!(age <= f64::max(1e-4, 0.5 / files), "{what}: age error {age}");
            assert!(plan.age_rms_error.unwrap() <= f64::max(1e-4, 0.5 / files), "{what}");
            assert!(model.depth_error(&conditions.profile) <= 0.5 / files + 1e-9, "{what}");
            if plan.omitted_bins.is_empty() {
                assert!(model.size_error(&conditions.profile) <= 0.5 / files + 1e-9, "{what}");
            }
            let operations = share(model.operations(), plan.bound_operations);
            assert!(operations <= 1.05, "{what}: {operations} of the bound");
            let overwrites = model.overwrites(capacity) / plan.bound_overwrites;
            assert!((0.95..1.05).contains(&overwrites), "{what}: {overwrites} of the bound in overwrites");
            assert!((model.fullness(capacity) - 0.8).abs() < 2e-3, "{what}: fullness");
            assert!(reached.p_value() > 0.99, "{what}: p {}", reached.p_value());
        }
    }
}

#[test]
fn overwrites_match_request() {
    for (name, overwrites) in
        [("agrawal", 2.0), ("agrawal", 60.0), ("dabre", 10.0), ("meyer", 0.8), ("pramod", 1.7)]
    {
        let conditions = Conditions { overwrites: Some(overwrites), ..conditions(name, GIB, 7) };
        let (model, reached, plan) = run(&conditions);
        let reached_overwrites = model.overwrites(GIB);
        assert!(
            (reached_overwrites / overwrites - 1.0).abs() < 0.05,
            "{name}: {reached_overwrites} of {overwrites}"
        );
        let told = plan.age_rms_error.unwrap();
        assert!((told - reached.age.rms_error()).abs() < 1e-9, "{name}: the plan predicted {told}");
        let files = model.live.len() as f64;
        if overwrites > plan.bound_overwrites * 1.05 {
            assert!(reached.age.rms_error() <= 0.5 / files, "{name}");
        } else if overwrites < plan.bound_overwrites * 0.95 {
            assert!(reached.age.rms_error() > 0.5 / files, "{name}");
        }
    }
}

#[test]
fn fewer_overwrites_than_filling_are_rejected() {
    for method in [Method::Planned, Method::Greedy] {
        let conditions = Conditions { method, overwrites: Some(0.5), ..conditions("agrawal", GIB, 7) };
        assert!(begin(&conditions).err().unwrap().to_string().contains("less than the filling"));
    }
    for fullness in [0.0, -1.0, 0.99, f64::NAN] {
        let conditions = Conditions { fullness, ..conditions("agrawal", GIB, 7) };
        assert!(begin(&conditions).err().unwrap().to_string().contains("fullness"));
    }
    assert!(begin(&conditions("agrawal", 0, 7)).is_err());
}

#[test]
fn operations_depend_only_on_seed() {
    let operations = |seed| {
        let mut planner = begin(&conditions("wang_os", GIB / 8, seed)).unwrap();
        let mut all = Vec::new();
        let mut batch = Vec::new();
        loop {
            planner.next_batch(&mut batch).unwrap();
            if batch.is_empty() {
                return all;
            }
            all.extend_from_slice(&batch);
        }
    };
    assert!(operations(3) == operations(3));
    assert!(operations(3) != operations(4));
}

#[test]
fn continues_under_changed_conditions() {
    let first = conditions("agrawal", GIB, 5);
    for (done, changed) in [
        (u64::MAX, Conditions { overwrites: Some(50.0), ..first.clone() }),
        (u64::MAX, Conditions { fullness: 0.5, ..first.clone() }),
        (100_001, Conditions { fullness: 0.9, ..first.clone() }),
        (u64::MAX, conditions("dabre", GIB, 6)),
        (50, conditions("meyer", GIB, 6)),
    ] {
        let mut model = Model::new();
        let mut batch = Vec::new();
        let mut planner = begin(&first).unwrap();
        let mut left = done;
        while left > 0 {
            planner.advance(left.min(trace::BATCH as u64) as usize, &mut batch);
            if batch.is_empty() {
                break;
            }
            model.apply(&batch);
            left -= batch.len() as u64;
        }
        let segment = Segment { conditions: first.clone(), done: done - left };
        let mut planner = resume(&[segment], &changed).unwrap();
        loop {
            planner.next_batch(&mut batch).unwrap();
            if batch.is_empty() {
                break;
            }
            model.apply(&batch);
        }
        let what = format!("{done}, {}, {}", changed.profile.name, changed.fullness);
        let files = model.live.len() as f64;
        let age = model.age_error(&changed.profile);
        assert!(age <= f64::max(1e-4, 0.5 / files), "{what}: age error {age}");
        assert!(
            (model.fullness(GIB) / changed.fullness - 1.0).abs() < 0.03,
            "{what}: {}",
            model.fullness(GIB)
        );
        assert!(model.depth_error(&changed.profile) <= 0.5 / files + 1e-9, "{what}");
        if let Some(overwrites) = changed.overwrites {
            assert!((model.overwrites(GIB) / overwrites - 1.0).abs() < 0.05, "{what}");
        }
        assert_eq!(model.operations(), planner.stats().operations, "{what}");
    }
}

#[test]
fn greedy_fits_the_ages() {
    for (name, seed) in
        [("agrawal", 1), ("meyer", 2), ("wang_os", 3), ("wang_lanl", 4), ("dabre", 5), ("pramod", 6)]
    {
        let conditions = Conditions { method: Method::Greedy, ..conditions(name, GIB, seed) };
        let (model, reached, plan) = run(&conditions);
        let files = model.live.len() as f64;
        assert_eq!([reached.operations, plan.operations], [model.operations(); 2], "{name}");
        let (files_reached, wanted) = (reached.live_files, plan.live_files);
        assert!(
            files_reached.abs_diff(wanted) <= (wanted / 1000).max(2),
            "{name}: {files_reached} files, {wanted} wanted"
        );
        let profile = &conditions.profile;
        let errors = [model.age_error(profile), model.size_error(profile), model.depth_error(profile)];
        assert!(
            errors.iter().all(|error| *error < f64::max(1e-3, 4.0 / files)),
            "{name}: {errors:?}, {files} files"
        );
        assert!((model.fullness(GIB) / conditions.fullness - 1.0).abs() < 0.0051, "{name}");
    }
}

#[test]
fn greedy_keeps_to_the_fullness() {
    for name in ["agrawal", "meyer", "wang_os", "wang_lanl", "dabre", "pramod"] {
        for (capacity, fullness) in [(GIB / 4, 0.7), (GIB / 2, 0.8)] {
            // Enough to leave the filling behind, less than the profile needs.
            let overwrites = Some(3.0);
            let conditions =
                Conditions { method: Method::Greedy, fullness, overwrites, ..conditions(name, capacity, 42) };
            let (model, ..) = run(&conditions);
            let reached = model.fullness(capacity);
            assert!((reached / fullness - 1.0).abs() < 0.01, "{name}, {fullness}: {reached}");
            assert!(model.overwrites(capacity) < 3.2, "{name}, {fullness}");
        }
    }
}

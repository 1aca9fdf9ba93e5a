//! Changes within live files, checked on the operations of both planners.

use senesce_workload::{BLOCK_BYTES, Churn, Conditions, Method, Planner, Segment, begin, resume};
use std::collections::HashMap;
use trace::{FileId, Op};

const CHURN: Churn = Churn { overwrite: 0.2, punch: 0.1 };

fn conditions(method: Method, churn: Option<Churn>) -> Conditions {
    Conditions {
        method,
        profile: profile::load("agrawal").unwrap(),
        capacity_bytes: 128 << 20,
        fullness: 0.7,
        seed: 3,
        overwrites: Some(3.0),
        churn,
    }
}

/// The remaining operations of a planner, at most `most` at a time.
fn rest(planner: &mut dyn Planner, most: usize) -> Vec<Op> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        planner.advance(most, &mut batch);
        if batch.is_empty() {
            return all;
        }
        assert!(batch.len() <= most);
        all.extend_from_slice(&batch);
    }
}

/// All operations, at most `most` at a time.
fn operations(conditions: &Conditions, most: usize) -> Vec<Op> {
    let mut planner = begin(conditions).unwrap();
    let expected = planner.remaining();
    let all = rest(&mut *planner, most);
    // The published method plans more operations than requested overwrites allow.
    assert!(conditions.method == Method::Greedy || expected == Some(all.len() as u64));
    all
}

fn is_change(op: &Op) -> bool {
    matches!(op, Op::Write { .. } | Op::Punch { .. })
}

#[test]
fn only_changes_are_added() {
    for method in [Method::Planned, Method::Greedy] {
        let plain = operations(&conditions(method, None), 4096);
        let churned = operations(&conditions(method, Some(CHURN)), 4096);
        let others: Vec<Op> = churned.iter().filter(|op| !is_change(op)).copied().collect();
        assert!(plain == others, "{method:?}");
        let files = plain.iter().filter(|op| !matches!(op, Op::Mkdir { .. })).count() as f64;
        let count = |is: fn(&Op) -> bool| churned.iter().filter(|op| is(op)).count() as f64;
        let (writes, holes) =
            (count(|op| matches!(op, Op::Write { .. })), count(|op| matches!(op, Op::Punch { .. })));
        for (changes, share) in [(writes, CHURN.overwrite), (holes, CHURN.punch)] {
            assert!((changes / (files + writes + holes) - share).abs() < 1e-3, "{method:?}: {changes}");
        }
    }
}

#[test]
fn changes_are_within_live_files() {
    let mut live: HashMap<FileId, u64> = HashMap::new();
    let mut bytes = [0; 2];
    let conditions = conditions(Method::Planned, Some(CHURN));
    let mut planner = begin(&conditions).unwrap();
    let all = rest(&mut *planner, 1000);
    for op in &all {
        match *op {
            Op::Create { file, size, .. } => drop(live.insert(file, size)),
            Op::Delete { file, .. } => drop(live.remove(&file).unwrap()),
            Op::Write { file, offset, len, .. } => {
                assert!(len > 0 && offset + len <= live[&file] && offset % BLOCK_BYTES == 0, "{op}");
                bytes[0] += len;
            }
            Op::Punch { file, offset, len, .. } => {
                let end = live[&file].next_multiple_of(BLOCK_BYTES);
                assert!(len > 0 && offset + len <= end && (offset | len) % BLOCK_BYTES == 0, "{op}");
                bytes[1] += len;
            }
            _ => {}
        }
    }
    let stats = planner.stats().churn.unwrap();
    assert_eq!([stats.overwritten_bytes, stats.punched_bytes], bytes);
    assert!(stats.overwrites + stats.punches < all.len() as u64);
}

#[test]
fn operations_do_not_depend_on_the_size_of_batches() {
    for method in [Method::Planned, Method::Greedy] {
        let conditions = conditions(method, Some(CHURN));
        assert!(operations(&conditions, 4096) == operations(&conditions, 7), "{method:?}");
    }
}

#[test]
fn churn_continues_after_a_segment() {
    let first = conditions(Method::Planned, Some(CHURN));
    let all = operations(&first, 4096);
    let segment = Segment { conditions: first.clone(), done: all.len() as u64 / 2 };
    let second =
        Conditions { overwrites: Some(5.0), churn: Some(Churn { overwrite: 0.5, punch: 0.0 }), ..first };
    let mut planner = resume(std::slice::from_ref(&segment), &second).unwrap();
    let before = planner.stats().churn.unwrap();
    assert!(before.punches > 0, "the first segment counts");
    let second = rest(&mut *planner, 4096);
    let overwrites =
        before.overwrites + second.iter().filter(|op| matches!(op, Op::Write { .. })).count() as u64;
    let after = planner.stats().churn.unwrap();
    assert_eq!((after.punches, after.overwrites), (before.punches, overwrites));
}

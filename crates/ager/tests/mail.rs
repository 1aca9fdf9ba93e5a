//! The mail server: its operations are possible, and agree with what a real one leaves on disk.

use senesce_ager::mail::{Event, Extracted, Parameters, Plan};
use std::collections::{BTreeMap, HashMap};
use trace::{Checked, DirId, FileId, Op, Source};

fn small() -> Parameters {
    Parameters { users: 2, mailboxes: 3, messages: 20, operations: 120, days: 3, ..Parameters::default() }
}

/// The sizes of messages, sorted, of each mailbox of each user.
type Sizes = BTreeMap<(u32, u32), Vec<u64>>;

/// What the plan says is there at the end of each day.
fn planned(plan: &Plan) -> Vec<Sizes> {
    let mut there: BTreeMap<(u32, u32), HashMap<u32, u64>> = BTreeMap::new();
    let mut days = Vec::new();
    for event in plan.script() {
        match event {
            Event::Create { user, mailbox } => drop(there.insert((user, mailbox), HashMap::new())),
            Event::Insert { user, mailbox, uid, size_bytes } => {
                there.get_mut(&(user, mailbox)).unwrap().insert(uid, size_bytes.into());
            }
            Event::Delete { user, mailbox, uid } => {
                there.get_mut(&(user, mailbox)).unwrap().remove(&uid).unwrap();
            }
            Event::DayEnds { .. } => {
                days.push(there.iter().map(|(&at, uids)| (at, sorted(uids.values().copied()))).collect());
            }
        }
    }
    days
}

fn sorted(sizes: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut sizes: Vec<u64> = sizes.collect();
    sizes.sort_unstable();
    sizes
}

fn operations(plan: &Plan) -> Vec<Op> {
    let mut source = Checked::new(Extracted::new(plan));
    let mut batch = Vec::new();
    let mut all = Vec::new();
    loop {
        source.next_batch(&mut batch).expect("every operation can be done");
        if batch.is_empty() {
            return all;
        }
        all.extend_from_slice(&batch);
    }
}

/// What lies in `cur` and `new` of each mailbox at each checkpoint of a trace.
fn extracted(ops: &[Op], parameters: &Parameters) -> Vec<Sizes> {
    // The directories of a user are: the user's own, three of the inbox, and four of each mailbox.
    let mailbox_of = |dir: DirId| {
        let per_user = 4 + 4 * parameters.mailboxes;
        let (user, within) = ((dir.0 - 1) / per_user, (dir.0 - 1) % per_user);
        match within.checked_sub(4) {
            Some(nth) if matches!(nth % 4, 1 | 2) => Some((user, nth / 4)),
            _ => None,
        }
    };
    let mut files: HashMap<FileId, (DirId, u64)> = HashMap::new();
    let mut days = Vec::new();
    for op in ops {
        match *op {
            Op::Create { file, parent, size, .. } => drop(files.insert(file, (parent, size))),
            Op::Rename { file, to_file, to_parent, .. } => {
                let (_, size) = files.remove(&file).unwrap();
                files.insert(to_file, (to_parent, size));
            }
            Op::Delete { file, .. } => drop(files.remove(&file)),
            Op::Checkpoint { number } => {
                assert_eq!(number, days.len() as u64);
                let mut sizes: Sizes = (0..parameters.users)
                    .flat_map(|user| (0..parameters.mailboxes).map(move |mailbox| ((user, mailbox), vec![])))
                    .collect();
                for &(parent, size) in files.values() {
                    if let Some(at) = mailbox_of(parent) {
                        sizes.get_mut(&at).unwrap().push(size);
                    }
                }
                sizes.values_mut().for_each(|sizes| sizes.sort_unstable());
                days.push(sizes);
            }
            _ => {}
        }
    }
    days
}

#[test]
fn extracted_leaves_what_was_planned_after_every_day() {
    for parameters in
        [small(), Parameters { insert_share: 0.1, ..small() }, Parameters { messages: 0, ..small() }]
    {
        let plan = Plan::new(parameters, 42).unwrap();
        let days = extracted(&operations(&plan), &parameters);
        assert_eq!(days.len(), 4);
        assert_eq!(days, planned(&plan));
    }
}

#[test]
fn every_message_is_forced_to_disk_and_logs_are_rotated() {
    let parameters =
        Parameters { users: 1, mailboxes: 2, messages: 300, operations: 2000, days: 4, ..small() };
    let plan = Plan::new(parameters, 1).unwrap();
    let ops = operations(&plan);
    let count = |kind: &str| ops.iter().filter(|op| Op::KINDS[op.kind()] == kind).count() as u64;
    assert_eq!(count("mkdir"), 4 + 2 * 4);
    assert_eq!(count("checkpoint"), 5);
    assert!(count("fsync") > 3 * 600);
    assert!(count("link") > 8, "each log is set aside on a later day, the list's oftener");
    let inserts = plan.script().filter(|event| matches!(event, Event::Insert { .. })).count() as u64;
    let messages =
        ops.iter().filter(|op| matches!(op, Op::Create { parent: DirId(8 | 12), .. })).count() as u64;
    assert_eq!(messages, inserts, "each is written in tmp, once");
}

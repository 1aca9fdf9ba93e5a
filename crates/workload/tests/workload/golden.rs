//! Digests of the operations of every workload, to detect unintended changes. A new digest means that a seed
//! gives users another trace; `UPDATE_EXPECT=1` writes the new digests.

use std::path::Path;

use expect_test::expect_file;
use senesce_workload::git::{self, ExtractOptions, Order, sample};
use senesce_workload::micro::{Interfile, Intrafile, Shape};
use senesce_workload::snapshots::{self, Options};
use senesce_workload::{Conditions, Method, begin, mail};
use trace::{Op, Source, TraceDigest};

use crate::snapshots::history::three_days;

const SEED: u64 = 42;

/// The digests of one kind of workload, one per line, compared with a file.
struct Golden {
    file: &'static str,
    lines: String,
}

impl Golden {
    fn new(file: &'static str) -> Golden {
        Golden { file, lines: String::new() }
    }

    fn add(&mut self, what: &str, mut source: impl FnMut(&mut Vec<Op>)) {
        let (mut digest, mut operations, mut batch) = (TraceDigest::new(), 0, Vec::new());
        loop {
            source(&mut batch);
            if batch.is_empty() {
                break;
            }
            operations += batch.len();
            digest.update(&batch);
        }
        self.lines += &format!("{what} {operations} {}\n", digest.finish());
    }

    fn check(self) {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/traces").join(self.file);
        expect_file![golden].assert_eq(&self.lines);
    }
}

/// Returns these operations in one batch.
fn once(mut ops: Vec<Op>) -> impl FnMut(&mut Vec<Op>) {
    move |batch| *batch = std::mem::take(&mut ops)
}

fn all(mut source: impl Source) -> impl FnMut(&mut Vec<Op>) {
    move |batch| source.next_batch(batch).expect("every operation is valid")
}

#[test]
fn profiles() {
    let mut golden = Golden::new("profiles.txt");
    for method in [Method::Planned, Method::Greedy] {
        for name in profile::builtin() {
            let conditions = Conditions {
                method,
                profile: profile::load(name).unwrap(),
                capacity_bytes: 64 << 20,
                fullness: 0.6,
                seed: SEED,
                overwrites: Some(2.0),
                churn: None,
            };
            let mut planner = begin(&conditions).unwrap();
            golden.add(&format!("{method:?} {name}"), |batch| planner.next_batch(batch).unwrap());
        }
    }
    golden.check();
}

#[test]
fn git() {
    let repository = testing::dir_in_memory();
    sample::make(repository.path(), 40, SEED).unwrap();
    let mut golden = Golden::new("git.txt");
    for (name, order) in [("first-parent", Order::FirstParent), ("full", Order::Full)] {
        let history = git::History::open(repository.path(), order).unwrap();
        for objects in [false, true] {
            let options = ExtractOptions { every: 10, objects, ..ExtractOptions::default() };
            let extracted = git::Extracted::new(&history, options).unwrap();
            golden.add(&format!("{name} objects={objects}"), all(extracted));
        }
    }
    golden.check();
}

#[test]
fn mail() {
    let parameters = mail::Parameters {
        users: 2,
        mailboxes: 3,
        messages: 40,
        operations: 200,
        days: 5,
        ..mail::Parameters::default()
    };
    let plan = mail::Plan::new(parameters, SEED).unwrap();
    let mut golden = Golden::new("mail.txt");
    golden.add("maildir", all(mail::Extracted::new(&plan)));
    golden.check();
}

#[test]
fn micro() {
    let mut golden = Golden::new("micro.txt");
    let shape = Shape::sample(500, SEED);
    let interfile = Interfile { seed: SEED, ..Interfile::default() };
    for round in [0, 20, 100] {
        let intrafile = Intrafile::default().round(round).unwrap();
        golden.add(&format!("intrafile {round}"), once(intrafile));
        golden.add(&format!("interfile {round}"), once(interfile.round(&shape, round).unwrap()));
    }
    golden.check();
}

#[test]
fn snapshots() {
    let snapshots = three_days();
    let mut golden = Golden::new("snapshots.txt");
    for (name, options) in
        [("full-metadata", Options::full_metadata(SEED)), ("published", Options::published(SEED))]
    {
        let workload = snapshots::Extracted::new(Box::new(snapshots.clone()), options).unwrap();
        golden.add(name, all(workload));
    }
    golden.check();
}

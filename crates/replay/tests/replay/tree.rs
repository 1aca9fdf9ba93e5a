//! The tree created by a replay depends only on the trace.

use crate::common::{creates, dir, replay, traces, tree};
use proptest::prelude::*;
use senesce_replay::{Data, Flow, OnFull, Options, Outcome, Replay, StopReason, verify};
use trace::{DirId, FileId, Op, ROOT};

fn options(threads: usize) -> Options {
    Options { threads, seed: 7, data: Data::Write, ..Options::default() }
}

/// The operation with all offsets and lengths rounded down to multiples of 8.
fn in_words(mut op: Op) -> Op {
    match &mut op {
        Op::Create { size, .. } | Op::Truncate { size, .. } => *size -= *size % 8,
        Op::Append { len, .. } => *len -= *len % 8,
        Op::Write { offset, len, .. } | Op::Punch { offset, len, .. } => {
            *offset -= *offset % 8;
            *len -= *len % 8;
        }
        _ => {}
    }
    op
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn tree_is_independent_of_threads(ops in traces(400)) {
        let alone = dir();
        let (outcome, first) = replay(alone.path(), &options(1), &ops);
        prop_assert_eq!(outcome, Outcome { operations: ops.len() as u64, stop_reason: StopReason::EndOfSource });
        prop_assert_eq!(first.failures(), &[]);
        for threads in [2, 8] {
            let shared = dir();
            let (outcome, replay) = replay(shared.path(), &options(threads), &ops);
            prop_assert_eq!(outcome.operations, ops.len() as u64);
            prop_assert_eq!(replay.failures(), &[]);
            prop_assert_eq!(tree(alone.path()), tree(shared.path()));
        }
    }

    #[test]
    fn data_written_under_one_name_verifies(ops in traces(300)) {
        let root = dir();
        let named_once = |op: &Op| !matches!(op, Op::Rename { .. } | Op::Link { .. });
        replay(root.path(), &options(2), &ops.into_iter().filter(named_once).collect::<Vec<_>>());
        prop_assert_eq!(verify(root.path(), 7).unwrap().first_mismatch, None);
    }

    #[test]
    fn word_sized_data_written_under_several_names_verifies(ops in traces(300)) {
        let root = dir();
        replay(root.path(), &options(2), &ops.into_iter().map(in_words).collect::<Vec<_>>());
        prop_assert_eq!(verify(root.path(), 7).unwrap().first_mismatch, None);
    }

    #[test]
    fn several_runs_give_the_tree_of_one(ops in traces(300), cuts in prop::collection::vec(0u64..99, 0..6)) {
        let (whole, parts) = (dir(), dir());
        replay(whole.path(), &options(1), &ops);
        let mut replay = Replay::posix(parts.path(), &options(2)).unwrap();
        let mut source = ops.clone().into_iter();
        let mut done = 0;
        for cut in cuts {
            let outcome = replay.run(&mut source, Some(cut), &mut |_| Flow::Continue).unwrap();
            let left = ops.len() as u64 - done;
            prop_assert_eq!(outcome.operations, cut.min(left));
            prop_assert_eq!(outcome.stop_reason, if cut <= left { StopReason::OperationLimit } else { StopReason::EndOfSource });
            done += outcome.operations;
        }
        replay.run(&mut source, None, &mut |_| Flow::Continue).unwrap();
        prop_assert_eq!(replay.failures(), &[]);
        prop_assert_eq!(tree(whole.path()), tree(parts.path()));
    }

    #[test]
    fn operations_applied_before_a_crash_can_be_redone(ops in traces(300), cut: prop::sample::Index) {
        let (whole, twice) = (dir(), dir());
        replay(whole.path(), &options(1), &ops);
        let cut = cut.index(ops.len() + 1);
        replay(twice.path(), &options(1), &ops[..cut]);
        let (_, again) = replay(twice.path(), &Options { redo_first: cut as u64, ..options(2) }, &ops);
        prop_assert_eq!(again.failures(), &[]);
        prop_assert_eq!(tree(whole.path()), tree(twice.path()));
    }
}

#[test]
fn new_replay_continues_in_directories_of_earlier_one() {
    let root = dir();
    let nested: Vec<Op> = (1..9).map(|dir| Op::Mkdir { dir: DirId(dir), parent: DirId(dir - 1) }).collect();
    replay(root.path(), &options(1), &nested);
    let (_, later) = replay(root.path(), &options(1), &creates(1, 1, DirId(8), 10).collect::<Vec<_>>());
    assert_eq!(later.failures(), []);
    assert!(root.path().join("d1/d2/d3/d4/d5/d6/d7/d8/f1").is_file());
}

#[test]
fn watch_sees_progress_and_can_stop() {
    let root = dir();
    let ops: Vec<Op> = creates(0, 5000, ROOT, 0).collect();
    for threads in [1, 4] {
        let mut replay = Replay::posix(root.path(), &options(threads)).unwrap();
        let before = tree(root.path()).len() as u64;
        let mut seen = 0;
        let mut watch = |progress: &senesce_replay::Progress| {
            assert!(progress.operations > seen);
            seen = progress.operations;
            if seen >= 1000 { Flow::Stop } else { Flow::Continue }
        };
        let outcome =
            replay.run(&mut Vec::from(&ops[before as usize..]).into_iter(), None, &mut watch).unwrap();
        assert_eq!(outcome.stop_reason, StopReason::Cancelled);
        assert!((1000..2000).contains(&outcome.operations), "{outcome:?}");
        assert_eq!(tree(root.path()).len() as u64 - before, outcome.operations);
    }
}

#[test]
fn failed_operations_are_counted_and_the_rest_continues() {
    let root = dir();
    let file = FileId(0xabc);
    let mut ops = vec![Op::Delete { file, parent: ROOT }; 3];
    ops.push(Op::Mkdir { dir: DirId(1), parent: DirId(9) });
    ops.extend(creates(1, 2, DirId(1), 5));
    ops.extend(creates(3, 2, ROOT, 5));
    let (outcome, replay) = replay(root.path(), &options(2), &ops);
    assert_eq!(outcome.operations, 8);
    let errors: Vec<_> = replay
        .failures()
        .iter()
        .map(|e| (e.kind.as_str(), e.error.as_str(), e.count, e.first.as_str()))
        .collect();
    assert!(errors.contains(&("delete", "ENOENT", 3, "delete fabc in d0")), "{errors:?}");
    assert!(errors.contains(&("mkdir", "ENOENT", 1, "mkdir d1 in d9")), "{errors:?}");
    assert!(
        errors.iter().any(|e| (e.0, e.1, e.2) == ("create", "skipped: file was never made", 2)),
        "{errors:?}"
    );
    assert_eq!(tree(root.path()).keys().collect::<Vec<_>>(), ["f3", "f4"]);
}

#[test]
fn missing_root_is_named() {
    let error = Replay::posix("/nonexistent/here".as_ref(), &Options::default()).err().unwrap().to_string();
    assert!(error.contains("/nonexistent/here") && error.contains("No such file"), "{error}");
}

#[test]
fn options_are_parsed_from_words() {
    let options: Options =
        serde_json::from_str(r#"{"threads": 4, "data": "fallocate", "on_full": "stop"}"#).unwrap();
    assert_eq!((options.threads, options.data, options.on_full), (4, Data::Fallocate, OnFull::Stop));
    assert_eq!("write".parse(), Ok(Data::Write));
    assert!("writing".parse::<Data>().unwrap_err().contains("auto, fallocate or write"));
}

#[test]
fn null_engine_only_counts() {
    let mut replay = Replay::null(&options(2));
    let ops: Vec<Op> = creates(0, 10_000, DirId(3), 5).collect();
    let outcome = replay.run(&mut ops.into_iter(), Some(9_000), &mut |_| Flow::Continue).unwrap();
    assert_eq!(outcome, Outcome { operations: 9_000, stop_reason: StopReason::OperationLimit });
}

//! The language of a loop: steps, one per line, of operations separated by `;`.
//!
//! ```text
//! step       = [ N "times:" ] operation { ";" operation }
//! operation  = "create" SET | "open" SET                 opens a file, until "close"
//!            | "write whole" | "read whole" | "append" SIZE | "fsync" | "close"     of the open file
//!            | "delete" SET | "stat" SET                 of another file
//!            | "append" SIZE "to" SET                    of a file that the thread keeps open
//! SIZE       = [ "up to" ] BYTES                         a size as on the command line: 16KiB
//! ```
//!
//! A step that opens a file closes it.

use super::kind::OperationKind;

/// Maximum number of operations of a loop, including repetitions.
const MOST_OPERATIONS: usize = 10_000;

/// Maximum size of an append, in bytes.
const MOST_APPENDED: u64 = 1 << 30;

/// One operation of a loop. Sets are identified by their index in the personality.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Creates and opens a missing file of the set.
    Create {
        /// The set.
        set: usize,
    },
    /// Opens an existing file of the set.
    Open {
        /// The set.
        set: usize,
        /// Whether the file is only read until it is closed.
        reads: bool,
        /// Whether writes go to the end of the file.
        appends: bool,
    },
    /// Overwrites the whole open file, with the size drawn for it.
    Write,
    /// Reads the whole open file.
    Read,
    /// Appends to the open file.
    Append(AppendSize),
    /// Syncs the open file to disk.
    Fsync,
    /// Closes the open file.
    Close,
    /// Deletes a file of the set that no thread has open.
    Delete {
        /// The set.
        set: usize,
    },
    /// Queries the attributes of a file of the set.
    Stat {
        /// The set.
        set: usize,
    },
    /// Appends to a file of the set that the thread keeps open.
    AppendTo {
        /// The set.
        set: usize,
        /// The size of the append.
        size: AppendSize,
    },
}

/// The size of an append.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AppendSize {
    /// Maximum bytes.
    pub most: u64,
    /// Whether the size is uniformly distributed from 1 to the maximum; otherwise it is always the maximum.
    pub up_to: bool,
}

impl Operation {
    /// The kind under which the operation is counted.
    pub fn kind(self) -> OperationKind {
        match self {
            Operation::Create { .. } => OperationKind::Create,
            Operation::Open { .. } => OperationKind::Open,
            Operation::Write => OperationKind::Write,
            Operation::Read => OperationKind::Read,
            Operation::Append(_) | Operation::AppendTo { .. } => OperationKind::Append,
            Operation::Fsync => OperationKind::Fsync,
            Operation::Close => OperationKind::Close,
            Operation::Delete { .. } => OperationKind::Delete,
            Operation::Stat { .. } => OperationKind::Stat,
        }
    }
}

/// Parses the operations of a loop; an error is the index of the invalid step and the reason. `sets` are the names of the sets.
pub(super) fn parse(steps: &[String], sets: &[&str]) -> Result<Vec<Operation>, (usize, String)> {
    let mut all = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let (times, operations) =
            parse_step(step, sets).map_err(|why| (at, format!("step {step:?}: {why}")))?;
        if times.saturating_mul(operations.len()) > MOST_OPERATIONS - all.len() {
            return Err((at, format!("its loop has more than {MOST_OPERATIONS} operations")));
        }
        (0..times).for_each(|_| all.extend_from_slice(&operations));
    }
    if all.is_empty() { Err((0, "its loop is empty".to_owned())) } else { Ok(all) }
}

fn parse_step(step: &str, sets: &[&str]) -> Result<(usize, Vec<Operation>), String> {
    let (times, rest) = match step.split_once(':') {
        Some((head, rest)) => match head.split_whitespace().collect::<Vec<_>>()[..] {
            [number, "times"] => (count(number)?, rest),
            _ => return Err(format!("{:?} is not a number of times, as in \"10 times: …\"", head.trim())),
        },
        None => (1, step),
    };
    let parsed = rest.split(';').map(|text| parse_operation(text.trim(), sets));
    let mut operations = parsed.collect::<Result<Vec<_>, _>>()?;
    let opener = opened(&operations)?;
    if let Some(Operation::Open { set, .. }) = opener.map(|at| operations[at]) {
        let has = |kind: OperationKind| operations.iter().any(|operation| operation.kind() == kind);
        let (writes, appends) = (has(OperationKind::Write), has(OperationKind::Append));
        if writes && appends {
            return Err("an existing file is either written whole or appended to; split this into two steps"
                .to_owned());
        }
        operations[opener.expect("the step opens a file")] =
            Operation::Open { set, reads: !writes && !appends, appends };
    }
    Ok((times, operations))
}

fn count(number: &str) -> Result<usize, String> {
    let times: usize = number.parse().map_err(|_| format!("{number:?} is not a number"))?;
    if (1..=MOST_OPERATIONS).contains(&times) {
        return Ok(times);
    }
    Err(format!("a step must run 1 to {MOST_OPERATIONS} times, not {times}"))
}

/// The index of the operation that opens a file, if any; an error if opens and closes do not alternate.
fn opened(operations: &[Operation]) -> Result<Option<usize>, String> {
    let (mut opener, mut is_open) = (None, false);
    for (at, operation) in operations.iter().enumerate() {
        let name = operation.kind().name();
        match operation {
            Operation::Create { .. } | Operation::Open { .. } if opener.is_some() => {
                return Err("it opens two files; split it into two steps".to_owned());
            }
            Operation::Create { .. } | Operation::Open { .. } => (opener, is_open) = (Some(at), true),
            Operation::Delete { .. } | Operation::Stat { .. } | Operation::AppendTo { .. } if is_open => {
                return Err(format!(
                    "{name:?} on another file is between open and close; move it after close"
                ));
            }
            Operation::Delete { .. } | Operation::Stat { .. } | Operation::AppendTo { .. } => {}
            _ if !is_open => {
                return Err(format!("{name:?} needs a file opened by \"create\" or \"open\" first"));
            }
            Operation::Close => is_open = false,
            _ => {}
        }
    }
    if is_open { Err("it opens a file without a \"close\"".to_owned()) } else { Ok(opener) }
}

fn parse_operation(text: &str, sets: &[&str]) -> Result<Operation, String> {
    let set = |name: &str| {
        let known = || format!("unknown set {name:?}; known: {}", sets.join(", "));
        sets.iter().position(|set| *set == name).ok_or_else(known)
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        ["create", name] => Ok(Operation::Create { set: set(name)? }),
        ["open", name] => Ok(Operation::Open { set: set(name)?, reads: true, appends: false }),
        ["write", "whole"] => Ok(Operation::Write),
        ["read", "whole"] => Ok(Operation::Read),
        ["fsync"] => Ok(Operation::Fsync),
        ["close"] => Ok(Operation::Close),
        ["delete", name] => Ok(Operation::Delete { set: set(name)? }),
        ["stat", name] => Ok(Operation::Stat { set: set(name)? }),
        ["append", ref how @ .., "to", name] if how != ["up"] => {
            Ok(Operation::AppendTo { set: set(name)?, size: parse_append(how)? })
        }
        ["append", ref how @ ..] => Ok(Operation::Append(parse_append(how)?)),
        _ => Err(format!(
            "unknown operation {text:?}; known: \"create SET\", \"open SET\", \"write whole\", \"read \
             whole\", \"append [up to] SIZE [to SET]\", \"fsync\", \"close\", \"delete SET\" and \"stat SET\""
        )),
    }
}

fn parse_append(words: &[&str]) -> Result<AppendSize, String> {
    let (up_to, size) = match words {
        ["up", "to", size] => (true, size),
        [size] => (false, size),
        _ => return Err("append needs a size: \"append 16KiB\" or \"append up to 16KiB\"".to_owned()),
    };
    match input::size(size)? {
        most if most <= MOST_APPENDED => Ok(AppendSize { most, up_to }),
        _ => Err(format!("an append must be 1 to {MOST_APPENDED} bytes, not {size}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SETS: [&str; 2] = ["files", "log"];

    fn parsed(step: &str) -> Result<Vec<Operation>, String> {
        parse(&[step.to_owned()], &SETS).map_err(|(_, why)| why)
    }

    #[test]
    fn steps_are_parsed() {
        let up_to = AppendSize { most: 16 << 10, up_to: true };
        assert_eq!(
            parsed("2 times: open files; read whole; close").unwrap(),
            [Operation::Open { set: 0, reads: true, appends: false }, Operation::Read, Operation::Close]
                .repeat(2)
        );
        assert_eq!(
            parsed("open log; append up to 16KiB; fsync; close").unwrap()[..2],
            [Operation::Open { set: 1, reads: false, appends: true }, Operation::Append(up_to)]
        );
        assert_eq!(
            parsed("append up to 16KiB to log").unwrap(),
            [Operation::AppendTo { set: 1, size: up_to }]
        );
        let exact = AppendSize { most: 7, up_to: false };
        assert_eq!(parsed(" append  7 to files ").unwrap(), [Operation::AppendTo { set: 0, size: exact }]);
        let after = parsed("create files; write whole; close; delete files").unwrap();
        assert_eq!(after.len(), 4);
    }

    #[test]
    fn errors_are_reported() {
        for (step, said) in [
            ("open file; close", "unknown set \"file\"; known: files, log"),
            ("open files", "without a \"close\""),
            ("read whole", "needs a file"),
            ("open files; close; read whole", "needs a file"),
            ("open files; open log; close", "two files"),
            ("open files; close; open files; close", "two files"),
            ("open files; stat log; close", "between open and close"),
            ("open files; write whole; append 1; close", "two steps"),
            ("read half", "unknown operation"),
            ("", "unknown operation"),
            ("append", "append needs a size"),
            ("append up to", "append needs a size"),
            ("append 16kb to log", "not a size"),
            ("append KiB to log", "not a size"),
            ("append 0 to log", "at least 1 byte"),
            ("append 2GiB to log", "an append must be"),
            ("append 18014398509481984KiB to log", "less than 8 EiB"),
            ("often: stat files", "number of times"),
            ("0 times: stat files", "1 to 10000 times"),
            ("9999 times: stat files; stat files", "more than 10000"),
        ] {
            let why = parsed(step).expect_err(step);
            assert!(why.contains(said), "{step}: {why}");
        }
        assert!(parse(&[], &SETS).unwrap_err().1.contains("empty"));
        let steps = ["stat files", "stat file"].map(str::to_owned);
        assert_eq!(parse(&steps, &SETS).unwrap_err().0, 1);
    }

    proptest! {
        #[test]
        fn arbitrary_steps_do_not_panic(step in "\\PC{0,60}") {
            let _ = parsed(&step);
        }

        /// Steps similar to valid ones test more of the parser.
        #[test]
        fn arbitrary_words_of_the_language_do_not_panic(
            words in proptest::collection::vec(
                prop::sample::select(vec![
                    "create", "open", "write", "whole", "read", "append", "up", "to", "16KiB", "7", "fsync", "close", "delete",
                    "stat", "files", "log", ";", ":", "times", "times:", "3", "99999",
                ]),
                0..12,
            ),
        ) {
            if let Ok(operations) = parsed(&words.join(" ")) {
                prop_assert!(!operations.is_empty() && operations.len() <= MOST_OPERATIONS);
                prop_assert!(opened(&operations[..]).is_ok() || words.contains(&"times") || words.contains(&"times:"));
            }
        }
    }
}

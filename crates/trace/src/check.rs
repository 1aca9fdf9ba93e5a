//! A guard between a source and what trusts it: no operation passes that could not be done.

use crate::namespace::Namespace;
use crate::{Error, Op, Source};

/// A source that refuses, with [`Error::Source`], what its inner source must not give: an operation on a file
/// or directory that does not exist, one that makes what exists, the removal of a directory that is not empty.
pub struct Checked<S> {
    source: S,
    checker: Checker,
}

impl<S: Source> Checked<S> {
    /// Checks what `source` gives, which must start with an empty root directory.
    pub fn new(source: S) -> Self {
        Self { source, checker: Checker::new() }
    }
}

impl<S: Source> Source for Checked<S> {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        self.source.next_batch(batch)?;
        batch.iter().try_for_each(|op| self.checker.check(op))
    }

    fn remaining(&self) -> Option<u64> {
        self.source.remaining()
    }
}

/// Follows a trace and names the first operation that cannot be done.
pub(crate) struct Checker {
    namespace: Namespace,
    index: u64,
}

impl Checker {
    pub fn new() -> Self {
        Self { namespace: Namespace::new(), index: 0 }
    }

    /// The files and directories after the operations checked so far.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Checks the next operation.
    pub fn check(&mut self, op: &Op) -> Result<(), Error> {
        let index = self.index;
        self.index += 1;
        let applied = self.namespace.apply(op);
        applied.map_err(|why| Error::Source(format!("operation {index}, {op}, is impossible: {why}")))
    }
}

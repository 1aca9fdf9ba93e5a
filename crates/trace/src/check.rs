//! Validates the operations of a source.

use crate::namespace::Namespace;
use crate::{Error, Op, Source};

/// A source that fails with [`Error::Source`] on the first invalid operation of its inner source: one on a
/// file, directory or snapshot that does not exist, the creation of one that exists, or the removal of a
/// directory that is not empty.
pub struct ValidatingSource<S> {
    source: S,
    checker: Checker,
}

impl<S: Source> ValidatingSource<S> {
    /// Checks the operations of `source`, which must start with an empty root directory.
    pub fn new(source: S) -> Self {
        Self { source, checker: Checker::new() }
    }
}

impl<S: Source> Source for ValidatingSource<S> {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        self.source.next_batch(batch)?;
        batch.iter().try_for_each(|op| self.checker.check(op))
    }

    fn remaining(&self) -> Option<u64> {
        self.source.remaining()
    }
}

/// Follows a trace and reports the first invalid operation.
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

//! The run that results are recorded in.

use results::{Error, Measurement, RunId, Store};
use serde::Serialize;

/// A run in a store; without one, results are not recorded.
#[derive(Clone, Copy)]
pub(super) struct Recording<'a>(pub Option<(&'a Store, RunId)>);

impl Recording<'_> {
    /// Records measurements.
    pub fn numbers(self, numbers: &[Measurement]) -> Result<(), Error> {
        self.0.map_or(Ok(()), |(store, run)| store.record_all(run, numbers))
    }

    /// The measurements recorded so far.
    pub fn recorded(self) -> Result<Vec<Measurement>, Error> {
        self.0.map_or(Ok(Vec::new()), |(store, run)| store.measurements(run))
    }

    /// Records a document of the side `subject`.
    pub fn document(self, subject: &str, name: &str, body: &impl Serialize) -> Result<(), Error> {
        self.0.map_or(Ok(()), |(store, run)| store.record_document(run, subject, name, body))
    }
}

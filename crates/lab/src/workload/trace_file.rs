//! A saved trace as a workload. A round is a checkpoint of the trace.

use super::Driver;
use super::traced::Traced;
use crate::Error;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace::{DigestingSource, Labels, Op, SavedLabels, Source, ValidatingSource};

/// A trace in either format, with its labels and contents files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFile {
    /// The path.
    pub file: PathBuf,
    /// The expected digest of the trace, if any.
    #[serde(default)]
    pub sha256: Option<String>,
}

impl TraceFile {
    /// Reads the whole trace at `file` and checks every operation. Also returns the last round.
    pub fn read(file: &Path) -> Result<(TraceFile, u64), Error> {
        let (sha256, rounds) = scan(file)?;
        let last = *rounds.last().expect("there is at least a checkpoint at the end");
        Ok((TraceFile { file: file.to_owned(), sha256: Some(sha256) }, last))
    }

    /// Refuses a trace that cannot be replayed, has changed, or does not have these rounds.
    pub(super) fn check(&self, rounds: &[u64]) -> Result<(), Error> {
        let (sha256, there) = scan(&self.file)?;
        let file = self.file.display();
        if self.sha256.as_ref().is_some_and(|wanted| *wanted != sha256) {
            return Err(Error::Refused(format!("{file} has changed since the first run")));
        }
        let mut left = there.iter();
        match rounds.iter().find(|round| !left.any(|at| at == *round)) {
            None => Ok(()),
            Some(round) => Err(Error::Refused(format!(
                "{file} has no checkpoint {round}; it has {}, numbered {} to {}",
                there.len(),
                there[0],
                there[there.len() - 1]
            ))),
        }
    }

    pub(super) fn driver(&self, seed: u64) -> Result<Box<dyn Driver>, Error> {
        self.check(&[])?;
        let (source, _) = trace::open(&self.file)?;
        Ok(Box::new(Traced::new(Box::new(Ending::new(source)), seed, self.labels()?)))
    }

    fn labels(&self) -> Result<Option<Arc<dyn Labels>>, Error> {
        if trace::is_jsonl(&self.file) {
            return Ok(None);
        }
        let reader = trace::TraceReader::open(&self.file)?;
        let labels = SavedLabels::load(&self.file, &reader.summary().sha256)?;
        Ok(labels.map(|labels| Arc::new(labels) as Arc<dyn Labels>))
    }
}

/// The digest of a trace, and the numbers of its checkpoints.
fn scan(file: &Path) -> Result<(String, Vec<u64>), Error> {
    let mut digesting = DigestingSource::new(trace::open(file)?.0);
    let mut source = Ending::new(ValidatingSource::new(&mut digesting));
    let (mut rounds, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            return Ok((digesting.sha256(), rounds));
        }
        rounds.extend(batch.iter().filter_map(checkpoint));
    }
}

fn checkpoint(op: &Op) -> Option<u64> {
    match op {
        Op::Checkpoint { number } => Some(*number),
        _ => None,
    }
}

/// Adds checkpoint 1 at the end of a source without checkpoints.
struct Ending<S> {
    source: S,
    ended: bool,
}

impl<S: Source> Ending<S> {
    fn new(source: S) -> Ending<S> {
        Ending { source, ended: false }
    }
}

impl<S: Source> Source for Ending<S> {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), trace::Error> {
        self.source.next_batch(batch)?;
        if batch.is_empty() && !self.ended {
            batch.push(Op::Checkpoint { number: 1 });
        }
        self.ended |= batch.iter().any(|op| checkpoint(op).is_some());
        Ok(())
    }
}

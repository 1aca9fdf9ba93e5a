//! A saved trace as a workload. A round is a checkpoint of the trace.

use crate::traced::Traced;
use crate::{Driver, Error, Pinned, Start, Workload};
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
    fn labels(&self) -> Result<Option<Arc<dyn Labels>>, Error> {
        if trace::is_jsonl(&self.file) {
            return Ok(None);
        }
        let reader = trace::TraceReader::open(&self.file)?;
        let labels = SavedLabels::load(&self.file, &reader.summary().sha256)?;
        Ok(labels.map(|labels| Arc::new(labels) as Arc<dyn Labels>))
    }
}

#[typetag::serde(name = "trace")]
impl Workload for TraceFile {
    /// Refuses a trace that cannot be replayed, has changed, or does not have these rounds.
    fn check(&self, _seed: u64, rounds: &[u64]) -> Result<(), Error> {
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

    fn start(&self, start: &Start) -> Result<Box<dyn Driver>, Error> {
        self.check(start.seed, &[])?;
        let (source, _) = trace::open(&self.file)?;
        Ok(Box::new(Traced::new(Box::new(Ending::new(source)), start.seed, self.labels()?)))
    }

    /// Reads the whole trace and checks every operation.
    fn pin(&self) -> Result<Option<Pinned>, Error> {
        let (sha256, rounds) = scan(&self.file)?;
        let last_round = *rounds.last().expect("there is at least a checkpoint at the end");
        let workload = Arc::new(TraceFile { sha256: Some(sha256), ..self.clone() });
        Ok(Some(Pinned { workload, last_round, warnings: Vec::new() }))
    }

    fn fingerprint(&self, _last_round: u64) -> Result<Option<String>, Error> {
        Ok(Some(scan(&self.file)?.0))
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

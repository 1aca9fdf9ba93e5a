//! Opens a trace of either format.

use std::io::BufReader;
use std::path::Path;

use crate::{Error, JsonlReader, Source, TraceInfo, TraceReader};

/// Whether a trace of this name is JSON lines; all others are Parquet.
pub fn is_jsonl(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "jsonl")
}

/// The operations of the trace at `path`, and its metadata if it is Parquet.
pub fn open(path: &Path) -> Result<(Box<dyn Source>, Option<TraceInfo>), Error> {
    if is_jsonl(path) {
        let failed = |source| Error::Io { action: "reading", path: path.to_owned(), source };
        let file = input::open(path).map_err(failed)?;
        return Ok((Box::new(JsonlReader::new(BufReader::new(file), path)), None));
    }
    let reader = TraceReader::open(path)?;
    let info = reader.info().clone();
    Ok((Box::new(reader), Some(info)))
}

//! Opening a trace of either form.

use std::io::BufReader;
use std::path::Path;

use crate::{Error, JsonlReader, Source, TraceInfo, TraceReader};

/// Whether a trace of that name holds JSON lines; any other is Parquet.
pub fn is_jsonl(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "jsonl")
}

/// The operations of the trace at `path`, and what it says of itself, where it is Parquet.
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

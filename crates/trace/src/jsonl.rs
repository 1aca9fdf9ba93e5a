//! Traces as JSON lines: one object per operation, with the column names of a trace file as field names. For
//! reading and writing by hand, and for programs without Parquet support.
//!
//! ```json
//! {"op":"mkdir","dir":0,"to_dir":1}
//! {"op":"create","file":1,"dir":1,"size":4096,"content":"auto"}
//! ```

use std::io::{BufRead, BufWriter, Read as _, Write};
use std::path::PathBuf;

use crate::row::Row;
use crate::{BATCH, Error, Op, Source};

/// Limit of the line length. An operation needs a quarter of it; a foreign file, which may be one line of
/// many gigabytes, must not fill the memory before it is rejected.
const LONGEST_LINE: u64 = 1024;

/// An operation as the object of its line.
pub fn op_to_json(op: &Op) -> serde_json::Value {
    serde_json::to_value(Row::from(op)).expect("a row is plain data")
}

/// Writes every operation of `source` as one line of JSON; returns the number of operations.
pub fn write_jsonl(mut source: impl Source, out: impl Write) -> Result<u64, Error> {
    let mut out = BufWriter::new(out);
    let mut batch = Vec::with_capacity(BATCH);
    let mut operations = 0;
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            out.flush().map_err(Error::Output)?;
            return Ok(operations);
        }
        for op in &batch {
            serde_json::to_writer(&mut out, &Row::from(op)).map_err(|e| Error::Output(e.into()))?;
            out.write_all(b"\n").map_err(Error::Output)?;
        }
        operations += batch.len() as u64;
    }
}

/// A source that reads JSON lines. Blank lines are ignored.
pub struct JsonlReader<R> {
    input: R,
    path: PathBuf,
    text: Vec<u8>,
    line: u64,
}

impl<R: BufRead> JsonlReader<R> {
    /// Reads from `input`; messages refer to it as `path`.
    pub fn new(input: R, path: impl Into<PathBuf>) -> Self {
        Self { input, path: path.into(), text: Vec::new(), line: 0 }
    }

    /// Reads the next line into `text`; false at the end.
    fn next_line(&mut self) -> Result<bool, Error> {
        self.text.clear();
        self.line += 1;
        let read = (&mut self.input).take(LONGEST_LINE).read_until(b'\n', &mut self.text);
        let length =
            read.map_err(|source| Error::Io { action: "reading", path: self.path.clone(), source })?;
        if length as u64 == LONGEST_LINE && !self.text.ends_with(b"\n") {
            return Err(self.foreign(format!("it exceeds {LONGEST_LINE} bytes")));
        }
        Ok(length > 0)
    }

    fn foreign(&self, why: impl std::fmt::Display) -> Error {
        Error::Foreign { path: self.path.clone(), why: format!("line {}: {why}", self.line) }
    }
}

impl<R: BufRead> Source for JsonlReader<R> {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        batch.clear();
        while batch.len() < BATCH && self.next_line()? {
            let line = self.text.trim_ascii();
            if !line.is_empty() {
                let row: Row = serde_json::from_slice(line).map_err(|e| self.foreign(json_error(&e)))?;
                batch.push(row.to_op().map_err(|why| self.foreign(why))?);
            }
        }
        Ok(())
    }
}

/// The parser's message without its line number, which is relative to the parsed line.
fn json_error(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}

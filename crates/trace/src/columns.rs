//! Conversion between rows of a trace and Parquet columns, through reusable buffers.

use std::io::Write;
use std::str::{self, Utf8Error};

use bytes::Bytes;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::reader::RowGroupReader;
use parquet::file::writer::SerializedRowGroupWriter;

use crate::row::Row;
use parquet_file::column::{Column, ColumnReader};

/// Rows of a trace, by column.
#[derive(Default)]
pub(crate) struct Columns {
    op: Column<ByteArrayType>,
    file: Column<Int64Type>,
    dir: Column<Int32Type>,
    size: Column<Int64Type>,
    offset: Column<Int64Type>,
    to_file: Column<Int64Type>,
    to_dir: Column<Int32Type>,
    content: Column<ByteArrayType>,
}

impl Columns {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.op.len()
    }

    /// Appends a row.
    pub fn push(&mut self, row: &Row<'static>) {
        let word = |text: &'static str| ByteArray::from(Bytes::from_static(text.as_bytes()));
        self.op.push(Some(word(row.op)));
        // Parquet stores unsigned numbers in signed ones with the same bits.
        self.file.push(row.file.map(|n| n as i64));
        self.dir.push(row.dir.map(|n| n as i32));
        self.size.push(row.size.map(|n| n as i64));
        self.offset.push(row.offset.map(|n| n as i64));
        self.to_file.push(row.to_file.map(|n| n as i64));
        self.to_dir.push(row.to_dir.map(|n| n as i32));
        self.content.push(row.content.map(word));
    }

    /// Writes all rows as a row group and clears them.
    pub fn write<W: Write + Send>(&mut self, mut group: SerializedRowGroupWriter<'_, W>) -> Result<()> {
        self.op.write(&mut group)?;
        self.file.write(&mut group)?;
        self.dir.write(&mut group)?;
        self.size.write(&mut group)?;
        self.offset.write(&mut group)?;
        self.to_file.write(&mut group)?;
        self.to_dir.write(&mut group)?;
        self.content.write(&mut group)?;
        group.close().map(|_| ())
    }
}

/// Reads the rows of a row group, in pieces.
pub(crate) struct RowReader {
    op: ColumnReader<ByteArrayType>,
    file: ColumnReader<Int64Type>,
    dir: ColumnReader<Int32Type>,
    size: ColumnReader<Int64Type>,
    offset: ColumnReader<Int64Type>,
    to_file: ColumnReader<Int64Type>,
    to_dir: ColumnReader<Int32Type>,
    content: ColumnReader<ByteArrayType>,
}

impl RowReader {
    /// Starts at the first row of `group`, whose columns must match the schema.
    pub fn new(group: &dyn RowGroupReader) -> Result<Self> {
        Ok(Self {
            op: ColumnReader::new(group, 0)?,
            file: ColumnReader::new(group, 1)?,
            dir: ColumnReader::new(group, 2)?,
            size: ColumnReader::new(group, 3)?,
            offset: ColumnReader::new(group, 4)?,
            to_file: ColumnReader::new(group, 5)?,
            to_dir: ColumnReader::new(group, 6)?,
            content: ColumnReader::new(group, 7)?,
        })
    }

    /// Reads exactly the next `rows` rows.
    pub fn fill(&mut self, rows: usize) -> Result<()> {
        self.op.fill(rows)?;
        self.file.fill(rows)?;
        self.dir.fill(rows)?;
        self.size.fill(rows)?;
        self.offset.fill(rows)?;
        self.to_file.fill(rows)?;
        self.to_dir.fill(rows)?;
        self.content.fill(rows)
    }

    /// The rows read last; invalid UTF-8 is an error.
    pub fn rows(&self) -> impl Iterator<Item = Result<Row<'_>, Utf8Error>> {
        let (mut op, mut content) = (self.op.iter(), self.content.iter());
        let (mut file, mut to_file) = (self.file.iter(), self.to_file.iter());
        let (mut dir, mut to_dir) = (self.dir.iter(), self.to_dir.iter());
        let (mut size, mut offset) = (self.size.iter(), self.offset.iter());
        std::iter::from_fn(move || {
            let op = op.next()?.map_or(Ok(""), word);
            let content = content.next()?.map(word).transpose();
            let numbers = Row {
                file: file.next().flatten().map(|&n| n as u64),
                dir: dir.next().flatten().map(|&n| n as u32),
                size: size.next().flatten().map(|&n| n as u64),
                offset: offset.next().flatten().map(|&n| n as u64),
                to_file: to_file.next().flatten().map(|&n| n as u64),
                to_dir: to_dir.next().flatten().map(|&n| n as u32),
                ..Row::default()
            };
            Some(op.and_then(|op| Ok(Row { op, content: content?, ..numbers })))
        })
    }
}

fn word(bytes: &ByteArray) -> Result<&str, Utf8Error> {
    str::from_utf8(bytes.data())
}

//! Rows to Parquet columns and back, through buffers that are reused from one piece to the next.

use std::io::Write;
use std::str::{self, Utf8Error};

use bytes::Bytes;
use parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;
use parquet::file::writer::SerializedRowGroupWriter;

use crate::row::Row;

/// Some rows of a trace, by column.
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
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.op.len()
    }

    /// Appends a row.
    pub fn push(&mut self, row: &Row<'static>) {
        let word = |text: &'static str| ByteArray::from(Bytes::from_static(text.as_bytes()));
        self.op.push(Some(word(row.op)));
        // Parquet keeps unsigned numbers in signed ones of the same bits.
        self.file.push(row.file.map(|n| n as i64));
        self.dir.push(row.dir.map(|n| n as i32));
        self.size.push(row.size.map(|n| n as i64));
        self.offset.push(row.offset.map(|n| n as i64));
        self.to_file.push(row.to_file.map(|n| n as i64));
        self.to_dir.push(row.to_dir.map(|n| n as i32));
        self.content.push(row.content.map(word));
    }

    /// Writes all rows as a row group and forgets them.
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

/// One column: its values, and for every row 1 where it has one and 0 where it is empty.
pub(crate) struct Column<T: DataType> {
    values: Vec<T::T>,
    present: Vec<i16>,
}

impl<T: DataType> Default for Column<T> {
    fn default() -> Self {
        Self { values: Vec::new(), present: Vec::new() }
    }
}

impl<T: DataType> Column<T> {
    /// Appends the value of a row.
    pub fn push(&mut self, value: Option<T::T>) {
        self.present.push(value.is_some().into());
        self.values.extend(value);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.present.len()
    }

    fn clear(&mut self) {
        self.values.clear();
        self.present.clear();
    }

    /// Writes all rows as the next column of a row group and forgets them.
    pub fn write<W: Write + Send>(&mut self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        let mut column = group.next_column()?.expect("the schema has a column for each of ours");
        column.typed::<T>().write_batch(&self.values, Some(&self.present), None)?;
        column.close()?;
        self.clear();
        Ok(())
    }
}

/// Reads the rows of one row group, in pieces.
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
    /// Starts at the first row of `group`, whose columns are those of the schema.
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

    /// The rows that were read last; one whose words are no text is an error.
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

/// A column and its reader.
pub(crate) struct ColumnReader<T: DataType> {
    reader: ColumnReaderImpl<T>,
    column: Column<T>,
}

impl<T: DataType> ColumnReader<T> {
    /// Starts at the first row of a column.
    pub fn new(group: &dyn RowGroupReader, index: usize) -> Result<Self> {
        let description = group.metadata().column(index).column_descr_ptr();
        let reader = get_column_reader(description, group.get_column_page_reader(index)?);
        Ok(Self { reader: get_typed_column_reader(reader), column: Column::default() })
    }

    /// Reads exactly `rows` rows.
    pub fn fill(&mut self, rows: usize) -> Result<()> {
        self.column.clear();
        let Column { values, present } = &mut self.column;
        let (read, ..) = self.reader.read_records(rows, Some(present), None, values)?;
        if read < rows {
            return Err(ParquetError::EOF(format!("a column ends {} rows early", rows - read)));
        }
        // A column that cannot be empty has no levels in the file.
        if present.is_empty() {
            present.resize(rows, 1);
        }
        Ok(())
    }

    /// The value of each row that was read.
    pub fn iter(&self) -> impl Iterator<Item = Option<&T::T>> {
        let mut values = self.column.values.iter();
        self.column.present.iter().map(move |&present| if present == 1 { values.next() } else { None })
    }
}

//! A column of a Parquet file, written from and read into reusable buffers.

use std::io::{self, Write};

use parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;
use parquet::file::writer::SerializedRowGroupWriter;

/// A column: its values, and for every row 1 if it has a value and 0 if not.
pub struct Column<T: DataType> {
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

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.present.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.present.is_empty()
    }

    fn clear(&mut self) {
        self.values.clear();
        self.present.clear();
    }

    /// Writes all rows as the next column of a row group and clears them.
    pub fn write<W: Write + Send>(&mut self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        let mut column = group.next_column()?.expect("the schema has every column");
        column.typed::<T>().write_batch(&self.values, Some(&self.present), None)?;
        column.close()?;
        self.clear();
        Ok(())
    }
}

/// A column and its reader.
pub struct ColumnReader<T: DataType> {
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
        // A required column has no levels in the file.
        if present.is_empty() {
            present.resize(rows, 1);
        }
        Ok(())
    }

    /// The value of each row read.
    pub fn iter(&self) -> impl Iterator<Item = Option<&T::T>> {
        let mut values = self.column.values.iter();
        self.column.present.iter().map(move |&present| if present == 1 { values.next() } else { None })
    }
}

/// The system error below a Parquet error, if any.
pub fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => {
            inner.downcast::<io::Error>().map_or_else(io::Error::other, |inner| *inner)
        }
        other => io::Error::other(other),
    }
}

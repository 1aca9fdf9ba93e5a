//! Columns encoded in memory, so that threads can encode columns in parallel.

use bytes::Bytes;
use parquet::column::writer::{ColumnCloseResult, get_column_writer, get_typed_column_writer};
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// The encoding of a column.
pub struct Encoding {
    /// The column.
    pub column: ColumnDescPtr,
    /// The writer properties of the file.
    pub properties: WriterPropertiesPtr,
}

/// An encoded column of a row group.
pub struct Encoded {
    bytes: Bytes,
    close: ColumnCloseResult,
}

impl Encoding {
    /// Encodes values with Parquet's levels for absent values and lists.
    pub fn encode<T: DataType>(
        &self,
        values: &[T::T],
        present: Option<&[i16]>,
        repeated: Option<&[i16]>,
    ) -> Result<Encoded> {
        let mut to = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut to));
        let writer = get_column_writer(self.column.clone(), self.properties.clone(), pages);
        let mut writer = get_typed_column_writer::<T>(writer);
        writer.write_batch(values, present, repeated)?;
        let close = writer.close()?;
        Ok(Encoded { bytes: to.into_inner()?.into(), close })
    }
}

impl Encoded {
    /// Writes the column as the next one of a row group.
    pub fn write<W: Write + Send>(self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        group.append_column(&self.bytes, self.close)
    }
}

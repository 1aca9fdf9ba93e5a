//! Columns encoded in memory, so that several threads can each encode one.

use bytes::Bytes;
use parquet::column::writer::{ColumnCloseResult, get_column_writer, get_typed_column_writer};
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// How a column is to be encoded.
pub struct Encoding {
    /// Which column it is.
    pub column: ColumnDescPtr,
    /// How the file is written.
    pub properties: WriterPropertiesPtr,
}

/// A column of a row group as it will lie in the file.
pub struct Encoded {
    bytes: Bytes,
    close: ColumnCloseResult,
}

impl Encoding {
    /// Encodes values, with the levels that Parquet has for those that are absent and for lists.
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
    /// Writes it as the next column of a row group.
    pub fn write<W: Write + Send>(self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        group.append_column(&self.bytes, self.close)
    }
}

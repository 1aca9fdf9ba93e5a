//! Writes snapshot files atomically: Parquet with zstd.

use crate::encoded::{Encoded, Encoding};
use crate::file_format::{GROUP_ROWS, SCHEMA, properties, to_pairs};
use crate::lists::Lists;
use crate::{Entry, Error, Snapshot};
use bytes::Bytes;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;
use parquet_file::column::io_error;
use parquet_file::seal;
use rayon::prelude::*;
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

impl Snapshot {
    /// Writes the snapshot to the file `path`, which appears only when it is complete and on disk. An
    /// existing file is replaced only if `replace` is set.
    pub fn save(&self, path: &Path, replace: bool) -> Result<(), Error> {
        if !replace {
            refuse_existing(path)?;
        }
        let temporary = seal::begin(path).map_err(Error::io("creating", path))?;
        let written = self.write(temporary).map_err(|e| Error::io("writing", path)(io_error(e)))?;
        let finish = if replace { seal::finish } else { seal::finish_new };
        finish(written, path).map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => Error::Exists(path.to_owned()),
            _ => Error::io("finishing", path)(source),
        })
    }

    fn write<W: Write + Send>(&self, to: W) -> ParquetResult<W> {
        let properties = Arc::new(properties());
        let mut file = SerializedFileWriter::new(to, SCHEMA.clone(), properties.clone())?;
        file.write_all(&seal::PLACEHOLDER)?;
        let entries = self.entries().len();
        for start in (0..entries).step_by(GROUP_ROWS) {
            let columns = self.encode_rows(start..entries.min(start + GROUP_ROWS), &file, &properties)?;
            let mut group = file.next_row_group()?;
            for column in columns {
                column.write(&mut group)?;
            }
            group.close()?;
        }
        for pair in to_pairs(self.info(), entries) {
            file.append_key_value_metadata(pair);
        }
        file.into_inner()
    }

    /// Encodes the columns of a row group in parallel, on all processors.
    fn encode_rows<W: Write + Send>(
        &self,
        places: Range<usize>,
        file: &SerializedFileWriter<W>,
        properties: &WriterPropertiesPtr,
    ) -> ParquetResult<Vec<Encoded>> {
        let rows = &self.entries()[places.clone()];
        let places = places.start as u32..places.end as u32;
        let mut lists = Lists::default();
        places.clone().for_each(|place| lists.push(self.extents(place)));
        let lists = &lists;
        // Parquet stores unsigned numbers in signed ones with the same bits.
        let columns: [Encode; 14] = [
            required::<Int32Type>(rows, |entry| entry.parent as i32),
            Box::new(move |to| to.encode::<ByteArrayType>(&self.name_values(places.clone()), None, None)),
            required::<ByteArrayType>(rows, |entry| Bytes::from_static(entry.kind.name().as_bytes()).into()),
            required::<Int64Type>(rows, |entry| entry.inode as i64),
            optional::<Int32Type>(rows, |entry| entry.generation.map(|n| n as i32)),
            required::<Int32Type>(rows, |entry| entry.links as i32),
            required::<Int64Type>(rows, |entry| entry.size as i64),
            required::<Int64Type>(rows, |entry| entry.allocated as i64),
            required::<Int64Type>(rows, |entry| entry.changed_ns),
            required::<Int64Type>(rows, |entry| entry.modified_ns),
            optional::<Int64Type>(rows, |entry| entry.born_ns),
            Box::new(|to| lists.encode(0, to)),
            Box::new(|to| lists.encode(1, to)),
            Box::new(|to| lists.encode(2, to)),
        ];
        let described = file.schema_descr().columns();
        let encoded = columns.par_iter().zip(described).with_max_len(1).map(|(encode, column)| {
            encode(&Encoding { column: column.clone(), properties: properties.clone() })
        });
        encoded.collect()
    }

    /// The names of the entries at `places`.
    fn name_values(&self, places: Range<u32>) -> Vec<ByteArray> {
        let names = self.names_of(places.start as usize..places.end as usize);
        let (names, mut start) = (Bytes::copy_from_slice(names), 0);
        let name = |place| {
            let end = start + self.name(place).len();
            ByteArray::from(names.slice(std::mem::replace(&mut start, end)..end))
        };
        places.map(name).collect()
    }
}

/// Encodes a column.
type Encode<'e> = Box<dyn Fn(&Encoding) -> ParquetResult<Encoded> + Sync + 'e>;

/// A column in which every entry has a value.
fn required<'e, T: DataType>(entries: &'e [Entry], value: fn(&Entry) -> T::T) -> Encode<'e> {
    Box::new(move |to| {
        let values: Vec<T::T> = entries.iter().map(value).collect();
        to.encode::<T>(&values, None, None)
    })
}

/// A column in which an entry may have no value.
fn optional<'e, T: DataType>(entries: &'e [Entry], value: fn(&Entry) -> Option<T::T>) -> Encode<'e> {
    Box::new(move |to| {
        let present: Vec<i16> = entries.iter().map(|entry| value(entry).is_some().into()).collect();
        let values: Vec<T::T> = entries.iter().filter_map(value).collect();
        to.encode::<T>(&values, Some(&present), None)
    })
}

/// Fails early if `path` exists, instead of after the work is done.
pub fn refuse_existing(path: &Path) -> Result<(), Error> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Err(Error::Exists(path.to_owned())),
        Err(_) => Ok(()),
    }
}

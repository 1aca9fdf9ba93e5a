//! Writing snapshot files: Parquet with zstd, whole or not at all.

use crate::form::{GROUP_ROWS, SCHEMA, properties, to_pairs};
use crate::lists::Lists;
use crate::{Error, Snapshot};
use bytes::Bytes;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use trace::column::{Column, io_error};
use trace::seal;

impl Snapshot {
    /// Writes it to the file `path`, which gets its name only when it is whole and on disk. A file that has the name
    /// already is replaced only if `replace` is set.
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
        let mut file = SerializedFileWriter::new(to, SCHEMA.clone(), Arc::new(properties()))?;
        file.write_all(&seal::BLANK)?;
        let entries = self.entries().len();
        for start in (0..entries).step_by(GROUP_ROWS) {
            let mut group = file.next_row_group()?;
            self.write_rows(start..entries.min(start + GROUP_ROWS), &mut group)?;
            group.close()?;
        }
        for pair in to_pairs(self.info(), entries) {
            file.append_key_value_metadata(pair);
        }
        file.into_inner()
    }

    fn write_rows<W: Write + Send>(
        &self,
        places: Range<usize>,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> ParquetResult<()> {
        let (mut parent, mut generation, mut links) = <[Column<Int32Type>; 3]>::default().into();
        let (mut name, mut kind) = <[Column<ByteArrayType>; 2]>::default().into();
        let (mut inode, mut size, mut allocated) = <[Column<Int64Type>; 3]>::default().into();
        let (mut changed, mut modified, mut born) = <[Column<Int64Type>; 3]>::default().into();
        let mut extents = Lists::default();
        let (names, mut start) = (Bytes::copy_from_slice(self.names_of(places.clone())), 0);
        for (entry, place) in self.entries()[places.clone()].iter().zip(places.start as u32..) {
            let end = start + self.name(place).len();
            // Parquet keeps unsigned numbers in signed ones of the same bits.
            parent.push(Some(entry.parent as i32));
            name.push(Some(ByteArray::from(names.slice(start..end))));
            kind.push(Some(ByteArray::from(Bytes::from_static(entry.kind.name().as_bytes()))));
            inode.push(Some(entry.inode as i64));
            generation.push(entry.generation.map(|n| n as i32));
            links.push(Some(entry.links as i32));
            size.push(Some(entry.size as i64));
            allocated.push(Some(entry.allocated as i64));
            changed.push(Some(entry.changed_ns));
            modified.push(Some(entry.modified_ns));
            born.push(entry.born_ns);
            extents.push(self.extents(place));
            start = end;
        }
        parent.write(group)?;
        name.write(group)?;
        kind.write(group)?;
        inode.write(group)?;
        generation.write(group)?;
        links.write(group)?;
        size.write(group)?;
        allocated.write(group)?;
        changed.write(group)?;
        modified.write(group)?;
        born.write(group)?;
        extents.write(group)
    }
}

/// Refuses to write to a name that is taken: at once, and not only when all is done.
pub fn refuse_existing(path: &Path) -> Result<(), Error> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Err(Error::Exists(path.to_owned())),
        Err(_) => Ok(()),
    }
}

//! Reads snapshot files. A truncated, damaged or foreign file, or one of a newer version, is rejected with a
//! one-line error.

use crate::file_format::{SCHEMA, from_pairs};
use crate::lists::Lists;
use crate::{Entry, Error, Info, Kind, ROOT, Snapshot, SnapshotBuilder};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{FileReader as _, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet_file::column::ColumnReader;
use parquet_file::seal;
use std::fs::File;
use std::path::Path;

impl Snapshot {
    /// Reads the snapshot file at `path`.
    pub fn load(path: &Path) -> Result<Snapshot, Error> {
        open(path, read)
    }
}

impl Info {
    /// Reads the metadata of the snapshot file at `path`.
    pub fn load(path: &Path) -> Result<Info, Error> {
        open(path, |file| Ok(metadata(file)?.0))
    }
}

/// Opens the snapshot file at `path` and passes it to `read`, which returns the reason if it cannot be read.
fn open<T>(path: &Path, read: impl Fn(&SerializedFileReader<File>) -> Result<T, String>) -> Result<T, Error> {
    let file = input::open(path).map_err(Error::io("opening", path))?;
    let foreign = |why: String| Error::Foreign { path: path.to_owned(), why };
    // Parquet decoders trust the lengths in a file, so verify the seal before decoding anything.
    if !seal::is_intact(&file).map_err(Error::io("reading", path))? {
        let why = "it is truncated, damaged or from another program; take or fetch it again";
        return Err(foreign(why.into()));
    }
    SerializedFileReader::new(file).map_err(damaged).and_then(|file| read(&file)).map_err(foreign)
}

/// The info and the number of entries in the metadata of a file.
fn metadata(file: &SerializedFileReader<File>) -> Result<(Info, usize), String> {
    let metadata = file.metadata().file_metadata();
    from_pairs(metadata.key_value_metadata().map_or(&[][..], Vec::as_slice))
}

fn read(file: &SerializedFileReader<File>) -> Result<Snapshot, String> {
    let (info, entries) = metadata(file)?;
    if *file.metadata().file_metadata().schema() != **SCHEMA {
        return Err("it does not have the columns of a snapshot".into());
    }
    let mut rows = Rows { info: Some(info), builder: None, above: Vec::new() };
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(damaged)?;
        rows.read(&*group)?;
    }
    match rows.builder.map(SnapshotBuilder::finish) {
        Some(snapshot) if snapshot.entries().len() == entries => Ok(snapshot),
        _ => Err("it contains fewer entries than its header says; it is damaged".into()),
    }
}

fn damaged(error: ParquetError) -> String {
    format!("it is damaged or from another program ({error})")
}

/// The rows read so far.
struct Rows {
    /// `None` until the root has been read.
    info: Option<Info>,
    builder: Option<SnapshotBuilder>,
    /// The ancestor directories of the next row, each with the last name in it.
    above: Vec<(u32, Vec<u8>)>,
}

impl Rows {
    fn read(&mut self, group: &dyn RowGroupReader) -> Result<(), String> {
        let rows = group.metadata().num_rows() as usize;
        let read = || -> ParquetResult<_> {
            Ok((
                column::<Int32Type>(group, 0, rows)?,
                column::<ByteArrayType>(group, 1, rows)?,
                column::<ByteArrayType>(group, 2, rows)?,
                column::<Int64Type>(group, 3, rows)?,
                column::<Int32Type>(group, 4, rows)?,
                column::<Int32Type>(group, 5, rows)?,
                column::<Int64Type>(group, 6, rows)?,
                column::<Int64Type>(group, 7, rows)?,
                column::<Int64Type>(group, 8, rows)?,
                column::<Int64Type>(group, 9, rows)?,
                column::<Int64Type>(group, 10, rows)?,
                Lists::read(group, 11, rows)?,
            ))
        };
        let (parent, name, kind, inode, generation, links, size, allocated, changed, modified, born, lists) =
            read().map_err(damaged)?;
        let (mut parent, mut generation, mut links) = (parent.iter(), generation.iter(), links.iter());
        let (mut name, mut kind) = (name.iter(), kind.iter());
        let (mut inode, mut size, mut allocated) = (inode.iter(), size.iter(), allocated.iter());
        let (mut changed, mut modified, mut born) = (changed.iter(), modified.iter(), born.iter());
        let mut result = Ok(());
        lists.for_each(|extents| {
            let number = |column: &mut dyn Iterator<Item = Option<&i64>>| {
                column.next().flatten().copied().unwrap_or(0)
            };
            let entry = Entry {
                parent: parent.next().flatten().copied().unwrap_or(0) as u32,
                kind: Kind::File,
                inode: number(&mut inode) as u64,
                generation: generation.next().flatten().map(|n| *n as u32),
                links: links.next().flatten().copied().unwrap_or(0) as u32,
                size: number(&mut size) as u64,
                allocated: number(&mut allocated) as u64,
                changed_ns: number(&mut changed),
                modified_ns: number(&mut modified),
                born_ns: born.next().flatten().copied(),
            };
            let name = name.next().flatten().map_or(&b""[..], ByteArray::data);
            let kind = kind.next().flatten().map_or(&b""[..], ByteArray::data);
            if result.is_ok() {
                result = self.add(entry, name, kind, extents);
            }
        });
        result
    }

    /// Adds the next row; an error says what is wrong with it.
    fn add(
        &mut self,
        mut entry: Entry,
        name: &[u8],
        kind: &[u8],
        extents: &[crate::Extent],
    ) -> Result<(), String> {
        let known = Kind::ALL.into_iter().find(|known| known.name().as_bytes() == kind);
        entry.kind = known.ok_or_else(|| format!("{} is not a kind of entry", kind.escape_ascii()))?;
        let Some(builder) = &mut self.builder else {
            if entry.kind != Kind::Dir || entry.parent != ROOT || !name.is_empty() || !extents.is_empty() {
                return Err("its first row is not the root".into());
            }
            self.builder = self.info.take().map(|info| SnapshotBuilder::new(info, entry));
            self.above.push((ROOT, Vec::new()));
            return Ok(());
        };
        if !trace::is_valid_name(name) {
            return Err(format!("{:?} is not a valid entry name", name.escape_ascii().to_string()));
        }
        while self.above.last().is_some_and(|(dir, _)| *dir != entry.parent) {
            self.above.pop();
        }
        let Some((_, last)) = self.above.last_mut().filter(|(_, last)| &last[..] < name) else {
            return Err(format!("{:?} is not in scan order", name.escape_ascii().to_string()));
        };
        last.clear();
        last.extend_from_slice(name);
        let is_dir = entry.kind == Kind::Dir;
        if u32::try_from(builder.len()).is_err() {
            return Err("it has more entries than fit in memory".into());
        }
        let place = builder.add(entry, name, extents);
        if is_dir {
            self.above.push((place, Vec::new()));
        }
        Ok(())
    }
}

fn column<T: DataType>(
    group: &dyn RowGroupReader,
    index: usize,
    rows: usize,
) -> ParquetResult<ColumnReader<T>> {
    let mut column = ColumnReader::new(group, index)?;
    column.fill(rows)?;
    Ok(column)
}

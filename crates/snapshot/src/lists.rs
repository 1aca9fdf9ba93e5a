//! The extents of entries as a Parquet list column: three number columns with the same levels.

use crate::Extent;
use crate::encoded::{Encoded, Encoding};
use parquet::column::reader::{get_column_reader, get_typed_column_reader};
use parquet::data_type::Int64Type;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

/// Extents by column. Parquet's definition level says whether there is an extent (an empty list has a level
/// and no value); the repetition level says whether it belongs to the same entry as the one before.
#[derive(Default)]
pub struct Lists {
    numbers: [Vec<i64>; 3],
    present: Vec<i16>,
    repeated: Vec<i16>,
}

impl Lists {
    /// Appends the extents of an entry.
    pub fn push(&mut self, extents: &[Extent]) {
        if extents.is_empty() {
            self.present.push(0);
            self.repeated.push(0);
        }
        for (number, extent) in extents.iter().enumerate() {
            self.present.push(1);
            self.repeated.push((number > 0).into());
            // Parquet stores unsigned numbers in signed ones with the same bits.
            self.numbers[0].push(extent.logical as i64);
            self.numbers[1].push(extent.physical as i64);
            self.numbers[2].push(extent.len as i64);
        }
    }

    /// Encodes one of the three columns.
    pub fn encode(&self, number: usize, to: &Encoding) -> Result<Encoded> {
        to.encode::<Int64Type>(&self.numbers[number], Some(&self.present), Some(&self.repeated))
    }

    /// Reads the lists of a row group; `first` is the first of the three columns.
    pub fn read(group: &dyn RowGroupReader, first: usize, rows: usize) -> Result<Lists> {
        let mut lists = Lists::default();
        let (mut present, mut repeated) = (Vec::new(), Vec::new());
        for (number, values) in lists.numbers.iter_mut().enumerate() {
            let description = group.metadata().column(first + number).column_descr_ptr();
            let pages = group.get_column_page_reader(first + number)?;
            let mut reader = get_typed_column_reader::<Int64Type>(get_column_reader(description, pages));
            let (present, repeated) = match number {
                0 => (&mut lists.present, &mut lists.repeated),
                _ => (&mut present, &mut repeated),
            };
            present.clear();
            repeated.clear();
            let (read, ..) = reader.read_records(rows, Some(present), Some(repeated), values)?;
            if read < rows {
                return Err(ParquetError::EOF(format!("a column ends {} rows early", rows - read)));
            }
            if values.len() != present.iter().filter(|present| **present == 1).count() {
                return Err(ParquetError::General("the levels of a list do not match its values".into()));
            }
        }
        if (&lists.present, &lists.repeated) != (&present, &repeated) || lists.repeated.first() == Some(&1) {
            return Err(ParquetError::General("the columns of a list differ in their levels".into()));
        }
        Ok(lists)
    }

    /// Calls `each` with the extents of each entry.
    pub fn for_each(&self, mut each: impl FnMut(&[Extent])) {
        let [logical, physical, len] = &self.numbers;
        let mut extents = Vec::new();
        let mut value = 0;
        for (index, present) in self.present.iter().enumerate() {
            if *present == 1 {
                extents.push(Extent {
                    logical: logical[value] as u64,
                    physical: physical[value] as u64,
                    len: len[value] as u64,
                });
                value += 1;
            }
            if self.repeated.get(index + 1) != Some(&1) {
                each(&extents);
                extents.clear();
            }
        }
    }
}

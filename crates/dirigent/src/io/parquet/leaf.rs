//! Reading a stored column of a row group, some rows at a time.

use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::schema::types::ColumnDescPtr;

use super::schema::LeafKind;

/// A stored column that is being read.
pub(super) struct Leaf {
    reader: LeafValues,
    kind: LeafKind,
    max_def_level: i16,
    max_rep_level: i16,
    /// From this level on there is an element of a list.
    element_def_level: i16,
    batch: Batch,
}

/// Some rows of a column: for each row one slot, and of lists one for each element.
#[derive(Default)]
pub(super) struct Batch {
    /// Numbers; NaN for a missing one.
    pub(super) numbers: Vec<f64>,
    /// Instead of numbers, in a column of text.
    pub(super) texts: Vec<Option<ByteArray>>,
    /// Of lists: how many elements each row has; nothing where there is no list.
    pub(super) lengths: Vec<Option<usize>>,
    def_levels: Vec<i16>,
    rep_levels: Vec<i16>,
}

enum LeafValues {
    Boolean(ColumnReaderImpl<BoolType>, Vec<bool>),
    Int32(ColumnReaderImpl<Int32Type>, Vec<i32>),
    Int64(ColumnReaderImpl<Int64Type>, Vec<i64>),
    Single(ColumnReaderImpl<FloatType>, Vec<f32>),
    Double(ColumnReaderImpl<DoubleType>, Vec<f64>),
    Text(ColumnReaderImpl<ByteArrayType>, Vec<ByteArray>),
}

impl Leaf {
    /// A column of a supported kind.
    pub(super) fn new(reader: ColumnReader, kind: LeafKind, column: &ColumnDescPtr) -> Result<Self> {
        let reader = match reader {
            ColumnReader::BoolColumnReader(reader) => LeafValues::Boolean(reader, Vec::new()),
            ColumnReader::Int32ColumnReader(reader) => LeafValues::Int32(reader, Vec::new()),
            ColumnReader::Int64ColumnReader(reader) => LeafValues::Int64(reader, Vec::new()),
            ColumnReader::FloatColumnReader(reader) => LeafValues::Single(reader, Vec::new()),
            ColumnReader::DoubleColumnReader(reader) => LeafValues::Double(reader, Vec::new()),
            ColumnReader::ByteArrayColumnReader(reader) => LeafValues::Text(reader, Vec::new()),
            _ => return Err(ParquetError::General("a column of another type than the schema says".into())),
        };
        Ok(Self {
            reader,
            kind,
            max_def_level: column.max_def_level(),
            max_rep_level: column.max_rep_level(),
            element_def_level: column.repeated_ancestor_def_level(),
            batch: Batch::default(),
        })
    }

    /// Reads exactly `n_rows` rows.
    pub(super) fn read(&mut self, n_rows: usize) -> Result<&Batch> {
        let Batch { numbers, texts, lengths, def_levels, rep_levels } = &mut self.batch;
        def_levels.clear();
        rep_levels.clear();
        numbers.clear();
        texts.clear();
        lengths.clear();
        let levels = LevelStreams { def_levels, rep_levels, max_def_level: self.max_def_level };
        match (&mut self.reader, self.kind) {
            (LeafValues::Boolean(reader, values), _) => {
                read(reader, values, n_rows, levels, numbers, |value| f64::from(u8::from(*value)), f64::NAN)?;
            }
            (LeafValues::Int32(reader, values), LeafKind::Integer { is_unsigned: true, .. }) => {
                read(reader, values, n_rows, levels, numbers, |value| f64::from(*value as u32), f64::NAN)?;
            }
            (LeafValues::Int32(reader, values), LeafKind::Integer { divisor, .. }) => {
                read(reader, values, n_rows, levels, numbers, |value| f64::from(*value) / divisor, f64::NAN)?;
            }
            (LeafValues::Int64(reader, values), LeafKind::Integer { is_unsigned: true, .. }) => {
                read(reader, values, n_rows, levels, numbers, |value| *value as u64 as f64, f64::NAN)?;
            }
            (LeafValues::Int64(reader, values), LeafKind::Integer { divisor, .. }) => {
                read(reader, values, n_rows, levels, numbers, |value| *value as f64 / divisor, f64::NAN)?;
            }
            (LeafValues::Single(reader, values), _) => {
                read(reader, values, n_rows, levels, numbers, |value| f64::from(*value), f64::NAN)?;
            }
            (LeafValues::Double(reader, values), _) => {
                read(reader, values, n_rows, levels, numbers, |value| *value, f64::NAN)?
            }
            (LeafValues::Text(reader, values), _) => {
                read(reader, values, n_rows, levels, texts, |value| Some(value.clone()), None)?;
            }
            _ => return Err(ParquetError::General("a column of another type than the schema says".into())),
        }
        if self.max_rep_level > 0 {
            self.batch.part_lists(self.element_def_level);
        }
        Ok(&self.batch)
    }
}

impl Batch {
    /// Finds the elements of each row, and takes out what stands for a list that is missing or empty.
    fn part_lists(&mut self, element_def_level: i16) {
        let mut n_kept = 0;
        for (ix, (&rep_level, &def_level)) in self.rep_levels.iter().zip(&self.def_levels).enumerate() {
            let is_element = def_level >= element_def_level;
            if rep_level == 0 {
                // one level below an element there is a list, and it is empty
                let is_missing = def_level + 1 < element_def_level;
                self.lengths.push((!is_missing).then_some(0));
            }
            if is_element {
                self.numbers[n_kept] = self.numbers[ix];
                n_kept += 1;
                if let Some(Some(length)) = self.lengths.last_mut() {
                    *length += 1;
                }
            }
        }
        self.numbers.truncate(n_kept);
    }
}

struct LevelStreams<'a> {
    def_levels: &'a mut Vec<i16>,
    rep_levels: &'a mut Vec<i16>,
    max_def_level: i16,
}

fn read<T: DataType, S: Clone>(
    reader: &mut ColumnReaderImpl<T>,
    values: &mut Vec<T::T>,
    n_rows: usize,
    levels: LevelStreams<'_>,
    slots: &mut Vec<S>,
    slot: impl Fn(&T::T) -> S,
    missing: S,
) -> Result<()> {
    values.clear();
    let LevelStreams { def_levels, rep_levels, max_def_level } = levels;
    let (n_read, ..) = reader.read_records(n_rows, Some(&mut *def_levels), Some(rep_levels), values)?;
    if n_read != n_rows {
        return Err(ParquetError::EOF(format!("found {n_read} more rows, expected {n_rows}")));
    }
    if max_def_level == 0 || values.len() == def_levels.len() {
        slots.extend(values.iter().map(slot));
        return Ok(());
    }
    let mut rest = values.iter();
    for &def_level in def_levels.iter() {
        let value = if def_level == max_def_level { rest.next() } else { None };
        slots.push(value.map_or_else(|| missing.clone(), &slot));
    }
    Ok(())
}

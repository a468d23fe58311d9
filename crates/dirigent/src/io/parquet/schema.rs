//! What a column of a Parquet file is: a number, a text, a list of numbers, or nothing we can use.

use std::collections::HashMap;

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::io::CellFormat;

/// A column as the file has it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    /// Its name; of a part of a structure, with the names above it.
    pub(super) name: String,
    /// Its number among the stored columns.
    pub(super) leaf_ix: usize,
    pub(super) kind: LeafKind,
    pub(super) is_list: bool,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LeafKind {
    /// 0 or 1.
    Boolean,
    /// 32 or 64 bits.
    Integer {
        /// There are no negative ones.
        is_unsigned: bool,
        /// What a stored number is divided by: a power of ten, of decimal numbers; the units of a day, of times.
        divisor: f64,
        /// Dates and times are days.
        format: CellFormat,
    },
    Single,
    Double,
    Text,
    /// In words.
    Unsupported(&'static str),
}

/// The columns of a file.
pub(super) fn fields(schema: &SchemaDescriptor) -> Vec<Field> {
    let mut leaves_of_root: HashMap<usize, usize> = HashMap::new();
    for leaf_ix in 0..schema.num_columns() {
        *leaves_of_root.entry(schema.get_column_root_idx(leaf_ix)).or_default() += 1;
    }
    let field = |(leaf_ix, leaf): (usize, &ColumnDescriptor)| {
        let root = schema.get_column_root(leaf_ix);
        let has_siblings = leaves_of_root[&schema.get_column_root_idx(leaf_ix)] > 1;
        let is_list = leaf.max_rep_level() == 1 && !has_siblings;
        let kind = match (leaf.max_rep_level(), has_siblings) {
            (0, _) | (1, false) => kind(leaf),
            (1, true) => LeafKind::Unsupported("lists of structures, or maps"),
            _ => LeafKind::Unsupported("lists of lists"),
        };
        let kind = if is_list && kind == LeafKind::Text { LeafKind::Unsupported("lists of text") } else { kind };
        let name = if is_list { root.name().to_owned() } else { leaf.path().parts().join(".") };
        Field { name, leaf_ix, kind, is_list }
    };
    schema.columns().iter().map(|leaf| &**leaf).enumerate().map(field).collect()
}

fn kind(leaf: &ColumnDescriptor) -> LeafKind {
    let (logical, converted) = (leaf.logical_type_ref(), leaf.converted_type());
    match leaf.physical_type() {
        Type::BOOLEAN => LeafKind::Boolean,
        Type::FLOAT => LeafKind::Single,
        Type::DOUBLE => LeafKind::Double,
        Type::INT32 | Type::INT64 => integer(logical, converted, leaf),
        Type::BYTE_ARRAY => match (logical, converted) {
            (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json), _)
            | (None, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON | ConvertedType::NONE) => {
                LeafKind::Text
            }
            (Some(LogicalType::Decimal(_)), _) | (None, ConvertedType::DECIMAL) => {
                LeafKind::Unsupported("long decimal numbers")
            }
            _ => LeafKind::Unsupported("bytes"),
        },
        Type::INT96 => LeafKind::Unsupported("points in time"),
        Type::FIXED_LEN_BYTE_ARRAY => match (logical, converted) {
            (Some(LogicalType::Decimal(_)), _) | (None, ConvertedType::DECIMAL) => {
                LeafKind::Unsupported("long decimal numbers")
            }
            (Some(LogicalType::Float16), _) => LeafKind::Unsupported("half-precision numbers"),
            _ => LeafKind::Unsupported("bytes"),
        },
    }
}

fn integer(logical: Option<&LogicalType>, converted: ConvertedType, leaf: &ColumnDescriptor) -> LeafKind {
    let number = |is_unsigned, divisor, format| LeafKind::Integer { is_unsigned, divisor, format };
    let whole = |is_unsigned| number(is_unsigned, 1.0, CellFormat::Number);
    let decimal = |scale: i32| match usize::try_from(scale).ok().and_then(|scale| POWERS_OF_TEN.get(scale)) {
        Some(&divisor) => number(false, divisor, CellFormat::Number),
        None => LeafKind::Unsupported("decimal numbers of such a scale"),
    };
    let units = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => MILLISECONDS,
        TimeUnit::MICROS => 1e3 * MILLISECONDS,
        TimeUnit::NANOS => 1e6 * MILLISECONDS,
    };
    let date = |divisor| number(false, divisor, CellFormat::YearFirst);
    let time = |divisor| number(false, divisor, CellFormat::Duration);
    match (logical, converted) {
        (Some(LogicalType::Decimal(_)), _) | (None, ConvertedType::DECIMAL) => decimal(leaf.type_scale()),
        (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => date(1.0),
        (Some(LogicalType::Timestamp(timestamp)), _) => date(units(&timestamp.unit)),
        (Some(LogicalType::Time(of_day)), _) => time(units(&of_day.unit)),
        (None, ConvertedType::TIMESTAMP_MILLIS) => date(MILLISECONDS),
        (None, ConvertedType::TIMESTAMP_MICROS) => date(1e3 * MILLISECONDS),
        (None, ConvertedType::TIME_MILLIS) => time(MILLISECONDS),
        (None, ConvertedType::TIME_MICROS) => time(1e3 * MILLISECONDS),
        (_, ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64) => {
            whole(true)
        }
        _ => whole(false),
    }
}

/// Milliseconds of a day.
const MILLISECONDS: f64 = 86_400_000.0;

/// Each is exact as a double.
const POWERS_OF_TEN: [f64; 19] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

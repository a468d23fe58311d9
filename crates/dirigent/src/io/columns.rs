//! What the columns of a data set hold, found out while its files are read one after the other.
//!
//! The first cell that is not missing decides what a column seems to hold, in whichever file it stands. If a later cell tells otherwise, all files are read
//! again with what was learned. Codes, and columns that are left out, are found once all files were read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::InputError;

use super::cell_format::{CellFormat, FormatSet};
use super::codes::Digits;
use super::fitted_columns::FittedColumns;
use super::left_out::LeftOut;
use super::levels::{Levels, Origin};
use super::source;

/// The columns, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct FileColumns {
    kinds: Vec<ColumnKind>,
    /// Missing cells of each column.
    missing: Vec<u64>,
    /// What the cells of each column of numbers look like in text.
    digits: Vec<Digits>,
    /// Columns of arrays, which are all fitted.
    is_of_array: Vec<bool>,
    first: Option<FirstFile>,
    of_fit: Option<OfFit>,
    /// What an earlier reading found, by name.
    learned: HashMap<String, ColumnKind>,
    /// Whether a cell contradicted what its column seemed to hold.
    has_to_restart: bool,
    left_out: Vec<LeftOut>,
}

/// What is known from a fit.
#[derive(Debug)]
struct OfFit {
    n_columns: usize,
    /// By column, where it was fitted to text.
    levels: Vec<Option<Vec<String>>>,
    formats: Vec<CellFormat>,
    numbered_from_zero: bool,
}

/// What a column holds.
#[derive(Debug)]
pub(crate) enum ColumnKind {
    /// Only missing cells so far.
    Unknown,
    /// Numbers.
    Number,
    /// Dates or amounts in one of these formats.
    Formatted(FormatSet),
    /// Numbers or dates in this format; cells in none are missing.
    Fixed(Box<FixedFormat>),
    /// Text.
    Text(Box<Levels>),
}

/// A format that is known, and the cells that are not in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct FixedFormat {
    format: CellFormat,
    n_values: u64,
    n_others: u64,
    other: Option<String>,
}

impl FixedFormat {
    fn value(&mut self, text: &str) -> f64 {
        if let Some(value) = self.format.value(text) {
            self.n_values += 1;
            return value;
        }
        self.n_others += 1;
        self.other.get_or_insert_with(|| text.to_owned());
        f64::NAN
    }
}

impl ColumnKind {
    /// Numbers in a format that is known.
    pub(crate) fn fixed(format: CellFormat) -> Self {
        Self::Fixed(Box::new(FixedFormat { format, ..FixedFormat::default() }))
    }

    fn text(origin: Origin) -> Self {
        Self::Text(Box::new(Levels::new(origin)))
    }

    /// The same before the first cell.
    fn begun(&self) -> Self {
        match self {
            Self::Unknown | Self::Number => Self::Unknown,
            Self::Formatted(formats) => Self::Formatted(*formats),
            Self::Fixed(fixed) => Self::fixed(fixed.format),
            Self::Text(levels) => match levels.mostly() {
                Some(format) => Self::fixed(format),
                None => Self::text(levels.origin()),
            },
        }
    }
}

/// The file that the others must be like.
#[derive(Debug)]
struct FirstFile {
    path: PathBuf,
    n_columns: usize,
    names: Option<Vec<String>>,
    has_header: bool,
}

/// What the columns of a file are called: by its header, or by their numbers in it.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    pub(crate) names: &'a [String],
    pub(crate) has_header: bool,
}

impl FileColumns {
    /// The columns of a fit.
    pub(crate) fn of_fit(fitted: &FittedColumns) -> Self {
        let FittedColumns { n_columns, levels, formats, numbered_from_zero, .. } = fitted.clone();
        Self { of_fit: Some(OfFit { n_columns, levels, formats, numbered_from_zero }), ..Self::default() }
    }

    /// How many columns the fit had.
    pub(crate) fn n_columns_of_fit(&self) -> Option<usize> {
        self.of_fit.as_ref().map(|fit| fit.n_columns)
    }

    /// Whether sparse rows of the fit had columns numbered from 0.
    pub(crate) fn numbered_from_zero(&self) -> bool {
        self.of_fit.as_ref().is_some_and(|fit| fit.numbered_from_zero)
    }

    /// Begins a file with these columns, which must be like those of the first file; `text` are those that hold text because the user says so. Columns without
    /// names are those of an array.
    pub(crate) fn begin(
        &mut self,
        path: &Path,
        n_columns: usize,
        names: Option<Names<'_>>,
        text: &[usize],
    ) -> Result<(), InputError> {
        let has_header = names.is_some_and(|names| names.has_header);
        let all_names = names.map(|names| names.names);
        if let Some(first) = &self.first {
            return first.check_alike(path, n_columns, all_names.filter(|_| has_header));
        }
        let names = all_names.map(<[String]>::to_vec);
        self.is_of_array = vec![names.is_none(); n_columns];
        self.first = Some(FirstFile { path: path.into(), n_columns, names, has_header });
        self.kinds = (0..n_columns).map(|column| self.first_kind(column)).collect();
        self.missing = vec![0; n_columns];
        self.digits = vec![Digits::NONE; n_columns];
        for &ix in text {
            self.kinds[ix] = ColumnKind::text(Origin::Asked);
        }
        Ok(())
    }

    fn first_kind(&self, column: usize) -> ColumnKind {
        let Some(OfFit { levels, formats, .. }) = &self.of_fit else {
            return match self.learned.is_empty() {
                true => ColumnKind::Unknown,
                false => self.learned.get(&self.name(column)).map_or(ColumnKind::Unknown, ColumnKind::begun),
            };
        };
        match levels.get(column).and_then(Option::as_ref) {
            Some(names) => ColumnKind::Text(Box::new(Levels::of_fit(names))),
            None => ColumnKind::fixed(formats.get(column).copied().unwrap_or_default()),
        }
    }

    /// Marks a column as one of an array.
    pub(crate) fn set_of_array(&mut self, column: usize) {
        self.is_of_array[column] = true;
    }

    /// Whether a column is fitted whatever its cells are.
    pub(crate) fn is_of_array(&self, column: usize) -> bool {
        self.is_of_array[column]
    }

    /// Whether a fit says what columns hold.
    pub(crate) fn is_of_fit(&self) -> bool {
        self.of_fit.is_some()
    }

    /// What a column holds, to be found out.
    pub(crate) fn kind(&mut self, column: usize) -> &mut ColumnKind {
        &mut self.kinds[column]
    }

    /// What each column holds.
    pub(crate) fn kinds(&self) -> &[ColumnKind] {
        &self.kinds
    }

    /// Whether some column holds text.
    pub(crate) fn has_text(&self) -> bool {
        self.kinds.iter().any(|kind| matches!(kind, ColumnKind::Text(_)))
    }

    /// What the table holds for a cell that is not missing and not read as a plain number: the number that it stands for, or that of its level.
    pub(crate) fn take_text(&mut self, column: usize, text: &str, origin: Origin) -> Result<f64, InputError> {
        let formats = match &mut self.kinds[column] {
            ColumnKind::Text(levels) => {
                return match levels.number(text) {
                    Some(number) => Ok(number),
                    None => Err(self.too_many_levels(column)),
                };
            }
            ColumnKind::Fixed(fixed) => return Ok(fixed.value(text)),
            ColumnKind::Unknown => formats_of(text, origin),
            ColumnKind::Number => {
                self.has_to_restart = true;
                FormatSet::of(text).and(FormatSet::amounts())
            }
            ColumnKind::Formatted(formats) => {
                let left = formats.and(FormatSet::of(text));
                self.has_to_restart |= left.first() != formats.first();
                left
            }
        };
        if formats.is_empty() {
            self.kinds[column] = ColumnKind::text(origin);
            return self.take_text(column, text, origin);
        }
        self.kinds[column] = ColumnKind::Formatted(formats);
        Ok(formats.first().value(text).unwrap_or(f64::NAN))
    }

    /// Whether all files have to be read again. If so, forgets all but what helps.
    pub(crate) fn restarts(&mut self) -> bool {
        let is_mostly_numbers =
            |kind: &ColumnKind| matches!(kind, ColumnKind::Text(levels) if levels.mostly().is_some());
        let may_be_header = self.first.as_ref().is_some_and(|first| !first.has_header);
        let becomes_numbers = |kind: &ColumnKind| match kind {
            ColumnKind::Text(levels) => is_mostly_numbers(kind) && !(may_be_header && levels.is_text_above_numbers()),
            _ => false,
        };
        if self.of_fit.is_some() || !(self.has_to_restart || self.kinds.iter().any(becomes_numbers)) {
            return false;
        }
        self.restart();
        true
    }

    /// Leaves columns out when all files are read again.
    pub(crate) fn leave_out(&mut self, columns: Vec<LeftOut>) {
        self.left_out.extend(columns);
        self.restart();
    }

    /// Notes a column that cannot be read at all.
    pub(crate) fn add_left_out(&mut self, column: LeftOut) {
        if !self.left_out.contains(&column) {
            self.left_out.push(column);
        }
    }

    /// The columns that are left out.
    pub(crate) fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    fn restart(&mut self) {
        let names: Vec<String> = (0..self.kinds.len()).map(|column| self.name(column)).collect();
        self.learned = names.into_iter().zip(std::mem::take(&mut self.kinds)).collect();
        self.first = None;
        self.has_to_restart = false;
    }

    /// Looks at a cell of text that is a number.
    #[inline]
    pub(crate) fn add_digits(&mut self, column: usize, cell: &[u8]) {
        self.digits[column].add(cell);
    }

    /// The columns of numbers that are codes, each with its width; none if a fit says what columns hold.
    pub(crate) fn codes(&self) -> Vec<(usize, usize)> {
        let code = |(column, kind): (usize, &ColumnKind)| {
            let is_open = self.of_fit.is_none() && matches!(kind, ColumnKind::Number);
            self.digits[column].width().filter(|_| is_open).map(|width| (column, width))
        };
        self.kinds.iter().enumerate().filter_map(code).collect()
    }

    /// Counts missing cells.
    pub(crate) fn add_missing(&mut self, column: usize, n_cells: u64) {
        self.missing[column] += n_cells;
    }

    /// The missing cells of each column.
    pub(crate) fn missing(&self) -> &[u64] {
        &self.missing
    }

    /// The name of each column: as in the header or, if columns are left out of a file without one, its number in the file.
    pub(crate) fn names(&self) -> Option<&[String]> {
        let first = self.first.as_ref().filter(|first| first.has_header || !self.left_out.is_empty())?;
        first.names.as_deref()
    }

    /// The levels of each column that holds text.
    pub(crate) fn levels(&self) -> Vec<Option<Vec<String>>> {
        let levels = |kind: &ColumnKind| match kind {
            ColumnKind::Text(levels) => Some(levels.names().to_vec()),
            _ => None,
        };
        self.kinds.iter().map(levels).collect()
    }

    /// How the cells of each column are numbers.
    pub(crate) fn formats(&self) -> Vec<CellFormat> {
        let format = |kind: &ColumnKind| match kind {
            ColumnKind::Formatted(formats) => formats.first(),
            ColumnKind::Fixed(fixed) => fixed.format,
            _ => CellFormat::Number,
        };
        self.kinds.iter().map(format).collect()
    }

    /// Rejects a column whose first cell alone is text: the first line may be a header.
    pub(crate) fn check_header(&self) -> Result<(), InputError> {
        if self.first.as_ref().is_none_or(|first| first.has_header) || self.is_of_fit() {
            return Ok(());
        }
        for (column, kind) in self.kinds.iter().enumerate() {
            let ColumnKind::Text(levels) = kind else { continue };
            if levels.is_text_above_numbers() {
                let name = self.name(column);
                let first = levels.names().first().map(|name| source::quoted(name.as_bytes())).unwrap_or_default();
                let hint = format!(
                    "if the first line is a header, say `header` yes; else put the cell right, or fit the column as text with `column_families` \
                     {name}=categorical"
                );
                let problem = format!("the first cell is {first}, and all others are numbers");
                return Err(self.in_column(column, problem).hint(hint));
            }
        }
        Ok(())
    }

    /// A text column with more different texts than categories have.
    pub(crate) fn too_many_levels(&self, column: usize) -> InputError {
        let ColumnKind::Text(levels) = &self.kinds[column] else { unreachable!("only text has levels") };
        let problem = format!("has too many levels: {}", levels.described());
        self.in_column(column, problem).hint(format!("leave it out with `exclude` {}", self.name(column)))
    }

    /// What there is to say of cells that count as missing: those whose level the fit has not seen, and those that are no numbers among numbers.
    pub(crate) fn notes(&self) -> Vec<String> {
        let (mut n_cells, mut example) = (0, None);
        let mut notes = Vec::new();
        for (column, kind) in self.kinds.iter().enumerate() {
            match kind {
                ColumnKind::Text(levels) => {
                    let Some((n, text)) = levels.unknown() else { continue };
                    n_cells += n;
                    example.get_or_insert_with(|| {
                        format!("{} in column {}", source::quoted(text.as_bytes()), self.name(column))
                    });
                }
                ColumnKind::Fixed(fixed) => {
                    let Some(other) = &fixed.other else { continue };
                    let (cells, what) = (source::counted(fixed.n_others as usize, "cell"), fixed.format.what());
                    let (does, counts) = if fixed.n_others == 1 { ("does", "counts") } else { ("do", "count") };
                    let (name, other) = (self.name(column), source::quoted(other.as_bytes()));
                    notes.push(format!(
                        "column {name} holds {what}, but {cells} {does} not and {counts} as missing, such as {other}"
                    ));
                }
                _ => {}
            }
        }
        let (has, cells) = (if n_cells == 1 { "has" } else { "have" }, source::counted(n_cells as usize, "cell"));
        notes.extend(example.map(|example| {
            format!("{cells} {has} a text that the fit has not seen and counted as missing, such as {example}")
        }));
        notes
    }

    /// Rejects columns of numbers in which no cell is a number.
    pub(crate) fn check_values(&self) -> Result<(), InputError> {
        for (column, kind) in self.kinds.iter().enumerate() {
            let ColumnKind::Fixed(fixed) = kind else { continue };
            if let (0, Some(other)) = (fixed.n_values, &fixed.other) {
                let (found, what) = (source::quoted(other.as_bytes()), fixed.format.what());
                let error = self.in_column(column, format!("found {found}, expected {what} as in the fit"));
                return Err(error.hint("give the columns of the fit; leave cells empty that are missing"));
            }
        }
        Ok(())
    }

    /// What a column is called.
    pub(crate) fn name(&self, column: usize) -> String {
        let names = self.first.as_ref().and_then(|first| first.names.as_ref());
        names.map_or_else(|| (column + 1).to_string(), |names| names[column].clone())
    }

    /// A mistake in a column.
    pub(crate) fn in_column(&self, column: usize, problem: String) -> InputError {
        let error = match &self.first {
            Some(first) => InputError::in_file(&first.path, problem),
            None => InputError::new(problem),
        };
        error.at_column(self.name(column))
    }
}

/// What a text may stand for. Where a file's types say that it is text, plain numbers are text.
fn formats_of(text: &str, origin: Origin) -> FormatSet {
    let is_plain = origin == Origin::Declared && super::number::number(text.as_bytes()).is_some();
    if is_plain { FormatSet::NONE } else { FormatSet::of(text) }
}

impl FirstFile {
    fn check_alike(&self, path: &Path, n_columns: usize, names: Option<&[String]>) -> Result<(), InputError> {
        let differs = |found: String, expected: String| {
            let problem = format!("found {found}, expected {expected} as in {}", self.path.display());
            InputError::in_file(path, problem).hint("the files of one data set have the same columns")
        };
        if n_columns != self.n_columns {
            return Err(differs(source::counted(n_columns, "column"), self.n_columns.to_string()));
        }
        let header_hint =
            "the files of one data set have the same columns; `header` yes or no says what the first line is";
        match (names, self.names.as_ref().filter(|_| self.has_header)) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(differs("no header".into(), "a header".into()).hint(header_hint)),
            (Some(_), None) => Err(differs("a header".into(), "no header".into()).hint(header_hint)),
            (Some(found), Some(expected)) => match found.iter().zip(expected).position(|(a, b)| a != b) {
                Some(ix) => Err(differs(format!("column {:?}", found[ix]), format!("{:?}", expected[ix]))),
                None => Ok(()),
            },
        }
    }
}

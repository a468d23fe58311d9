//! What the columns of a data set hold, found out while its files are read one after the other.
//!
//! The first cell that is not missing decides whether a column holds numbers or text, in whichever file it stands. Columns of codes are found once all files were read.

use std::path::{Path, PathBuf};

use crate::error::InputError;

use super::codes::Digits;
use super::levels::{Levels, Origin, Problem};
use super::source;

/// The columns, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    kinds: Vec<ColumnKind>,
    /// Missing cells of each column.
    missing: Vec<u64>,
    /// What the cells of each column of numbers look like in text.
    digits: Vec<Digits>,
    first: Option<FirstFile>,
    of_fit: Option<OfFit>,
}

/// What is known from a fit.
#[derive(Debug)]
struct OfFit {
    n_columns: usize,
    /// By column, where it was fitted to text.
    levels: Vec<Option<Vec<String>>>,
    numbered_from_zero: bool,
}

/// What a column holds.
#[derive(Debug)]
pub(crate) enum ColumnKind {
    /// Only missing cells so far.
    Unknown,
    /// Numbers.
    Number,
    /// Text.
    Text(Box<Levels>),
}

impl ColumnKind {
    fn of_fit(levels: Option<&Vec<String>>) -> Self {
        levels.map_or(Self::Number, |names| Self::Text(Box::new(Levels::of_fit(names))))
    }
}

/// The file that the others must be like.
#[derive(Debug)]
struct FirstFile {
    path: PathBuf,
    n_columns: usize,
    names: Option<Vec<String>>,
}

impl Columns {
    /// The columns of a fit: of numbers, or of text with these levels.
    pub(crate) fn of_fit(n_columns: usize, levels: &[Option<Vec<String>>], numbered_from_zero: bool) -> Self {
        Self { of_fit: Some(OfFit { n_columns, levels: levels.to_vec(), numbered_from_zero }), ..Self::default() }
    }

    /// How many columns the fit had.
    pub(crate) fn n_columns_of_fit(&self) -> Option<usize> {
        self.of_fit.as_ref().map(|fit| fit.n_columns)
    }

    /// Whether sparse rows of the fit had columns numbered from 0.
    pub(crate) fn numbered_from_zero(&self) -> bool {
        self.of_fit.as_ref().is_some_and(|fit| fit.numbered_from_zero)
    }

    /// Begins a file with these columns, which must be like those of the first file; `text` are those that hold text because somebody says so.
    pub(crate) fn begin(
        &mut self,
        path: &Path,
        n_columns: usize,
        names: Option<&[String]>,
        text: &[usize],
    ) -> Result<(), InputError> {
        if let Some(first) = &self.first {
            return first.check_alike(path, n_columns, names);
        }
        self.first = Some(FirstFile { path: path.into(), n_columns, names: names.map(<[String]>::to_vec) });
        self.kinds = match &self.of_fit {
            Some(OfFit { levels, .. }) => {
                (0..n_columns).map(|ix| ColumnKind::of_fit(levels.get(ix).and_then(Option::as_ref))).collect()
            }
            None => (0..n_columns).map(|_| ColumnKind::Unknown).collect(),
        };
        self.missing = vec![0; n_columns];
        self.digits = vec![Digits::NONE; n_columns];
        for &ix in text {
            self.kinds[ix] = ColumnKind::Text(Box::new(Levels::new(Origin::Asked)));
        }
        Ok(())
    }

    /// What a column holds, to be found out.
    pub(crate) fn kind(&mut self, column: usize) -> &mut ColumnKind {
        &mut self.kinds[column]
    }

    /// Whether some column holds text.
    pub(crate) fn has_text(&self) -> bool {
        self.kinds.iter().any(|kind| matches!(kind, ColumnKind::Text(_)))
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

    /// The name of each column, where they have names.
    pub(crate) fn names(&self) -> Option<&[String]> {
        self.first.as_ref()?.names.as_deref()
    }

    /// The levels of each column that holds text.
    pub(crate) fn levels(&self) -> Vec<Option<Vec<String>>> {
        let levels = |kind: &ColumnKind| match kind {
            ColumnKind::Text(levels) => Some(levels.names().to_vec()),
            ColumnKind::Unknown | ColumnKind::Number => None,
        };
        self.kinds.iter().map(levels).collect()
    }

    /// Refuses text columns that cannot be meant, once all files were read.
    pub(crate) fn check_levels(&self) -> Result<(), InputError> {
        for (column, kind) in self.kinds.iter().enumerate() {
            let ColumnKind::Text(levels) = kind else { continue };
            if let Some(problem) = levels.problem(&self.name(column)) {
                return Err(self.refused(column, problem));
            }
        }
        Ok(())
    }

    /// A text column with more different texts than categories have.
    pub(crate) fn too_many_levels(&self, column: usize) -> InputError {
        let ColumnKind::Text(levels) = &self.kinds[column] else { unreachable!("only text has levels") };
        self.refused(column, levels.too_many(&self.name(column)))
    }

    /// What there is to say of cells whose level the fit has not seen.
    pub(crate) fn unknown_levels(&self) -> Option<String> {
        let (mut n_cells, mut example) = (0, None);
        for (column, kind) in self.kinds.iter().enumerate() {
            let ColumnKind::Text(levels) = kind else { continue };
            let Some((n, text)) = levels.unknown() else { continue };
            n_cells += n;
            example
                .get_or_insert_with(|| format!("{} in column {}", source::quoted(text.as_bytes()), self.name(column)));
        }
        let (has, cells) = (if n_cells == 1 { "has" } else { "have" }, source::counted(n_cells as usize, "cell"));
        example.map(|example| {
            format!("note: {cells} {has} a text that the fit has not seen and counted as missing, such as {example}")
        })
    }

    fn name(&self, column: usize) -> String {
        self.names().map_or_else(|| (column + 1).to_string(), |names| names[column].clone())
    }

    fn refused(&self, column: usize, Problem { problem, hint }: Problem) -> InputError {
        let error = match &self.first {
            Some(first) => InputError::in_file(&first.path, problem),
            None => InputError::new(problem),
        };
        error.at_column(self.name(column)).hint(hint)
    }
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
        match (names, &self.names) {
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

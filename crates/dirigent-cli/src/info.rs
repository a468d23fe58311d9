//! `dirigent info`: what a data set holds.

use dirigent::internals::io::{CellFormat, DataSet, LeftOut};
use dirigent::internals::run_dir::DataRecord;
use dirigent::internals::survey::{CellSummary, ColumnSummary, CountsSummary, Survey};
use dirigent::{InputError, Result, Row};
use serde::Serialize;

use crate::args::InfoArgs;
use crate::console::{Console, bytes, grouped};
use crate::info_run;

/// Wider tables are cut in the text; `--json` has all columns.
const SHOWN_COLUMNS: usize = 24;

pub(crate) fn run(args: &InfoArgs) -> Result<()> {
    let run = args.paths.iter().find(|path| path.join("run.json").is_file());
    match (run, args.paths.len()) {
        (Some(run), 1) => info_run::run(run, args.json),
        (Some(run), _) => {
            let problem = format!("is a run folder, expected it alone, got {} paths", args.paths.len());
            Err(InputError::in_file(run, problem).hint("describe one run folder at a time").into())
        }
        (None, _) => describe_data(args),
    }
}

fn describe_data(args: &InfoArgs) -> Result<()> {
    let selection = args.selection.selection();
    let data = DataSet::open_with(&args.paths, &selection, &args.storage.storage())?;
    let description = DataDescription {
        data: DataRecord::of(&data, &selection),
        cells: cells(&data),
        n_classes: data.truth().map(|truth| truth.names.len()),
        notes: data.notes().to_vec(),
    };
    let console = Console::default();
    if args.json { console.print_json(&description) } else { console.print(description.text()) }
}

/// What `--json` prints.
#[derive(Serialize)]
struct DataDescription<'a> {
    #[serde(flatten)]
    data: DataRecord<'a>,
    #[serde(flatten)]
    cells: Cells,
    n_classes: Option<usize>,
    /// What there is to say of cells.
    notes: Vec<String>,
}

/// What the rows are made of.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Cells {
    Dense { bytes_a_number: u64, bytes: u64, columns: Vec<Column> },
    Counts { documents: u64, vocabulary: usize, entries: u64, words: u64, bytes: u64 },
}

#[derive(Serialize)]
struct Column {
    name: String,
    #[serde(rename = "type")]
    kind: ColumnType,
    /// What the levels of text are called.
    levels: Option<Vec<String>>,
    missing: u64,
    #[serde(flatten)]
    numbers: Option<Numbers>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum ColumnType {
    Number,
    Date,
    Duration,
    Amount,
    Text,
}

impl ColumnType {
    fn of_format(format: CellFormat) -> Self {
        match format {
            _ if format.is_date() => Self::Date,
            CellFormat::Duration => Self::Duration,
            CellFormat::Number => Self::Number,
            _ => Self::Amount,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Date => "date, as days",
            Self::Duration => "duration, as days",
            Self::Amount => "amount",
            Self::Text => "text",
        }
    }
}

/// The numbers of a column that has some.
#[derive(Clone, Copy, Serialize)]
struct Numbers {
    min: f64,
    mean: f64,
    max: f64,
    sd: f64,
}

fn cells(data: &DataSet) -> Cells {
    let shard = data.all_rows();
    let survey = Survey::of(&shard);
    match &survey.cells {
        CellSummary::Numbers { columns, .. } => {
            let bytes_a_number = if matches!(shard.rows().next(), Some(Row::F32(_))) { 4 } else { 8 };
            let bytes = survey.n_rows * survey.n_columns as u64 * bytes_a_number;
            let columns = columns.iter().enumerate().map(|(ix, summary)| column(data, survey.n_rows, ix, summary));
            Cells::Dense { bytes_a_number, bytes, columns: columns.collect() }
        }
        &CellSummary::Counts(CountsSummary { n_entries, n_words, .. }) => Cells::Counts {
            documents: survey.n_rows,
            vocabulary: survey.n_columns,
            entries: n_entries,
            words: n_words,
            // a word and its count for each entry, and where each row starts
            bytes: 8 * n_entries + 8 * (survey.n_rows + 1),
        },
    }
}

fn column(data: &DataSet, n_rows: u64, ix: usize, summary: &ColumnSummary) -> Column {
    let &ColumnSummary { n, mean, squares, min, max, .. } = summary;
    let levels = data.levels()[ix].clone();
    let has_numbers = n > 0 && levels.is_none();
    Column {
        name: data.column_names().map_or_else(|| (ix + 1).to_string(), |names| names[ix].clone()),
        kind: match &levels {
            Some(_) => ColumnType::Text,
            None => ColumnType::of_format(data.formats().get(ix).copied().unwrap_or_default()),
        },
        missing: n_rows - n,
        numbers: has_numbers.then(|| Numbers { min, mean, max, sd: (squares / n as f64).sqrt() }),
        levels,
    }
}

impl DataDescription<'_> {
    fn text(&self) -> String {
        let mut lines = vec![format!("data     {}", self.data.name)];
        for file in self.data.files {
            let format = format!("{:?}", file.format).to_lowercase();
            lines.push(format!("file     {} ({format}, {} rows)", file.path.display(), grouped(file.n_rows as u64)));
        }
        if let Some(n_classes) = self.n_classes {
            lines.push(format!("truth    {n_classes} classes"));
        }
        match &self.cells {
            Cells::Dense { bytes_a_number, bytes: memory, columns } => {
                lines.push(format!("rows     {}", grouped(self.data.n_rows as u64)));
                let (n, bits) = (grouped(columns.len() as u64), 8 * bytes_a_number);
                let missing: u64 = columns.iter().map(|column| column.missing).sum();
                lines.push(format!("columns  {n}, {bits}-bit numbers"));
                lines.push(format!("memory   {}", bytes(*memory)));
                if missing > 0 {
                    let cells = self.data.n_rows as f64 * columns.len() as f64;
                    let percent = 100.0 * missing as f64 / cells;
                    lines.push(format!("missing  {} cells ({percent:.1} %)", grouped(missing)));
                }
                lines.extend(column_lines(columns));
                if !self.data.left_out.is_empty() {
                    lines.push(String::new());
                    lines.extend(
                        self.data.left_out.iter().map(|LeftOut { name, why }| format!("left out: {name} ({why})")),
                    );
                }
                lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
            }
            Cells::Counts { documents, vocabulary, entries, words, bytes: memory } => {
                lines.push(format!("rows     {} documents", grouped(*documents)));
                lines.push(format!("columns  {} words in the vocabulary", grouped(*vocabulary as u64)));
                lines.push(format!(
                    "entries  {} ({:.1} a document)",
                    grouped(*entries),
                    *entries as f64 / *documents as f64
                ));
                lines.push(format!(
                    "words    {} ({:.1} a document)",
                    grouped(*words),
                    *words as f64 / *documents as f64
                ));
                lines.push(format!("memory   {}", bytes(*memory)));
            }
        }
        lines.join("\n")
    }
}

fn column_lines(columns: &[Column]) -> Vec<String> {
    let shown = &columns[..columns.len().min(SHOWN_COLUMNS)];
    let width = shown.iter().map(|column| column.name.chars().count()).max().unwrap_or(0).clamp(6, 40);
    let line = |name: &str, kind: &str, missing: &str, numbers: [String; 4]| {
        let numbers = numbers.map(|number| format!(" {number:>12}")).concat();
        format!("{name:width$} {kind:18} {missing:>9}{numbers}").trim_end().to_owned()
    };
    let titles = ["min", "mean", "max", "sd"].map(str::to_owned);
    let mut lines = vec![format!("\n{}", line("column", "type", "missing", titles))];
    for Column { name, kind, levels, missing, numbers } in shown {
        let kind = match levels.as_ref().map(Vec::len) {
            None => kind.text().to_owned(),
            Some(1) => "text, 1 level".to_owned(),
            Some(n_levels) => format!("text, {n_levels} levels"),
        };
        let numbers = match numbers {
            Some(Numbers { min, mean, max, sd }) => [min, mean, max, sd].map(|number| short(*number)),
            None => Default::default(),
        };
        lines.push(line(name, &kind, &grouped(*missing), numbers));
    }
    if columns.len() > shown.len() {
        lines.push(format!("and {} more columns (--json has them all)", columns.len() - shown.len()));
    }
    lines
}

/// At most twelve characters.
fn short(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        1e-3..1e6 => format!("{number:.4}"),
        _ => format!("{number:.3e}"),
    }
}

//! Every bad input is refused with a message that names the place, what was found, what was expected and the way out.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use dirigent::internals::io::{DataSet, Selection, read_labels};
use dirigent::internals::rows::Table;
use dirigent::{Error, Header, InputError};
use tempfile::TempDir;

/// A mistake, and the folder of the files that it was found in.
struct Refused {
    error: InputError,
    _folder: TempDir,
}

impl Refused {
    /// Checks the file's name, the place ("line 3", "row 2" or nothing) and the column (or nothing).
    fn at(&self, file: &str, row: &str, column: &str) -> &Self {
        let found = self.error.file.as_ref().and_then(|file| file.file_name()).unwrap_or_default();
        assert_eq!(found.to_string_lossy(), file, "{}", self.error);
        assert_eq!(self.error.row.as_deref().unwrap_or_default(), row, "{}", self.error);
        assert_eq!(self.error.column.as_deref().unwrap_or_default(), column, "{}", self.error);
        self
    }

    /// Checks what the message and the hint say.
    fn says(&self, problem: &str, hint: &str) {
        let found = self.error.hint.as_deref().expect("every mistake here has a way out");
        assert!(self.error.problem.contains(problem), "problem: {}\nlacks {problem:?}", self.error.problem);
        assert!(found.contains(hint), "hint: {found}\nlacks {hint:?}");
    }
}

fn mistake(result: Result<impl Sized, Error>) -> InputError {
    match result {
        Ok(_) => panic!("this should be refused"),
        Err(Error::Input(error)) => *error,
        Err(error) => panic!("not the user's mistake: {error}"),
    }
}

/// What is said of files in a folder, opened in the given order.
fn files<const N: usize>(files: [(&str, &[u8]); N]) -> Refused {
    select(files, &Selection::default())
}

fn select<const N: usize>(files: [(&str, &[u8]); N], selection: &Selection) -> Refused {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.path().join(name)).collect();
    paths.iter().zip(files).for_each(|(path, (_, contents))| fs::write(path, contents).unwrap());
    Refused { error: mistake(DataSet::open(&paths, selection)), _folder: folder }
}

fn csv(text: &str) -> Refused {
    files([("t.csv", text.as_bytes())])
}

fn docword(text: &str) -> Refused {
    files([("docword.t.txt", text.as_bytes())])
}

fn counts(text: &str) -> Refused {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    fs::write(&path, text).unwrap();
    let data = DataSet::open(&[path], &Selection::default()).unwrap();
    Refused { error: mistake(data.into_counts()), _folder: folder }
}

fn labels(name: &str, contents: &[u8]) -> Refused {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, contents).unwrap();
    Refused { error: mistake(read_labels(&path)), _folder: folder }
}

fn npy(descr: &str, shape: &str, cells: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &length, header.as_bytes(), cells].concat()
}

fn array(descr: &str, shape: &str, cells: &[u8]) -> Refused {
    files([("t.npy", &npy(descr, shape, cells))])
}

fn gzip(contents: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(contents).unwrap();
    encoder.finish().unwrap()
}

fn doubles(cells: &[f64]) -> Vec<u8> {
    cells.iter().flat_map(|cell| cell.to_le_bytes()).collect()
}

#[test]
fn no_data() {
    let error = mistake(DataSet::open(&[], &Selection::default()));
    assert_eq!(error.to_string(), "no data given");
}

#[test]
fn missing_file() {
    let error = mistake(DataSet::open(&["no/such.csv".into()], &Selection::default()));
    assert_eq!(error.to_string(), "no/such.csv: no such file");
    assert!(error.hint.unwrap().contains("check the path"));
    assert_eq!(mistake(read_labels("no/such.txt".as_ref())).to_string(), "no/such.txt: no such file");
}

#[test]
fn folder_without_data_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("README.md"), "x").unwrap();
    let error = mistake(DataSet::open(&[folder.path().into()], &Selection::default()));
    assert_eq!(error.file.as_deref(), Some(folder.path()));
    assert!(error.problem.contains("holds no data files") && error.hint.unwrap().contains(".npy, .csv, .tsv"));
    let error = mistake(read_labels(folder.path()));
    assert!(error.problem.contains("is a folder"), "{error}");
}

#[cfg(unix)]
#[test]
fn file_without_permission() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    fs::write(&path, "1\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // the superuser may read everything
    if fs::File::open(&path).is_err() {
        let error = mistake(DataSet::open(&[path], &Selection::default()));
        assert!(error.problem.contains("no permission") && error.hint.unwrap().contains("owner"));
    }
}

#[test]
fn empty_file() {
    for name in ["t.parquet", "t.npz"] {
        files([(name, b"")]).at(name, "", "").says("the file is empty", "written to the end");
        let zipped = format!("{name}.gz");
        files([(&zipped, b"x")]).at(&zipped, "", "").says("compressed inside", "gunzip");
    }
    for name in ["t.npy", "t.csv", "t.tsv", "docword.t.txt", "t.svm", "t.mtx"] {
        files([(name, b"")]).at(name, "", "").says("the file is empty", "written to the end");
        let zipped = format!("{name}.gz");
        files([(&zipped, &gzip(b""))]).at(&zipped, "", "").says("the file is empty", "written to the end");
    }
    labels("t.txt", b"").at("t.txt", "", "").says("the file is empty", "written");
    labels("t.txt", b"\n\n").at("t.txt", "", "").says("the file is empty", "written");
}

#[test]
fn unknown_extension() {
    files([("t.parquette", b"x")]).at("t.parquette", "", "").says("the format .parquette is not known", ".npy, .csv");
    files([("t", b"x")]).at("t", "", "").says("no extension", ".npy, .csv, .tsv, .svm");
    files([("words.txt", b"x")]).at("words.txt", "", "").says("supported are .npy", "docword");
}

#[test]
fn damaged_gzip() {
    let zipped = gzip("1,2\n".repeat(1000).as_bytes());
    files([("t.csv.gz", b"1,2\n")]).at("t.csv.gz", "", "").says("not a whole gzip file", "gzip -t");
    files([("t.csv.gz", &zipped[..zipped.len() / 2])]).at("t.csv.gz", "", "").says("not a whole gzip", "gzip -t");
    files([("t.npy.gz", b"\x1f\x8b\x08")]).at("t.npy.gz", "", "").says("not a whole gzip file", "copy it again");
    files([("t.npy", &zipped)]).at("t.npy", "", "").says("expected \\x93NUMPY", ".npy.gz");
}

#[test]
fn npy_with_wrong_magic_or_version() {
    files([("t.npy", b"1,2\n3,4\n")]).at("t.npy", "", "").says("expected \\x93NUMPY", "numpy.save");
    files([("t.npy", b"\x93NUM")]).at("t.npy", "", "").says("expected \\x93NUMPY", "numpy.save");
    files([("t.npy", b"\x93NUMPY\x09\x00")]).at("t.npy", "", "").says("version 9.0", "numpy.save");
}

#[test]
fn npy_truncated_or_too_long() {
    let whole = npy("'<f8'", "(2, 3)", &doubles(&[0.5; 6]));
    for end in 6..whole.len() - 48 {
        files([("t.npy", &whole[..end])]).at("t.npy", "", "").says("truncated", "again");
    }
    let expected = "expected 48 (shape 2 × 3, 8 bytes a cell)";
    files([("t.npy", &whole[..whole.len() - 1])]).says(&format!("truncated: found 47 bytes of cells, {expected}"), "");
    files([("t.npy.gz", &gzip(&whole[..whole.len() - 1]))]).says("truncated: found 47 bytes", "copy or write it again");
    let long = [whole.as_slice(), b"x"].concat();
    files([("t.npy", &long)]).says(&format!("too long: found 49 bytes of cells, {expected}"), "copy or write it again");
    files([("t.npy.gz", &gzip(&long))]).says("too long: found more bytes of cells, expected 48", "damaged");
}

#[test]
fn npy_with_an_absurd_shape() {
    let absurd = "more than fits in memory";
    array("'<f8'", "(4294967296, 4294967296)", &[]).at("t.npy", "", "").says(absurd, "damaged");
    array("'<f8'", "(18446744073709551615, 2)", &[0; 16]).says(absurd, "damaged");
    array("'<f8'", "(2305843009213693952,)", &[]).says(absurd, "damaged");
    array("'<f8'", "(99999999999999999999,)", &[]).says("no shape of whole numbers", "numpy.save");
    array("'<f8'", "(1000000000000, 3)", &[0; 24]).says("truncated: found 24 bytes", "damaged");
    files([("t.npy.gz", &gzip(&npy("'<f8'", "(4294967296, 4294967296)", &[])))]).says(absurd, "damaged");
    let claim = [b"\x93NUMPY\x02\x00".as_slice(), &u32::MAX.to_le_bytes(), b"{}"].concat();
    files([("t.npy", &claim)])
        .at("t.npy", "", "")
        .says("claims 4294967295 bytes, expected at most 65536", "numpy.save");
}

#[test]
fn npy_of_another_dimension() {
    array("'<f8'", "(1, 2, 3)", &[0; 48])
        .at("t.npy", "", "")
        .says("3 dimensions (1 × 2 × 3), expected 1 or 2", "reshape");
    array("'<f8'", "()", &[0; 8]).says("0 dimensions (a single number)", "reshape");
    array("'<f8'", "(0, 3)", &[]).at("t.npy", "", "").says("zero rows: the shape is 0 × 3", "right array");
    array("'<f8'", "(3, 0)", &[]).at("t.npy", "", "").says("zero columns: the shape is 3 × 0", "right array");
}

#[test]
fn npy_without_numbers() {
    array("'|O'", "(1,)", &[0; 8]).at("t.npy", "", "").says("\"|O\" (Python objects), expected whole", "astype");
    array("[('a', '<f4'), ('b', '<f4')]", "(1,)", &[0; 8]).says("several fields (a structured array)", "numpy.save");
    array("'|b1'", "(1,)", &[0]).says("(true or false)", "astype(numpy.uint8)");
    array("'<U3'", "(1,)", &[0; 12]).says("(text)", "astype");
    array("'<f2'", "(1,)", &[0; 2]).says("\"<f2\"", "astype");
    array("'|f8'", "(1,)", &[0; 8]).says("no stated byte order", "astype");
    array("'<é'", "(1,)", &[0; 8]).says("found cells of type", "astype");
    array("5", "(1,)", &[0; 8]).says("not the dictionary that NumPy writes", "numpy.save");
}

#[test]
fn npy_with_infinity() {
    let cells = doubles(&[1.0, f64::NAN, 3.0, f64::INFINITY]);
    array("'<f8'", "(2, 2)", &cells)
        .at("t.npy", "row 2", "2")
        .says("found inf, expected a finite number", "write NaN for a missing value");
    let cells: Vec<u8> = [1f32, f32::NEG_INFINITY].iter().flat_map(|cell| cell.to_le_bytes()).collect();
    array("'<f4'", "(2,)", &cells).at("t.npy", "row 2", "1").says("found -inf", "`exclude` 1");
}

#[test]
fn ragged_table() {
    csv("a,b\n1,2\n\n3\n").at("t.csv", "line 4", "").says("found 1 cell, expected 2 as in the first line", "quotes");
    csv("1,2\r\n3,4,5\r\n").at("t.csv", "line 2", "").says("found 3 cells, expected 2", "quotes");
    csv("1,2\n\"3,4\n").at("t.csv", "line 2", "").says("a quote is opened and never closed", "close it");
}

/// Text among numbers is no mistake: few cells make a column of levels, and one that is mostly numbers keeps them.
#[test]
fn text_in_a_numeric_column() {
    let columns = |files: &[(&str, &str)]| {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.path().join(name)).collect();
        paths.iter().zip(files).for_each(|(path, (_, text))| fs::write(path, text).unwrap());
        let data = DataSet::open(&paths, &Selection::default()).unwrap();
        (data.levels().iter().map(Option::is_some).collect::<Vec<_>>(), data.missing())
    };
    assert_eq!(columns(&[("t.csv", "x,kind\n1,2\n3,cat\n")]).0, [false, true]);
    assert_eq!(columns(&[("a.csv", "x,y\n1,2\n"), ("b.csv", "x,y\na,3\n")]).0, [true, false]);
    let numbers: String = (0..40).map(|n| format!("{},{n}\n", n % 7)).collect();
    assert_eq!(columns(&[("t.csv", &format!("x,y\n{numbers}oops,3\n"))]), (vec![false, false], vec![1, 0]));
}

#[test]
fn a_header_that_is_taken_for_a_row() {
    csv("a,2019\n1,2\n3,4\n")
        .at("t.csv", "", "1")
        .says("the first cell is \"a\", and all others are numbers", "say `header` yes");
    let header = Selection { header: Header::Yes, ..Selection::default() };
    select([("t.csv", b"1,2\n")], &header).at("t.csv", "", "").says("zero rows", "`header` no");
    let exclude = Selection { exclude: vec!["colour".into()], ..Selection::default() };
    select([("t.csv", b"colour,1\nred,2\n")], &exclude).says("the file has no header", "`header` yes");
}

#[test]
fn text_that_is_no_level() {
    let rows = |n: usize| (0..n).map(|n| format!("{n},name {n}\n")).collect::<String>();
    let kept = Selection { columns: Some(vec!["x".into(), "who".into()]), ..Selection::default() };
    select([("t.csv", format!("x,who\n{}", rows(1001)).as_bytes())], &kept)
        .at("t.csv", "", "who")
        .says("more than 1000 different", "`exclude` who");
    let asked = Selection { text_columns: vec!["x".into()], exclude: vec!["who".into()], ..Selection::default() };
    select([("t.csv", format!("x,who\n{}", rows(1001)).as_bytes())], &asked)
        .at("t.csv", "", "x")
        .says("more than 1000 different texts", "`exclude` x");
    let asked = Selection { text_columns: vec!["y".into()], ..Selection::default() };
    select([("t.csv", b"x,who\n1,a\n")], &asked).says("no column \"y\"", "x, who");
}

#[test]
fn infinity_in_a_table() {
    for infinity in ["inf", "-Infinity", "1e999"] {
        csv(&format!("x\n1\n{infinity}\n")).at("t.csv", "line 3", "x").says("expected a finite number", "`exclude` x");
        csv(&format!("x\n{infinity}\n")).at("t.csv", "line 2", "x").says("expected a finite number", "cell empty");
    }
}

#[test]
fn table_without_rows_or_with_a_strange_header() {
    csv("x,y\n").at("t.csv", "", "").says("zero rows", "written to the end");
    csv("x,y,x\n1,2,3\n").at("t.csv", "line 1", "").says("columns 1 and 3 are both named \"x\"", "its own name");
}

#[test]
fn table_that_is_not_utf_8() {
    files([("t.csv", b"x,y\n1,2\n3,\xff4\n")]).at("t.csv", "line 3", "y").says("not UTF-8", "");
    files([("t.csv", b"x,\xff\n1,2\n")]).at("t.csv", "line 1", "").says("not UTF-8", "convert the file to UTF-8");
}

#[test]
fn unknown_or_senseless_columns() {
    let named = |name: &str| Some(vec![name.to_string()]);
    let table: [(&str, &[u8]); 1] = [("t.csv", b"x,y\n1,2\n")];
    let of = |columns| Selection { columns, ..Selection::default() };
    select(table, &of(named("z"))).at("t.csv", "", "").says("no column \"z\"", "the columns are: x, y");
    select([("t.csv", b"1,2\n")], &of(named("z"))).says("the file has no header", "by their numbers, 1 to 2");
    let label = Selection { label_column: Some("kind".into()), ..Selection::default() };
    select(table, &label).says("no column \"kind\"", "x, y");
    select([("t.csv", b"x,kind\n1,\n")], &label).at("t.csv", "line 2", "2").says("expected a label", "every row");
    let nothing = Selection { exclude: vec!["x".into(), "y".into()], ..Selection::default() };
    select(table, &nothing).at("t.csv", "", "").says("no column is left", "exclude fewer");
    select([("docword.t.txt", b"1\n1\n1\n1 1 1\n")], &label).says("no column of labels", "`truth`");
}

#[test]
fn cells_that_are_not_counts() {
    counts("a,b\n1,2\n3,\n5,4\n").at("t.csv", "row 2", "b").says("the cell is missing (1 cell in all)", "`exclude` b");
    counts("a,b\n1,x\n").at("t.csv", "", "b").says("holds text, such as \"x\"", "`exclude` b");
    counts("a,b\n1,2\n3,-4\n").at("t.csv", "row 2", "b").says("found -4, expected a count", "`exclude` b");
    counts("1,0.5\n").at("t.csv", "row 1", "2").says("found 0.5, expected a count: a whole number", "family");
    counts("1,4294967296\n").at("t.csv", "row 1", "2").says("found 4294967296", "family");
    let in_memory = DataSet::of_table("t", Table::from_f32(1, vec![1.0, -1.0]));
    assert!(mistake(in_memory.into_counts()).to_string().starts_with("row 2, column 1: found -1"));
}

#[test]
fn docword_with_a_broken_head() {
    docword("two\n3\n1\n1 1 1\n")
        .at("docword.t.txt", "line 1", "")
        .says("found \"two\", expected the number", "three lines");
    docword("1\n3\n").at("docword.t.txt", "", "").says("the file ends before the number of entries", "three lines");
    docword("0\n3\n0\n").at("docword.t.txt", "line 1", "").says("zero rows", "three lines");
    docword("1\n0\n0\n").at("docword.t.txt", "line 2", "").says("zero columns", "three lines");
    docword("4294967295\n3\n0\n").at("docword.t.txt", "line 1", "").says("expected at most 4294967294", "three lines");
    docword("1\n2147483649\n0\n").at("docword.t.txt", "line 2", "").says("expected at most 2147483648", "three lines");
    docword("4000000000\n3\n1\n1 1 1\n").at("docword.t.txt", "", "").says("too many empty ones", "without gaps");
}

#[test]
fn docword_with_a_wrong_entry() {
    let entry = |entry: &str| docword(&format!("2\n3\n2\n2 1 1\n{entry}\n"));
    let at = |found: &Refused, column, problem, hint| found.at("docword.t.txt", "line 5", column).says(problem, hint);
    at(&entry("2 4 1"), "word", "found word 4, expected 1 to 3", "size of the vocabulary");
    at(&entry("2 0 1"), "word", "found word 0, expected 1 to 3", "begin at 1");
    at(&entry("3 1 1"), "document", "found document 3, expected 1 to 2", "three lines");
    at(&entry("0 1 1"), "document", "found document 0, expected 1 to 2", "three lines");
    at(&entry("1 1 1"), "document", "found document 1 after document 2, expected rising order", "sort");
    at(&entry("2 2 0"), "count", "found the count 0, expected 1 to", "leave out");
    at(&entry("2 2 4294967296"), "count", "found the count 4294967296, expected 1 to 4294967295", "leave out");
    at(&entry("2 2 -3"), "count", "found \"-3\", expected a whole number of at least 1", "whole numbers");
    at(&entry("2 2 1.5"), "count", "found \"1.5\", expected a whole number", ".csv");
    at(&entry("2 x 1"), "word", "found \"x\", expected a whole number", "whole numbers");
    at(&entry("2 2"), "", "found 2 values, expected 3: document, word and count", "three lines");
    docword("2\n3\n2\n2 1 1\n2 1 1\n").at("docword.t.txt", "row 2", "").says("lists word 1 twice", "add the counts up");
}

#[test]
fn docword_with_another_number_of_entries() {
    docword("2\n3\n1\n1 1 1\n2 1 1\n")
        .at("docword.t.txt", "line 5", "")
        .says("one more entry, expected 1", "three lines");
    docword("2\n3\n3\n1 1 1\n2 1 1\n")
        .at("docword.t.txt", "", "")
        .says("truncated: found 2 entries, expected 3", "again");
}

#[test]
fn files_that_do_not_belong_together() {
    let refused = files([("a.csv", b"x,y\n1,2\n"), ("b.csv", b"x\n1\n")]);
    refused.at("b.csv", "", "").says("found 1 column, expected 2 as in", "same columns");
    files([("a.csv", b"x,y\n1,2\n"), ("b.csv", b"x,z\n1,2\n")])
        .says("found column \"z\", expected \"y\" as in", "same");
    files([("a.csv", b"x,y\n1,2\n"), ("b.csv", b"1,2\n")]).says("found no header, expected a header", "`header`");
    files([("a.csv", b"1,2\n"), ("b.csv", b"x,y\n1,2\n")]).says("found a header, expected no header", "same columns");
    let counts: &[u8] = b"1\n2\n1\n1 1 1\n";
    files([("a.csv", b"1,2\n"), ("docword.txt", counts)]).says("found word counts, expected a dense table", "same");
    files([("docword.txt", counts), ("b.csv", b"1,2\n")]).at("b.csv", "", "").says("expected word counts", "same");
}

#[test]
fn labels_that_cannot_be_read() {
    labels("t.npy", &npy("'<f8'", "(2,)", &doubles(&[1.0, 0.5])))
        .at("t.npy", "row 2", "")
        .says("found 0.5", "integers");
    labels("t.npy", &npy("'<f8'", "(1,)", &doubles(&[f64::NAN])))
        .at("t.npy", "row 1", "")
        .says("found NaN", "integers");
    labels("t.npy", &npy("'<i8'", "(1,)", &(1i64 << 53).to_le_bytes())).says("below 2⁵³", "integers");
    labels("t.npy", &npy("'<f8'", "(1, 2)", &[0; 16])).at("t.npy", "", "").says("found 2 columns", "one-dimensional");
    labels("t.npy", b"junk").at("t.npy", "", "").says("expected \\x93NUMPY", "numpy.save");
    labels("t.csv", b"a,b\n1,2\n").at("t.csv", "line 1", "").says("2 columns and none named label", "one label a line");
    labels("t.csv", b"row,label\n1,\n").at("t.csv", "line 2", "2").says("empty cell, expected a label", "every row");
    labels("t.csv", b"label\n").at("t.csv", "", "").says("the file is empty", "written");
    labels("t.txt", b"a\n\nb\n").at("t.txt", "line 2", "").says("found an empty line, expected a label", "one a line");
    labels("t.txt", b"a\n\xff\n").at("t.txt", "line 2", "").says("not UTF-8", "convert");
}

use super::*;
use crate::io::test_files::{Files, npy, open, rows};
use crate::io::{Header, Selection};

#[test]
fn files_are_laid_end_to_end_in_the_given_order() {
    let files = Files::new();
    let cells: Vec<u8> = [9f32, 10.0].iter().flat_map(|cell| cell.to_le_bytes()).collect();
    let paths = [
        files.write("b.csv", "1,2\n3,4\n"),
        files.write("a.tsv.gz", "5\t6\n"),
        files.write("c.npy", npy("'<f4'", false, "(1, 2)", &cells)),
    ];
    let data = DataSet::open(&paths, &Selection::default()).unwrap();
    assert_eq!(rows(&data), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [9.0, 10.0]]);
    assert_eq!((data.name(), data.n_rows(), data.shard(1..3).n_rows()), ("b", 4, 2));
    let n_rows: Vec<_> = data.files().iter().map(|file| (file.format, file.n_rows)).collect();
    assert_eq!(n_rows, [(Format::Csv, 2), (Format::Tsv, 1), (Format::Npy, 1)]);
    assert!(serde_json::to_string(data.files()).unwrap().contains(r#""format":"npy""#));
}

#[test]
fn labels_are_numbered_across_files_and_columns_found_by_name() {
    let files = Files::new();
    let paths = [files.write("a.csv", "x,kind,y\n1,b,2\n"), files.write("b.csv", "y,x,kind\n4,3,a\n6,5,b\n")];
    let columns = Some(vec!["x".into(), "y".into()]);
    let selection = Selection { columns, label_column: Some("kind".into()), ..Selection::default() };
    let data = DataSet::open(&paths, &selection).unwrap();
    assert_eq!(rows(&data), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    assert_eq!(data.truth().unwrap().labels, [0, 1, 0]);
}

#[test]
fn the_first_cell_decides_in_whichever_file_it_stands() {
    let files = Files::new();
    let cells: Vec<u8> = [f64::NAN, 5.0].iter().flat_map(|cell| cell.to_le_bytes()).collect();
    let paths = [
        files.write("a.npy", npy("'<f8'", false, "(1, 2)", &cells)),
        files.write("b.csv", ",7\nred,8\n"),
        files.write("c.csv", "blue,9\nred,\n"),
    ];
    let data = DataSet::open(&paths, &Selection::default()).unwrap();
    let names = vec!["red".to_owned(), "blue".to_owned()];
    assert_eq!((data.levels(), data.missing()), (&[Some(names), None][..], vec![2, 1]));
    let cells: Vec<f64> = rows(&data).concat();
    assert_eq!(cells[3..7], [7.0, 0.0, 8.0, 1.0]);
    let mixed = [paths[2].clone(), files.write("d.csv", "red,1\nblue,x\n")];
    let data = DataSet::open(&mixed, &Selection::default()).unwrap();
    let names = ["9", "1", "x"].map(str::to_owned).to_vec();
    assert_eq!(data.levels()[1], Some(names), "a later cell tells otherwise, and all are read again");
}

#[test]
fn columns_that_say_nothing_are_left_out_unless_they_are_asked_for() {
    let row = |n: usize| format!("{n},C-{n},2024-01-{:02},\"${},000.50\",,DE,{}\n", n % 28 + 1, n % 3 + 1, n % 5);
    let text = format!("id,customer,day,spent,empty,country,x\n{}", (1..=30).map(row).collect::<String>());
    let data = open("t.csv", &text, &Selection::default()).unwrap();
    let left_out: Vec<&str> = data.left_out().iter().map(|column| column.name.as_str()).collect();
    assert_eq!(left_out, ["customer", "empty", "id", "country"]);
    assert_eq!(data.column_names().unwrap(), ["day", "spent", "x"]);
    assert_eq!(rows(&data)[1], [19_725.0, 3000.5, 2.0]);
    assert_eq!(data.warnings().len(), 1);
    let columns = Some(["id", "customer", "country"].map(str::to_owned).to_vec());
    let asked = open("t.csv", &text, &Selection { columns, ..Selection::default() }).unwrap();
    assert_eq!((asked.n_columns(), asked.left_out().len()), (3, 0));
    let kept = open("t.csv", &text, &Selection { kept: vec!["country".into()], ..Selection::default() }).unwrap();
    assert_eq!(kept.column_names().unwrap(), ["day", "spent", "country", "x"]);
    let error = open("t.csv", "a,b\n,\n,NA\n", &Selection { header: Header::Yes, ..Selection::default() }).unwrap_err();
    assert!(error.to_string().contains("no column is left to fit: a (every cell is missing)"), "{error}");
}

#[test]
fn rows_that_are_all_alike_keep_their_columns() {
    let data = open("t.csv", "x,y\n1,2\n1,2\n", &Selection::default()).unwrap();
    assert_eq!((data.n_columns(), data.warnings().len()), (2, 0));
}

#[test]
fn all_cells_of_all_files_decide_what_a_date_is() {
    let files = Files::new();
    let paths = [files.write("a.csv", "when,x\n03/04/1970,1\n,2\n"), files.write("b.csv", "when,x\n25/04/1970,3\n")];
    let data = DataSet::open(&paths, &Selection::default()).unwrap();
    assert_eq!((rows(&data)[0][0], rows(&data)[2][0]), (92.0, 114.0), "the third of April");
    let ages: String = (20..40).map(|age| format!("{age},{}\n", age % 3)).collect();
    let data = open("t.csv", format!("age,x\nunknown,1\n{ages}"), &Selection::default()).unwrap();
    assert!(rows(&data)[0][0].is_nan() && rows(&data)[1][0] == 20.0 && data.levels()[0].is_none());
    assert!(data.warnings()[0].contains("column age holds numbers, but 1 cell does not"), "{:?}", data.warnings());
}

#[test]
fn semicolons_separate_cells_where_there_are_no_commas() {
    let data = open("t.csv", "a;b\n1,5;x\n2,25;y\n", &Selection::default()).unwrap();
    assert_eq!(rows(&data), [[1.5, 0.0], [2.25, 1.0]]);
}

#[test]
fn what_needs_numbers_refuses_missing_cells_and_text_with_their_place() {
    let refused = |text: &str| open("t.csv", text, &Selection::default()).unwrap().into_counts().unwrap_err();
    let error = refused("x,y\n1,2\n3,\n,4\n");
    assert!(error.to_string().contains("t.csv, row 2, column y: the cell is missing (2 cells in all)"), "{error}");
    assert!(error.hint().unwrap().contains("`exclude` y"));
    let error = refused("x,y\n1,a\n");
    assert!(error.to_string().contains("t.csv, column y: holds text, such as \"a\""), "{error}");
    let in_memory = DataSet::of_table("t", Table::from_f32(2, vec![1.0, 2.0, 3.0, f32::NAN]));
    assert_eq!((in_memory.missing(), in_memory.levels().len()), (vec![0, 1], 2));
    assert!(in_memory.check_numbers("it").unwrap_err().to_string().starts_with("row 2, column 2: the cell"));
}

#[test]
fn whole_numbers_become_counts() {
    let data = open("t.csv", "a,b,c\n0,2,-0\n1,0,4294967295\n", &Selection::default()).unwrap();
    let dense = rows(&data);
    let counts = data.into_counts().unwrap();
    assert!(counts.is_counts());
    assert_eq!(rows(&counts), dense);
    assert_eq!(rows(&counts.into_counts().unwrap()), dense);
}

#[test]
fn the_fingerprint_sees_cells_and_shape_but_no_file_borders() {
    let print = |table| DataSet::of_table("t", table).fingerprint();
    let cells = vec![1.0, 2.0, 3.0, 4.0];
    let whole = print(Table::from_f64(2, cells.clone()));
    assert_eq!(whole, print(Table::from_f64(2, cells.clone())));
    assert_ne!(whole, print(Table::from_f64(1, cells.clone())));
    assert_ne!(whole, print(Table::from_f64(2, vec![1.0, 2.0, 4.0, 3.0])));
    let files = Files::new();
    let paths = [files.write("a.csv", "1,2\n"), files.write("b.csv", "3,4\n")];
    assert_eq!(whole, DataSet::open(&paths, &Selection::default()).unwrap().fingerprint());
    let counts = |text: &str| open("docword.t.txt", text, &Selection::default()).unwrap().fingerprint();
    assert_ne!(counts("2\n2\n2\n1 1 1\n1 2 1\n"), counts("2\n2\n2\n1 1 1\n2 2 1\n"));
}

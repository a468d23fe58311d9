//! Whether the first line of a text table is a header.
//!
//! It is none if one of its cells is a number. Otherwise it is one if, in a column that it names, the first cell below is a number. In a
//! table of nothing but text it is one if its cells differ from one another and none occurs again in its column. Missing cells say
//! nothing, and only the first hundred rows are looked at. Whoever knows better says `--header yes` or `no`.

use std::collections::{HashSet, VecDeque};
use std::path::Path;

use crate::error::Result;

use super::delimited::is_missing;
use super::number::number;
use super::records::{Record, Records, text};
use super::selection::{ColumnNames, Header};
use super::source;

/// Rows that are looked at.
const LOOKED_AT: usize = 100;

/// The beginning of a table: what its columns are called, and the rows that had to be read to find out.
pub(crate) struct Beginning {
    pub(crate) columns: ColumnNames,
    pub(crate) rows: VecDeque<Record>,
}

/// Reads as much as it takes to know.
pub(crate) fn read(path: &Path, reader: &mut Records, header: Header) -> Result<Beginning> {
    let mut first = Record::default();
    if !reader.read(&mut first)? {
        return Err(source::empty(path).into());
    }
    let mut rows = VecDeque::new();
    let is_header = match header {
        Header::Yes => true,
        Header::No => false,
        Header::Auto => is_header(&first, reader, &mut rows)?,
    };
    if is_header {
        let name = |cell| text(path, first.line, cell).map(String::from);
        let columns = ColumnNames::of_header(first.cells.iter().map(name).collect::<Result<_, _>>()?);
        return Ok(Beginning { columns, rows });
    }
    let columns = match header {
        Header::Auto => ColumnNames::without_header(first.cells.len()),
        Header::Yes | Header::No => ColumnNames::numbered(first.cells.len()),
    };
    rows.push_front(first);
    Ok(Beginning { columns, rows })
}

fn is_header(first: &Record, reader: &mut Records, rows: &mut VecDeque<Record>) -> Result<bool> {
    let names: Vec<&[u8]> = first.cells.iter().map(<[u8]>::trim_ascii).collect();
    if names.iter().any(|name| is_number(name)) || names.iter().all(|name| is_missing(name)) {
        return Ok(false);
    }
    let mut seen = HashSet::new();
    let mut are_distinct = names.iter().all(|name| is_missing(name) || seen.insert(name));
    // columns of which no cell was seen yet
    let mut is_open: Vec<bool> = names.iter().map(|name| !is_missing(name)).collect();
    while rows.len() < LOOKED_AT {
        let mut record = Record::default();
        if !reader.read(&mut record)? {
            break;
        }
        let mut has_number = false;
        for (ix, cell) in record.cells.iter().map(<[u8]>::trim_ascii).enumerate() {
            if is_missing(cell) {
                continue;
            }
            has_number |= is_open[ix] && is_number(cell);
            is_open[ix] = false;
            are_distinct &= cell != names[ix];
        }
        rows.push_back(record);
        if has_number {
            return Ok(true);
        }
    }
    Ok(are_distinct)
}

fn is_number(cell: &[u8]) -> bool {
    !is_missing(cell) && number(cell).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::test_files::Files;

    /// Whether there is a header, and how many rows were read to find out.
    fn look(text: &str, header: Header) -> (bool, usize) {
        let files = Files::new();
        let path = files.write("t.csv", text);
        let beginning = read(&path, &mut Records::open(&path, b',').unwrap(), header).unwrap();
        (beginning.columns.has_header(), beginning.rows.len())
    }

    fn has_header(text: &str) -> bool {
        look(text, Header::Auto).0
    }

    #[test]
    fn names_above_numbers_are_a_header() {
        assert_eq!(look("a,b\n1,2\n3,4\n", Header::Auto), (true, 1));
        assert_eq!(look("1,2\n3,4\n", Header::Auto), (false, 1));
        assert!(has_header("name,x\ncat,1\ncat,2\n"));
        assert!(has_header("name,x\nname,NA\nname,\nname,4\n"), "missing cells say nothing");
        assert!(has_header(",x\n0,1\n"), "a column may go without a name");
        assert!(has_header("x,x\n1,2\n"), "names that are given twice are refused later");
        assert!(!has_header("cat,\ndog,4\ncat,5\n"), "a missing cell above a number is no name");
    }

    #[test]
    fn in_a_table_of_text_names_do_not_occur_again() {
        assert_eq!(look("colour,size\nred,big\nblue,big\n", Header::Auto), (true, 2));
        assert!(!has_header("red,big\nblue,big\n"));
        assert!(!has_header("x,x\ny,z\n"), "names differ");
        assert!(!has_header("p,x\ne,x\n"));
        assert!(!has_header("?,NA\na,b\n"), "a line of missing cells names nothing");
        assert!(has_header("a,b\n"), "there is nothing below it");
        assert!(!has_header("red,1\nblue,2\n"));
        let long = format!("red,big\n{}", "blue,small\n".repeat(100));
        assert_eq!(look(&(long.clone() + "red,big\n"), Header::Auto), (true, 100));
    }

    #[test]
    fn who_knows_better_says_so() {
        assert_eq!(look("name,2019\nx,1\n", Header::Yes), (true, 0));
        assert_eq!(look("a,b\n1,2\n", Header::No), (false, 1));
    }
}

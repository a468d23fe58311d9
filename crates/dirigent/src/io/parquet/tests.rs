use proptest::prelude::*;

use super::*;
use crate::io::test_files::{damaged, open, opens_or_explains};

const FILES: [&[u8]; 6] = [
    include_bytes!("../../../tests/data/mixed_snappy.parquet"),
    include_bytes!("../../../tests/data/mixed_zstd.parquet"),
    include_bytes!("../../../tests/data/mixed_groups.parquet"),
    include_bytes!("../../../tests/data/numbers_encoded.parquet"),
    include_bytes!("../../../tests/data/vectors.parquet"),
    include_bytes!("../../../tests/data/mixed_gzip.parquet"),
];

#[test]
fn what_is_no_parquet_file_is_refused() {
    let refused = |contents: &[u8]| {
        let error = open("t.parquet", contents, &Selection::default()).unwrap_err();
        assert!(error.to_string().contains("t.parquet: cannot be read as a Parquet file"), "{error}");
        assert!(error.hint().is_some());
    };
    refused(b"a,b\n1,2\n");
    refused(b"PAR1");
    refused(b"PAR1\xff\xff\xff\xffPAR1");
    refused(b"PAR1\xff\xff\xff\x7fPAR1");
    for file in FILES {
        refused(&file[..file.len() / 2]);
        refused(&file[..file.len() - 1]);
    }
}

#[test]
fn text_where_another_file_has_numbers_is_refused() {
    let files = crate::io::test_files::Files::new();
    let numbers = files.write("a.csv", "x,count,flag,colour,gap,kind\n1,2,1,3,0.5,cat\n");
    let text = files.write("b.parquet", FILES[0]);
    let error = crate::io::DataSet::open(&[numbers, text], &Selection::default()).unwrap_err().to_string();
    assert!(error.contains("b.parquet, row 1, column colour: found \"green\", expected a number"), "{error}");
}

fn any_damaged() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        damaged(FILES[0].to_vec()),
        damaged(FILES[1].to_vec()),
        damaged(FILES[2].to_vec()),
        damaged(FILES[3].to_vec()),
        damaged(FILES[4].to_vec()),
        damaged(FILES[5].to_vec()),
    ]
}

proptest! {
    #[test]
    fn damaged_files_never_panic(file in any_damaged()) {
        opens_or_explains("t.parquet", &file);
    }
}

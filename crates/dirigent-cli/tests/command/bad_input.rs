use crate::place::Place;
use std::fs;

#[test]
fn a_wrong_option_is_refused_by_name_value_and_expectation() {
    let place = Place::with_two_clusters();
    let cases: &[(&str, &[&str])] = &[
        ("--alpha -1", &["--alpha", "-1", "positive"]),
        ("--alpha 0", &["--alpha", "0", "positive"]),
        ("--alpha nan", &["--alpha", "nan", "positive"]),
        ("--alpha inf", &["--alpha", "inf", "positive"]),
        ("--alpha many", &["--alpha", "many", "auto or a positive number"]),
        ("--prior sigma=0", &["--prior sigma", "0", "positive"]),
        ("--prior sigma=-2.5", &["--prior sigma", "-2.5", "positive"]),
        ("--prior sigma0=-1e3", &["--prior sigma0", "-1000", "positive"]),
        ("--prior sigma=wide", &["--prior sigma", "wide", "a number"]),
        ("--prior m0=inf", &["--prior m0", "inf", "finite"]),
        ("--prior gamma=1", &["--prior gamma", "multinomial"]),
        ("--family gaussian --prior gamma=1", &["--prior gamma", "multinomial"]),
        ("--family multinomial --prior sigma=1", &["--prior sigma", "isotropic"]),
        ("--family cauchy", &["--family", "cauchy", "gaussian", "multinomial"]),
        ("--covariance round", &["--covariance", "round", "isotropic", "diag", "full"]),
        ("--family poisson --covariance full", &["--covariance", "gaussian"]),
        ("--column-family x=normal", &["--column-family", "gaussian, bernoulli, poisson or categorical"]),
        ("--column-family q=poisson", &["--column-family", "\"q\"", "hint: "]),
        ("--family vmf", &["length 1", "--normalize"]),
        ("--prior nu0=0", &["--prior nu0", "larger than"]),
        ("--workers 0", &["--workers", "0"]),
        ("--cycles 0", &["--cycles", "0"]),
        ("--cycles -5", &["--cycles", "-5"]),
        ("--cycles often", &["--cycles", "often"]),
        ("--seed -1", &["--seed", "-1"]),
        ("--seed 1.5", &["--seed", "1.5"]),
        ("--draws 0", &["--draws", "0"]),
        ("--thin 2", &["--draws"]),
        ("--draws 2 --thin 0", &["--thin", "0"]),
        ("--draws 9000000000000000000", &["--draws", "hint: "]),
        ("--quiet -v", &["--quiet", "--verbose"]),
        ("--engine ray", &["--engine"]),
        ("--prior", &["--prior"]),
        ("--method-option kernel=mmx", &["--method-option kernel", "mmx", "portable"]),
    ];
    for (options, parts) in cases {
        // columns 1 and 2 are counts as well, so that every family gets as far as its options
        place.write("whole.csv", "a,b\n1,2\n3,4\n");
        place.refused(&format!("fit whole.csv {options}"), parts);
    }
    assert!(!place.path("runs").exists(), "what is refused leaves no run folder");
}

#[test]
fn wrong_columns_and_labels_are_refused() {
    let place = Place::with_two_clusters();
    place.write("short.txt", "0\n1\n");
    place.refused("fit two.csv --prior sigma=1", &["column class", "holds text", "hint: ", "--exclude class"]);
    place.refused("fit two.csv --family multinomial", &["two.csv", "column class", "holds text", "hint: "]);
    place.refused("fit two.csv --columns x,z", &["two.csv", "z", "hint: "]);
    place.refused("fit two.csv --exclude q", &["two.csv", "q"]);
    place.refused("fit two.csv --label-column kind", &["two.csv", "kind"]);
    place.refused("fit two.csv --exclude class --truth short.txt", &["short.txt", "2 labels", "60 rows", "hint: "]);
    place.refused("fit two.csv --exclude class --truth missing.txt", &["missing.txt"]);
    place.refused("fit two.csv --label-column class --truth two.labels.txt", &["--truth", "--label-column"]);
    assert!(!place.path("runs").exists());
}

/// An array header around the given dictionary, and no data.
fn npy(dictionary: &str) -> Vec<u8> {
    let dictionary = format!("{dictionary:<117}\n");
    [b"\x93NUMPY\x01\x00", &(dictionary.len() as u16).to_le_bytes()[..], dictionary.as_bytes()].concat()
}

#[test]
fn bad_files_are_refused() {
    let place = Place::new();
    let header =
        |descr: &str, shape: &str| npy(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"));
    let files: &[(&str, Vec<u8>)] = &[
        ("empty.npy", vec![]),
        ("empty.csv", vec![]),
        ("header.csv", b"a,b\n".to_vec()),
        ("magic.npy", b"not an array at all".to_vec()),
        ("cut.npy", header("'<f4'", "(10, 2)")),
        ("huge.npy", header("'<f8'", "(4294967296, 4294967296)")),
        ("cube.npy", [header("'<f4'", "(1, 1, 1)"), vec![0; 4]].concat()),
        ("object.npy", [header("'|O'", "(1, 1)"), vec![0; 8]].concat()),
        ("none.npy", header("'<f4'", "(0, 2)")),
        ("ragged.csv", b"a,b\n1,2\n3\n".to_vec()),
        ("inf.csv", b"a,b\n1,2\n3,inf\n".to_vec()),
        ("docword.beyond.txt", b"1\n3\n1\n1 4 1\n".to_vec()),
        ("docword.negative.txt", b"1\n3\n1\n1 1 -1\n".to_vec()),
        ("docword.fraction.txt", b"1\n3\n1\n1 1 0.5\n".to_vec()),
        ("docword.empty.txt", vec![]),
        ("broken.csv.gz", b"not zipped".to_vec()),
        ("table.xlsx", b"PK".to_vec()),
    ];
    for (name, content) in files {
        place.write(name, content);
        place.refused(&format!("fit {name}"), &[name]);
    }
    // missing cells are refused by families that need them all
    place.write("nan.csv", "a,b\n1,2\nnan,4\n3,5\n");
    place.write("nan.npy", [header("'<f4'", "(1, 2)"), vec![0xff; 8]].concat());
    place.refused("fit nan.csv --covariance full", &["a (1)", "--covariance diag", "hint: "]);
    place.refused("fit nan.npy --prior sigma=1", &["1 (1), 2 (1)", "--family mixed", "hint: "]);
    place.refused("fit nan.csv --family multinomial", &["row 2", "column a", "the cell is missing", "hint: "]);
    place.refused("fit missing.csv", &["missing.csv"]);
    // what cannot be squared, or is no count that anybody has counted
    place.write("wide.csv", "a,b\n1,2\n3,1e300\n5,7\n");
    for options in ["", "--covariance isotropic", "--covariance diag", "--method cgs"] {
        place.refused(&format!("fit wide.csv {options}"), &["column b", "1e300", "too large to be squared", "hint: "]);
    }
    place.write("many.csv", "a,b\n1,2\n3,1e15\n5,7\n");
    place.refused("fit many.csv --family poisson", &["column b", "poisson", "hint: "]);
    fs::create_dir(place.path("folder")).unwrap();
    place.refused("fit folder", &["folder"]);
    place.write("negative.csv", "a,b\n1,2\n-3,4\n");
    place.refused("fit negative.csv --family multinomial", &["negative.csv", "-3"]);
    place.write("fraction.csv", "a,b\n1,2\n3,0.5\n");
    place.refused("fit fraction.csv --family multinomial", &["fraction.csv", "0.5"]);
    place.write("docword.txt", "1\n3\n1\n1 1 1\n");
    place.refused("fit docword.txt --family gaussian", &["gaussian", "counts", "hint: "]);
    assert!(!place.path("runs").exists(), "what is refused leaves no run folder");
}

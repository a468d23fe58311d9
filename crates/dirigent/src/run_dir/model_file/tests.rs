use std::io::Read as _;

use proptest::prelude::*;

use super::*;
use crate::family::{Column, Columns, ColumnsKind, GaussianFixed};
use crate::io::Selection;
use crate::io::test_files::damaged as damage;

fn gaussian() -> FittedModel {
    let family =
        GaussianFixed { noise_sd: 0.5, mean_sd: 2.0, prior_mean: vec![0.1, -3.0], offset: vec![1.0 / 3.0, 7.0] };
    let stats = |count, sums: [f64; 2]| Stats { count, sums: Sums::Dense(sums.into()) };
    FittedModel {
        model: Model::GaussianFixed(family),
        alpha: 0.7,
        columns: FittedColumns {
            n_columns: 2,
            names: Some(vec!["x".into(), "y".into()]),
            selection: Selection { label_column: Some("class".into()), ..Selection::default() },
            levels: Vec::new(),
            formats: Vec::new(),
            left_out: Vec::new(),
            numbered_from_zero: false,
        },
        transform: None,
        components: vec![stats(3, [0.1 + 0.2, -1e-300]), stats(2, [1e17, 5.0])],
    }
}

/// Two principal components of three columns.
fn rotated() -> FittedModel {
    let FittedModel { columns, .. } = gaussian();
    let names = Some(["x", "y", "z"].map(String::from).to_vec());
    FittedModel {
        columns: FittedColumns { n_columns: 3, names, ..columns },
        transform: Some(Transform {
            offset: vec![0.1, 1.0 / 3.0, 1e300],
            scale: vec![2.0, 1.0, 1e-300],
            rotation: Some(vec![vec![0.6, 0.8, 0.0], vec![-0.8, 0.6, 1e-17]]),
            normalize: false,
        }),
        ..gaussian()
    }
}

/// One of the two columns held text.
fn levelled() -> FittedModel {
    let FittedModel { columns, .. } = gaussian();
    let levels = vec![None, Some(vec!["red".into(), "\"blue\"".into()])];
    let law = |law, has_missing| Column { law, has_missing };
    let family = Columns {
        kind: ColumnsKind::Mixed,
        columns: vec![
            law(ColumnLaw::Poisson { shape: 1.0, rate: 0.3 }, false),
            law(ColumnLaw::Categorical { smoothing: 0.5, n_levels: 2 }, true),
        ],
    };
    let stats = |count, sums: [f64; 4]| Stats { count, sums: Sums::Dense(sums.into()) };
    FittedModel {
        model: Model::Columns(family),
        columns: FittedColumns { levels, ..columns },
        components: vec![stats(3, [7.0, 2.0, 0.0, 2.0]), stats(2, [0.0, 1.0, 1.0, 2.0])],
        ..gaussian()
    }
}

fn multinomial() -> FittedModel {
    let stats = |count, entries: &[(u32, i64)]| Stats { count, sums: Sums::Counts(entries.to_vec()) };
    FittedModel {
        model: Model::Multinomial(Multinomial { smoothing: 0.3, n_words: 5 }),
        alpha: 1.0,
        columns: FittedColumns {
            n_columns: 5,
            names: None,
            selection: Selection::default(),
            levels: Vec::new(),
            formats: Vec::new(),
            left_out: Vec::new(),
            numbered_from_zero: false,
        },
        transform: None,
        // the total is the last coordinate; a component of empty documents has none
        components: vec![stats(4, &[(0, 2), (4, 70_000), (5, 70_002)]), stats(1, &[(1, 1), (5, 1)]), stats(1, &[])],
    }
}

/// The files of a model.
fn files(model: &FittedModel) -> (Vec<u8>, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    model.write(folder.path()).unwrap();
    (fs::read(folder.path().join(MODEL)).unwrap(), fs::read(folder.path().join(COMPONENTS)).unwrap())
}

fn read(record: &[u8], components: &[u8]) -> Result<FittedModel> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(MODEL), record).unwrap();
    fs::write(folder.path().join(COMPONENTS), components).unwrap();
    FittedModel::read(folder.path())
}

/// The message of a mistake.
fn refused(record: &[u8], components: &[u8]) -> String {
    match read(record, components) {
        Err(Error::Input(error)) => {
            assert!(error.file.is_some() && error.hint.is_some(), "{error}");
            error.to_string()
        }
        other => panic!("the user's mistake expected, got {other:?}"),
    }
}

#[test]
fn a_model_survives_the_way_through_files_to_the_last_bit() {
    for model in [gaussian(), multinomial(), rotated(), levelled()] {
        let (record, components) = files(&model);
        assert_eq!(read(&record, &components).unwrap(), model);
        assert_eq!(files(&model), (record, components), "the same model gives the same bytes");
    }
}

#[test]
fn dense_counts_are_written_as_sparse_ones() {
    let model = multinomial();
    let components = model.components.iter().map(|stats| stats.to_dense(6)).collect();
    assert_eq!(files(&FittedModel { components, ..model.clone() }), files(&model));
}

/// With a reader of zip and of arrays that are not ours.
#[test]
fn another_reader_finds_the_arrays() {
    fn array<T: npyz::Deserialize>(components: &[u8], name: &str) -> (Vec<u64>, Vec<T>) {
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(components)).unwrap();
        let mut bytes = Vec::new();
        archive.by_name(&format!("{name}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
        let file = npyz::NpyFile::new(&bytes[..]).unwrap();
        (file.shape().to_vec(), file.into_vec().unwrap())
    }
    let (_, components) = files(&gaussian());
    assert_eq!(array::<i64>(&components, "counts"), (vec![2], vec![3, 2]));
    assert_eq!(array::<f64>(&components, "weights"), (vec![2], vec![3.0 / 5.7, 2.0 / 5.7]));
    assert_eq!(array::<f64>(&components, "sums"), (vec![2, 2], vec![0.1 + 0.2, -1e-300, 1e17, 5.0]));
    assert_eq!(array::<f64>(&components, "offset"), (vec![2], vec![1.0 / 3.0, 7.0]));
    let (shape, means) = array::<f64>(&components, "means");
    let kappa = 0.0625;
    let expected = 7.0 + (kappa * (-3.0 - 7.0) + 5.0) / (kappa + 2.0);
    assert!(shape == [2, 2] && (means[3] - expected).abs() < 1e-12, "{means:?}");

    let (_, components) = files(&multinomial());
    assert_eq!(array::<i64>(&components, "data"), (vec![3], vec![2, 70_000, 1]));
    assert_eq!(array::<i32>(&components, "indices"), (vec![3], vec![0, 4, 1]));
    assert_eq!(array::<i64>(&components, "indptr"), (vec![4], vec![0, 2, 3, 3]));
    assert_eq!(array::<i64>(&components, "shape"), (vec![2], vec![3, 5]));
}

#[test]
fn what_does_not_fit_together_is_refused_with_the_name_of_the_file() {
    let (record, components) = files(&gaussian());
    let text = String::from_utf8(record.clone()).unwrap();
    for (from, to, part) in [
        ("\"format\": 1", "\"format\": 3", "format 3"),
        ("\"format\": 1", "\"form\": 1", "no `format`"),
        ("\"alpha\": 0.7", "\"alpha\": -0.7", "`alpha`"),
        ("\"noise_sd\": 0.5", "\"noise_sd\": 0", "`noise_sd`"),
        ("\"n_columns\": 2", "\"n_columns\": 3", "columns"),
        ("\"n_rows\": 5", "\"n_rows\": 6", "sum to 6"),
        ("\"n_components\": 2", "\"n_components\": 3", "expected 3"),
        ("\"gaussian_fixed\"", "\"cauchy\"", "cauchy"),
        ("{", "", "model.json"),
    ] {
        assert!(text.contains(from), "{from}");
        let message = refused(text.replacen(from, to, 1).as_bytes(), &components);
        assert!(message.contains(part), "{from} → {to}: {message}");
    }
    let message = refused(&record, &components[..components.len() / 2]);
    assert!(message.contains("components.npz"), "{message}");
    let message = refused(&record, &files(&multinomial()).1);
    assert!(message.contains("components.npz"), "{message}");
    let elsewhere = GaussianFixed { noise_sd: 0.5, mean_sd: 2.0, prior_mean: vec![0.1, -3.0], offset: vec![0.0, 7.0] };
    let other = FittedModel { model: Model::GaussianFixed(elsewhere), ..gaussian() };
    let message = refused(&record, &files(&other).1);
    assert!(message.contains("components.npz[offset]"), "{message}");
    let mut changed = components.clone();
    let sum = 1e17f64.to_le_bytes();
    let at = changed.windows(8).position(|bytes| bytes == sum).unwrap();
    changed[at] ^= 1;
    let message = refused(&record, &changed);
    assert!(message.contains("components.npz[sums]") && message.contains("checksum"), "{message}");
}

#[test]
fn levels_and_transforms_that_do_not_fit_are_refused() {
    for (model, from, to, part) in [
        (rotated(), "\"scale\": [\n      2.0", "\"scale\": [\n      -2.0", "transform.scale"),
        (rotated(), "\"offset\": [\n      0.1,", "\"offset\": [", "as many finite offsets"),
        (rotated(), "0.6,\n        0.8,", "0.6,", "rows of 3 numbers"),
        (rotated(), "\"n_columns\": 3", "\"n_columns\": 2", "2 columns and 3 names, the model of 3"),
        (levelled(), "\"levels\": [\n      null,", "\"levels\": [", "tells of 1 columns, expected 2"),
    ] {
        let (record, components) = files(&model);
        let text = String::from_utf8(record).unwrap();
        assert!(text.contains("\"format\": 2") && text.contains(from), "{from} in {text}");
        let message = refused(text.replacen(from, to, 1).as_bytes(), &components);
        assert!(message.contains(part), "{from} → {to}: {message}");
    }
}

#[test]
fn a_folder_without_a_model_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let error = FittedModel::read(folder.path()).unwrap_err();
    assert!(error.to_string().contains("model.json: is not there"), "{error}");
    assert!(error.hint().unwrap().contains("dirigent fit"));
}

proptest! {
    #[test]
    fn damaged_files_never_panic(
        record in damage(files(&gaussian()).0),
        components in damage(files(&gaussian()).1),
        rotated_record in damage(files(&rotated()).0),
        sparse_record in damage(files(&multinomial()).0),
        sparse in damage(files(&multinomial()).1),
    ) {
        let (good_record, good) = files(&gaussian());
        let (good_sparse_record, good_sparse) = files(&multinomial());
        for (record, components) in [
            (&good_record, &components), (&record, &good), (&rotated_record, &good), (&good_sparse_record, &sparse), (&sparse_record, &good_sparse),
        ] {
            match read(record, components) {
                Ok(model) => prop_assert!(model.n_rows() > 0),
                Err(Error::Input(error)) => prop_assert!(!error.problem.is_empty()),
                Err(error) => prop_assert!(false, "not the user's mistake: {}", error),
            }
        }
    }

    /// Past the checksums: arrays that are whole but make no sense.
    #[test]
    fn senseless_arrays_never_panic(
        data in proptest::collection::vec(-2..5i64, 0..5),
        indices in proptest::collection::vec(-1..6i32, 0..5),
        ends in proptest::collection::vec(-1..6i64, 0..5),
        counts in proptest::collection::vec(-1..5i64, 0..4),
        shape in proptest::collection::vec(0..6i64, 0..3),
    ) {
        let folder = tempfile::tempdir().unwrap();
        multinomial().write(folder.path()).unwrap();
        let mut file = NpzWriter::new(&folder.path().join(COMPONENTS));
        file.array("counts", &[counts.len()], counts).unwrap();
        file.array("data", &[data.len()], data).unwrap();
        file.array("indices", &[indices.len()], indices).unwrap();
        file.array("indptr", &[ends.len()], ends).unwrap();
        file.array("shape", &[shape.len()], shape).unwrap();
        file.finish().unwrap();
        let _ = FittedModel::read(folder.path());
    }
}

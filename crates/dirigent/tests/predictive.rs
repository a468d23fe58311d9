//! Prediction: equal to the labels of the fit on its rows, to the slow twin on any rows, and a density that sums to 1.

mod common;

use common::shard_of;
use dirigent::internals::family::{GaussianFixed, Multinomial};
use dirigent::internals::io::synthetic::MixtureLaw;
use dirigent::internals::io::{FittedColumns, Selection};
use dirigent::internals::method::cgs::{CgsOptions, Outcome};
use dirigent::internals::method::consolidated::{DistributedOptions, Engine};
use dirigent::internals::method::{MethodSetup, run};
use dirigent::internals::posterior::horizon::Cycles;
use dirigent::internals::posterior::predictive::Predictor;
use dirigent::internals::protocol::CoordinatorOptions;
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::Shard;
use dirigent::internals::run_dir::FittedModel;
use dirigent::{Alpha, Gamma, Kernel, Model, ModelOptions, OwnedRow, Stats, Sums};

/// A fit by one chain, and one by five workers.
fn fits(rows: &Shard, model: &ModelOptions) -> [(Model, Outcome); 2] {
    let (alpha, seed, kernel) = (Alpha::Auto, 3, Kernel::best());
    let cgs = MethodSetup::Cgs(CgsOptions { cycles: Cycles::Fixed(6), alpha, seed, kernel, ..CgsOptions::default() });
    let coordinator = CoordinatorOptions {
        n_workers: 5,
        alpha,
        cycles: Cycles::Fixed(6),
        seed,
        kernel: Some(kernel),
        ..CoordinatorOptions::default()
    };
    let engine = Engine::Threads(2);
    let dirigent = MethodSetup::Distributed(DistributedOptions {
        coordinator,
        model: model.clone(),
        engine,
        ..DistributedOptions::default()
    });
    [cgs, dirigent].map(|options| {
        let model = Model::resolve(model, &options.survey(rows)).unwrap();
        let (outcome, _) = run(rows, &model, &options, None, &mut ()).unwrap();
        (model, outcome)
    })
}

/// The same model after a stay on the disk.
fn through_files(model: Model, outcome: &Outcome) -> FittedModel {
    let columns = FittedColumns {
        n_columns: model.n_columns(),
        names: None,
        selection: Selection::default(),
        levels: Vec::new(),
        formats: Vec::new(),
        left_out: Vec::new(),
        numbered_from_zero: false,
    };
    let (alpha, components) = (outcome.alpha, outcome.components.clone());
    let fitted = FittedModel { model, alpha, columns, transform: None, components };
    let folder = tempfile::tempdir().unwrap();
    fitted.write(folder.path()).unwrap();
    FittedModel::read(folder.path()).unwrap()
}

fn predictor(fitted: &FittedModel, n_threads: usize) -> Predictor {
    Predictor::new(&fitted.model, &fitted.components, fitted.alpha, Kernel::best(), n_threads)
}

fn predicts_the_labels_of_the_fit(rows: &Shard, options: &ModelOptions) {
    for (model, outcome) in fits(rows, options) {
        let sizes: Vec<i64> = outcome.components.iter().map(|stats| stats.count).collect();
        let mut counted = vec![0; outcome.k];
        outcome.state.iter().for_each(|&label| counted[label as usize] += 1);
        assert_eq!(sizes, counted, "components are those of the state, by falling size");
        let fitted = through_files(model, &outcome);
        for n_threads in [1, 3] {
            let predictions = predictor(&fitted, n_threads).predict(rows);
            assert!(predictions.iter().map(|prediction| prediction.label).eq(outcome.labels.iter().copied()));
            assert!(predictions.iter().map(|prediction| prediction.certainty).eq(outcome.certainty.iter().copied()));
        }
    }
}

#[test]
fn on_the_rows_of_the_fit_labels_and_certainties_are_those_of_the_run() {
    for n_columns in [2, 12] {
        let law = MixtureLaw { n_rows: 1500, n_columns, n_clusters: 8, centre_sd: 3.0, ..MixtureLaw::synthetic() };
        let options = ModelOptions { sigma: Some(1.0), sigma0: Some(3.0), ..ModelOptions::default() };
        predicts_the_labels_of_the_fit(&Shard::of_table(law.table().unwrap().0), &options);
    }
    predicts_the_labels_of_the_fit(
        &documents(),
        &ModelOptions { gamma: Some(Gamma::Fixed(0.2)), ..ModelOptions::default() },
    );
}

/// Short documents of three overlapping topics.
fn documents() -> Shard {
    let mut rng = Seed::new(8).stream(Role::Synthetic, 0, 0);
    let mut document = |row: usize| {
        let mut words: Vec<u32> = (0..12).map(|_| (5 * (row % 3) + rng.below(9)) as u32).collect();
        words.sort_unstable();
        OwnedRow::Counts(words.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect())
    };
    let rows: Vec<OwnedRow> = (0..600).map(&mut document).collect();
    shard_of(20, &rows)
}

#[test]
fn the_density_of_points_on_a_line_integrates_to_one() {
    let family = GaussianFixed { noise_sd: 0.5, mean_sd: 3.0, prior_mean: vec![1.0], offset: vec![0.3] };
    let stats = |count, sum| Stats { count, sums: Sums::Dense([sum].into()) };
    let components = [stats(5, 12.0), stats(2, -3.0), stats(1, 0.1)];
    let step = 0.01;
    let points: Vec<OwnedRow> = (-4000..4000).map(|ix| OwnedRow::Numbers(vec![f64::from(ix) * step])).collect();
    let mut predictor = Predictor::new(&Model::GaussianFixed(family), &components, 0.8, Kernel::best(), 2);
    let total: f64 = predictor.predict(&shard_of(1, &points)).iter().map(|p| step * libm::exp(p.log_density)).sum();
    assert!((total - 1.0).abs() < 1e-6, "{total}");
}

#[test]
fn the_probabilities_of_all_texts_of_three_words_sum_to_one() {
    let family = Multinomial { smoothing: 0.4, n_words: 4 };
    let stats = |count, entries: &[(u32, i64)]| Stats { count, sums: Sums::Counts(entries.to_vec()) };
    let components = [stats(3, &[(0, 5), (2, 1), (4, 6)]), stats(1, &[(3, 2), (4, 2)])];
    let mut texts = Vec::new();
    for text in 0..64u32 {
        let mut words = [text % 4, text / 4 % 4, text / 16];
        words.sort_unstable();
        texts.push(OwnedRow::Counts(words.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect()));
    }
    let mut predictor = Predictor::new(&Model::Multinomial(family), &components, 1.5, Kernel::best(), 1);
    let total: f64 = predictor.predict(&shard_of(4, &texts)).iter().map(|p| libm::exp(p.log_density)).sum();
    assert!((total - 1.0).abs() < 1e-6, "{total}");
}

#[test]
fn probabilities_sum_to_one_on_any_number_of_threads() {
    let rows = documents();
    let [(model, outcome), _] = fits(&rows, &ModelOptions::default());
    let fitted = through_files(model, &outcome);
    let (one, probabilities) = predictor(&fitted, 1).predict_with_probabilities(&rows);
    let width = outcome.k + 1;
    assert_eq!((one.len(), probabilities.len()), (600, 600 * width));
    for (prediction, row) in one.iter().zip(probabilities.chunks(width)) {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(row[outcome.k], prediction.p_new);
        let certainty = row[prediction.label as usize] / (1.0 - prediction.p_new);
        assert!((certainty - f64::from(prediction.certainty)).abs() < 1e-6);
    }
    // more threads than rows for the last of them
    for n_threads in [2, 7, 700] {
        assert_eq!(
            predictor(&fitted, n_threads).predict_with_probabilities(&rows),
            (one.clone(), probabilities.clone())
        );
    }
}

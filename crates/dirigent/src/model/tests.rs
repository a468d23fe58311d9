use super::*;
use crate::family::ColumnLaw;
use crate::rows::{CountTable, Shard, Table};

fn numbers() -> Survey {
    Survey::of(&Shard::of_table(Table::from_f64(2, vec![1.0, 10.0, 3.0, 30.0])))
}

fn counts() -> Survey {
    let mut table = CountTable::new(4);
    table.push_row([(0, 2), (3, 4)]);
    table.push_row([(1, 2)]);
    Survey::of(&Shard::of_table(Table::Counts(table)))
}

fn fixed() -> ModelOptions {
    ModelOptions { covariance: Some(Covariance::Isotropic), ..ModelOptions::default() }
}

fn survey(n_columns: usize, cells: Vec<f64>) -> Survey {
    Survey::of(&Shard::of_table(Table::from_f64(n_columns, cells)))
}

fn name_of(options: &ModelOptions, survey: &Survey) -> String {
    Model::resolve(options, survey).unwrap().described().name().to_owned()
}

fn problem_of(options: &ModelOptions, survey: &Survey) -> String {
    let error = Model::resolve(options, survey).unwrap_err();
    format!("{error} ({})", error.hint().unwrap())
}

#[test]
fn what_is_left_out_comes_from_the_data() {
    let Model::GaussianFixed(family) = Model::resolve(&fixed(), &numbers()).unwrap() else {
        panic!("a fixed covariance was asked for")
    };
    assert_eq!(family.prior_mean, [2.0, 20.0]);
    let pooled = ((1.0f64 + 100.0) / 2.0).sqrt();
    assert!((family.mean_sd - pooled).abs() < 1e-12 && (family.noise_sd - pooled / 2.0).abs() < 1e-12);
}

/// γ, and why.
fn gamma_of(options: &ModelOptions, survey: &Survey) -> (f64, Option<String>) {
    let (model, choices) = Model::explain(options, survey).unwrap();
    let Model::Multinomial(family) = model else { panic!("documents") };
    (family.smoothing, choices.into_iter().find(|choice| choice.name == "gamma").map(|choice| choice.why))
}

#[test]
fn gamma_of_documents_is_that_of_the_formula() {
    // 8 words in 2 documents; pairs of equal words: (2 + 12) of 5 a word of 6, and 2 of 1 a word of 2
    let (gamma, why) = gamma_of(&ModelOptions::default(), &counts());
    let (within, between) = ((14.0 / 5.0 + 2.0) / 8.0, (4.0 + 4.0 + 16.0) / 64.0);
    let effect = 1.0 + (within - between) / (1.0 - between) * 3.0;
    let by_hand = 0.5 * 2f64.sqrt() * effect * 4.0 / 4.0;
    // the pairs of a document are rounded to 2⁻¹²
    assert!((gamma - by_hand).abs() < 1e-3, "{gamma} instead of {by_hand}");
    let expected = "the prior weighs 1 documents: half the square root of 2, times 2.1 for repeated words";
    assert_eq!(why.as_deref(), Some(expected));
}

#[test]
fn rows_without_words_have_a_gamma_too() {
    let mut table = CountTable::new(4);
    table.push_row([]);
    let survey = Survey::of(&Shard::of_table(Table::Counts(table)));
    assert_eq!(gamma_of(&ModelOptions::default(), &survey).0, 0.125);
    let nothing = Survey::of(&Shard::of_table(Table::Counts(CountTable::new(4))));
    assert_eq!(gamma_of(&ModelOptions::default(), &nothing).0, 0.125);
}

#[test]
fn the_weight_of_the_prior_is_the_users_if_given_and_gamma_has_one_source() {
    let weight = ModelOptions { prior_documents: Some(3.0), ..ModelOptions::default() };
    assert_eq!(gamma_of(&weight, &counts()).0, 3.0 * 4.0 / 4.0);
    let given = ModelOptions { gamma: Some(Gamma::Fixed(1.0)), ..ModelOptions::default() };
    assert_eq!(gamma_of(&given, &counts()), (1.0, None));
    let learned = ModelOptions { gamma: Some(Gamma::Learn), ..ModelOptions::default() };
    for options in [given, learned.clone()] {
        let problem = problem_of(&ModelOptions { prior_documents: Some(3.0), ..options }, &counts());
        assert!(problem.contains("`prior_documents` and `gamma`"), "{problem}");
    }
    let zero = ModelOptions { prior_documents: Some(0.0), ..ModelOptions::default() };
    assert!(problem_of(&zero, &counts()).contains("`prior_documents` must be a positive number, got 0"));
    assert!(problem_of(&weight, &numbers()).contains("`prior_documents` requires `family` multinomial"));
    assert!(problem_of(&learned, &numbers()).contains("`gamma=learn` requires documents"));
}

#[test]
fn a_learnt_width_is_for_normal_columns_alone() {
    let survey = survey(3, vec![0.0, 0.5, 7.0, 1.0, 1.5, 2.0, 1.0, 2.5, 90.0, 0.0, 0.25, 12.0]);
    let column_families = [("3".to_owned(), ColumnFamily::Poisson)].into();
    let usual = ModelOptions { column_families, ..ModelOptions::default() };
    let learnt = ModelOptions {
        width: Some(Width { strength: 8.0, share: 0.5, columns: Vec::new(), weights: Vec::new() }),
        ..usual.clone()
    };
    let laws = |options| match Model::resolve(options, &survey).unwrap() {
        Model::Columns(family) => family.columns,
        model => panic!("{}, not mixed", model.described().name()),
    };
    let (usual, learnt) = (laws(&usual), laws(&learnt));
    assert_eq!([&usual[0], &usual[2]], [&learnt[0], &learnt[2]]);
    let ColumnLaw::Normal { shape, rate, .. } = learnt[1].law else { panic!("a normal column") };
    assert_eq!((shape, rate), (8.0, 4.0));
}

#[test]
fn a_wrong_option_names_itself_its_value_and_the_way_out() {
    let zero = ModelOptions { sigma: Some(0.0), ..fixed() };
    let error = Model::resolve(&zero, &numbers()).unwrap_err();
    assert_eq!(error.to_string(), "`sigma` must be a positive number, got 0");
    assert!(error.hint().unwrap().contains("leave `sigma` out"));
    assert_eq!(Alpha::fixed(-1.0).unwrap_err().to_string(), "`alpha` must be a positive number, got -1");
    let degrees = ModelOptions { nu0: Some(1.0), ..ModelOptions::default() };
    assert!(problem_of(&degrees, &numbers()).contains("`nu0` must be larger than 1"));
}

#[test]
fn a_parameter_of_another_family_is_an_error() {
    let gamma = ModelOptions { gamma: Some(Gamma::Fixed(1.0)), ..ModelOptions::default() };
    let problem = problem_of(&gamma, &numbers());
    assert!(
        problem.contains("`gamma` requires `family` multinomial, categorical or mixed, and the rows have"),
        "{problem}"
    );
    let sigma = ModelOptions { sigma: Some(1.0), ..ModelOptions::default() };
    assert!(Model::resolve(&sigma, &counts()).is_err());
    let covariance = ModelOptions { family: Some(FamilyName::Bernoulli), ..fixed() };
    assert!(problem_of(&covariance, &numbers()).contains("`covariance` belongs to `family` gaussian"));
}

#[test]
fn the_family_is_chosen_by_what_the_rows_look_like() {
    let auto = ModelOptions::default();
    let wide = |n_columns: usize| survey(n_columns, (0..3 * n_columns).map(|i| (i * i % 1009) as f64 - 4.5).collect());
    assert_eq!(name_of(&auto, &wide(choose::MOST_FULL_COLUMNS)), "gaussian, covariance full");
    assert_eq!(name_of(&auto, &wide(choose::MOST_FULL_COLUMNS + 1)), "gaussian, covariance diag");
    assert_eq!(name_of(&auto, &survey(2, vec![1.5, f64::NAN, 3.0, 4.0])), "gaussian, covariance diag");
    assert_eq!(name_of(&auto, &survey(2, vec![0.0, 1.0, 1.0, 0.0])), "bernoulli");
    assert_eq!(name_of(&auto, &survey(2, vec![0.0, 7.5, 1.0, -2.5])), "mixed");
    assert_eq!(name_of(&auto, &survey(3, vec![0.6, 0.8, 0.0, 0.0, 0.6, -0.8])), "vmf");
    assert_eq!(
        name_of(&ModelOptions { sigma: Some(1.0), ..auto.clone() }, &numbers()),
        "gaussian, covariance isotropic"
    );
    let text = |n_levels: Vec<Option<usize>>| ModelOptions {
        columns: ColumnOptions { n_levels, ..ColumnOptions::default() },
        ..ModelOptions::default()
    };
    assert_eq!(name_of(&text(vec![Some(2), None]), &survey(2, vec![0.0, 7.5, 1.0, -2.5])), "mixed");
    assert_eq!(name_of(&text(vec![Some(2), Some(3)]), &survey(2, vec![0.0, 2.0, 1.0, 0.0])), "categorical");
    let (_, choices) = Model::explain(&auto, &numbers()).unwrap();
    let names: Vec<&str> = choices.iter().map(|choice| choice.name.as_str()).collect();
    assert_eq!(names, ["family", "covariance", "kappa0", "nu0", "psi0", "m0"]);
}

#[test]
fn few_whole_numbers_in_many_rows_are_levels() {
    // a measurement, and a rating from 1 to 5
    let rated = |n_rows: usize| survey(2, (0..n_rows).flat_map(|i| [i as f64 + 0.5, (i % 5 + 1) as f64]).collect());
    let auto = ModelOptions::default();
    assert_eq!(name_of(&auto, &rated(49)), "gaussian, covariance full");
    let Model::Columns(family) = Model::resolve(&auto, &rated(50)).unwrap() else { panic!("a law for each column") };
    assert!(matches!(family.columns[0].law, ColumnLaw::Normal { .. }));
    assert_eq!(family.columns[1].law, ColumnLaw::Categorical { smoothing: 0.5, n_levels: 6 });
    let gaussian = ModelOptions { family: Some(FamilyName::Gaussian), ..ModelOptions::default() };
    assert_eq!(name_of(&gaussian, &rated(50)), "gaussian, covariance full");
}

#[test]
fn a_column_of_mostly_one_number_is_in_no_full_covariance() {
    let with_share = |n_equal: usize| {
        survey(
            2,
            (0..20)
                .flat_map(|i| {
                    let x = i as f64 + 0.25;
                    [x * x, if i < n_equal { 0.48 } else { x }]
                })
                .collect(),
        )
    };
    let auto = ModelOptions::default();
    assert_eq!(name_of(&auto, &with_share(10)), "gaussian, covariance full");
    let (model, choices) = Model::explain(&auto, &with_share(11)).unwrap();
    assert_eq!(model.described().name(), "gaussian, covariance diag");
    let why = &choices.iter().find(|choice| choice.name == "covariance").expect("it was left open").why;
    assert_eq!(why, "more than half of the rows have the same number in column 2");
    assert_eq!(name_of(&auto, &with_share(20)), "gaussian, covariance full", "a constant column tells nothing");
    let full = ModelOptions { covariance: Some(Covariance::Full), ..auto };
    assert_eq!(name_of(&full, &with_share(15)), "gaussian, covariance full");
}

#[test]
fn what_a_family_cannot_hold_is_refused_with_the_way_out() {
    let holes = survey(2, vec![1.5, f64::NAN, 3.0, 4.0, 5.0, f64::NAN]);
    let full = ModelOptions { covariance: Some(Covariance::Full), ..ModelOptions::default() };
    let problem = problem_of(&full, &holes);
    assert!(problem.contains("missing in column 2 (2)") && problem.contains("`covariance` diag"), "{problem}");
    let vmf = ModelOptions { family: Some(FamilyName::Vmf), ..ModelOptions::default() };
    let problem = problem_of(&vmf, &numbers());
    assert!(problem.contains("from 10.0499 to 30.1496") && problem.contains("`normalize`"), "{problem}");
    for (family, expected) in [(FamilyName::Bernoulli, "zeros and ones"), (FamilyName::Poisson, "counts")] {
        let options = ModelOptions { family: Some(family), ..ModelOptions::default() };
        let problem = problem_of(&options, &survey(1, vec![0.5, 1.0]));
        assert!(problem.contains("column 1 holds numbers from 0.5 to 1") && problem.contains(expected), "{problem}");
    }
    let named = |families: Vec<(String, ColumnFamily)>| ModelOptions {
        columns: ColumnOptions { names: vec!["age".into(), "kind".into()], n_levels: vec![None, Some(2)] },
        column_families: families.into_iter().collect(),
        ..ModelOptions::default()
    };
    let cells = survey(2, vec![30.5, 0.0, 41.0, 1.0]);
    assert_eq!(name_of(&named(vec![("age".into(), ColumnFamily::Gaussian)]), &cells), "mixed");
    let problem = problem_of(&named(vec![("weight".into(), ColumnFamily::Gaussian)]), &cells);
    assert!(problem.contains("\"weight\"") && problem.contains("age, kind"), "{problem}");
    let problem = problem_of(&named(vec![("kind".into(), ColumnFamily::Gaussian)]), &cells);
    assert!(problem.contains("column kind holds text"), "{problem}");
    let gaussian = ModelOptions { family: Some(FamilyName::Gaussian), ..named(Vec::new()) };
    assert!(problem_of(&gaussian, &cells).contains("column kind holds text"));
}

#[test]
fn the_unit_of_a_column_does_not_matter() {
    let cells: Vec<f64> = (0..40).map(|i| (i * i % 17) as f64 - 3.0).collect();
    // a power of two, so that nothing is rounded
    let scaled: Vec<f64> = cells.iter().enumerate().map(|(i, x)| if i % 2 == 0 { x * 1024.0 } else { *x }).collect();
    for covariance in [Covariance::Diag, Covariance::Full] {
        let options = ModelOptions { covariance: Some(covariance), ..ModelOptions::default() };
        let rows = [cells.clone(), scaled.clone()].map(|cells| Shard::of_table(Table::from_f64(2, cells)));
        let stats = rows.map(|rows| {
            let model = Model::resolve(&options, &Survey::of(&rows)).unwrap();
            let labels = vec![0; 20];
            with_family!(&model, family => crate::sweep::reference::contributions(family, &rows, &labels, 1))
        });
        assert_eq!(stats[0], stats[1]);
    }
}

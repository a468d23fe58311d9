//! The rule for every parameter of a prior that the user leaves out: empirical, from the survey, and such that the unit a column is measured in does not matter.
//!
//! The thought behind all of them: a prior should be worth about as much as one row, and expect clusters narrower than the data but not much. How much narrower is
//! learned from components (`widths.rs`).

use super::checks::{above, finite, positive};
use super::choose::Shape;
use super::{Choice, ColumnFamily, Covariance, FamilyName, Model, ModelOptions, Width};
use crate::error::{InputError, Result};
use crate::family::{
    Column, ColumnLaw, Columns, ColumnsKind, GaussianFixed, GaussianFull, Multinomial, VonMisesFisher,
};
use crate::survey::{CellSummary, ColumnSummary, Survey};

/// κ₀ of Gaussians whose covariance is learnt: where a component lies is hardly known beforehand. A larger one makes it cheap to give a stray row a
/// component of its own.
const PRIOR_ROWS: f64 = 0.1;
/// κ₀ times the columns is at most this: the price of a component of its own, (D/2) ln(1 + 1/κ₀), must keep up with what a row gains by it.
const MOST_PRIOR_ROWS: f64 = 0.4;
/// And the price is at least this: with one or two columns, too, a stray row must have a reason.
const LEAST_PRICE: f64 = 4.6;
/// The share of a column's variance that a cluster is expected to have.
const SHARE: f64 = 0.2;
/// ν₀ − D: the least with which an inverse Wishart has a mean.
const STRENGTH: f64 = 2.0;
/// a₀ of normal columns: two rows' worth of knowledge of the variance.
const SHAPE: f64 = 1.0;
/// γ of categorical columns, Jeffreys' prior. With 1 over the levels, clusters are expected to lack most of many levels: a column of 100 that tells nothing breaks
/// 600 rows into 31 clusters instead of 3 (ARI 0.19, with this 0.6 to 0.8).
const LEVEL_ROWS: f64 = 0.5;
/// ν₀ − D − 2 as a share of the columns.
const STRENGTHS: [f64; 5] = [0.0, 0.125, 0.25, 0.5, 1.0];
/// The a₀ of normal columns that are tried.
pub(crate) const SHAPES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// The parameters as they are gathered, with what was chosen.
struct Gathered(Vec<Choice>);

impl Gathered {
    /// The user's number, or the rule's.
    fn take(&mut self, name: &str, given: Option<f64>, rule: f64, why: &str) -> f64 {
        given.unwrap_or_else(|| {
            self.tell(name, format!("{rule:.6}"), why);
            rule
        })
    }

    fn tell(&mut self, name: &str, value: String, why: &str) {
        self.0.push(Choice::new(name, &value, why));
    }
}

/// The model of a shape.
pub(crate) fn model(shape: Shape, options: &ModelOptions, survey: &Survey) -> Result<(Model, Vec<Choice>)> {
    let mut gathered = Gathered(Vec::new());
    let model = match shape {
        Shape::Gaussian(Covariance::Full) => Model::GaussianFull(gaussian_full(options, survey, &mut gathered)?),
        Shape::Gaussian(_) => Model::GaussianFixed(gaussian_fixed(options, survey, &mut gathered)?),
        Shape::Multinomial => Model::Multinomial(multinomial(options, survey, &mut gathered)?),
        Shape::Vmf => Model::VonMisesFisher(vmf(options, survey, &mut gathered)?),
        Shape::Columns(family, laws) => Model::Columns(columns(family, &laws, options, survey, &mut gathered)?),
    };
    Ok((model, gathered.0))
}

/// m₀: the user's, or the mean of each column.
fn prior_means(options: &ModelOptions, survey: &Survey, gathered: &mut Gathered) -> Result<Vec<f64>> {
    if options.m0.is_none() {
        gathered.tell("m0", "the mean of each column".into(), "clusters are spread around the middle of the data");
        return Ok(survey.means());
    }
    let means = survey.means().into_iter().enumerate();
    means.map(|(column_ix, mean)| prior_mean(options, column_ix, mean, survey.n_columns)).collect()
}

/// m₀ of a column: the user's number for it or for all columns, or its mean.
fn prior_mean(options: &ModelOptions, column_ix: usize, mean: f64, n_columns: usize) -> Result<f64> {
    match options.m0.as_deref() {
        None => finite("`m0`", mean),
        Some([number]) => finite("`m0`", *number),
        Some(numbers) if numbers.len() == n_columns => finite("`m0`", numbers[column_ix]),
        Some(numbers) => {
            let problem = format!("`m0` has {} values, and there are {n_columns} columns", numbers.len());
            Err(InputError::new(problem)
                .hint("give one value for all columns, or one per column in their order")
                .into())
        }
    }
}

fn gaussian_fixed(options: &ModelOptions, survey: &Survey, gathered: &mut Gathered) -> Result<GaussianFixed> {
    // rows that are all equal have no scale of their own
    let data_sd = if survey.pooled_sd() > 0.0 { survey.pooled_sd() } else { 1.0 };
    let noise_sd =
        gathered.take("sigma", options.sigma, data_sd / 2.0, "half the pooled standard deviation of the columns");
    let mean_sd = gathered.take("sigma0", options.sigma0, data_sd, "the pooled standard deviation of the columns");
    Ok(GaussianFixed {
        noise_sd: positive("`sigma`", noise_sd)?,
        mean_sd: positive("`sigma0`", mean_sd)?,
        prior_mean: prior_means(options, survey, gathered)?,
        offset: survey.means(),
    })
}

fn gaussian_full(options: &ModelOptions, survey: &Survey, gathered: &mut Gathered) -> Result<GaussianFull> {
    let n_columns = survey.n_columns;
    let scale: Vec<f64> = survey.columns().iter().map(ColumnSummary::sd).collect();
    let rule = prior_rows(n_columns);
    let prior_rows = positive("`kappa0`", gathered.take("kappa0", options.kappa0, rule, WHY_PRIOR_ROWS))?;
    let least = n_columns as f64 - 1.0;
    let rule = n_columns as f64 + STRENGTH;
    let learnt = options.nu0.or(options.width.as_ref().map(|width| width.strength));
    let degrees = gathered.take("nu0", learnt, rule, "columns + 2: the weakest that has a mean");
    let degrees = above("`nu0`", degrees, least, &format!("larger than {least}, the columns less one"))?;
    let mut prior_scale = vec![0.0; n_columns * (n_columns + 1) / 2];
    let mut diagonal = 0;
    for (ix, scale) in scale.iter().enumerate() {
        prior_scale[diagonal] = match options.psi0 {
            Some(psi0) => positive("`psi0`", psi0)? / (scale * scale),
            // the mean of an inverse Wishart is Ψ₀ / (ν₀ − D − 1)
            None => share(options, ix) * (degrees - least - 2.0).max(1.0),
        };
        diagonal += n_columns - ix;
    }
    if options.psi0.is_none() && options.width.is_none() {
        let value = format!("{} of each column's variance", prior_scale[0]);
        gathered.tell("psi0", value, "clusters are expected to have a fifth of the variance of the data");
    }
    let prior_mean = prior_means(options, survey, gathered)?;
    Ok(GaussianFull { offset: survey.means(), scale, prior_mean, prior_rows, degrees, prior_scale })
}

fn multinomial(options: &ModelOptions, survey: &Survey, gathered: &mut Gathered) -> Result<Multinomial> {
    let CellSummary::Counts(counts) = &survey.cells else {
        panic!("dense rows become counts before the survey of a multinomial")
    };
    // rows without a single word say nothing, whatever γ is
    let words_per_row = if counts.n_words > 0 { counts.n_words as f64 / survey.n_rows as f64 } else { 1.0 };
    let design_effect = counts.design_effect(survey.n_rows);
    let by_rule = weight(survey.n_rows) * design_effect;
    let (documents, why) = match options.prior_documents {
        Some(documents) => {
            (positive("`prior_documents`", documents)?, "the prior weighs as many documents as you say".into())
        }
        None => {
            let n_rows = survey.n_rows;
            let why = format!(
                "the prior weighs {by_rule:.0} documents: half the square root of {n_rows}, times {design_effect:.1} for repeated words"
            );
            (by_rule, why)
        }
    };
    let rule = documents * words_per_row / survey.n_columns as f64;
    let smoothing = positive("`gamma`", gathered.take("gamma", options.fixed_gamma(), rule, &why))?;
    Ok(Multinomial { smoothing, n_words: survey.n_columns })
}

/// Rows that a prior of documents weighs: half the square root of all. A cluster of fewer must differ clearly to be one, and the number of clusters
/// grows slowly with the rows.
fn weight(n_rows: u64) -> f64 {
    0.5 * (n_rows.max(1) as f64).sqrt()
}

/// The concentration at which rows have a given mean resultant length, nearly.
fn concentration_of(resultant: f64, n_columns: usize) -> f64 {
    let square = resultant * resultant;
    resultant * (n_columns as f64 - square) / (1.0 - square)
}

fn vmf(options: &ModelOptions, survey: &Survey, gathered: &mut Gathered) -> Result<VonMisesFisher> {
    let means = survey.means();
    let length = means.iter().map(|mean| mean * mean).sum::<f64>().sqrt();
    let resultant = length.clamp(1e-3, 0.999);
    // within a cluster the squared length of the mean row is half way between that of the data and 1
    let within = (0.5 * (1.0 + resultant * resultant)).sqrt();
    let why = "clusters are expected to have half of the spread of the data about its mean direction";
    let rule = concentration_of(within, survey.n_columns);
    let concentration = positive("`tau`", gathered.take("tau", options.tau, rule, why))?;
    let why = "cluster directions are expected to spread as the rows do";
    let rule = concentration_of(resultant, survey.n_columns);
    let prior_strength = positive("`kappa0`", gathered.take("kappa0", options.kappa0, rule, why))?;
    let prior_direction = if length > 1e-9 {
        means.iter().map(|mean| mean / length).collect()
    } else {
        let mut first = vec![0.0; survey.n_columns];
        first[0] = 1.0;
        first
    };
    Ok(VonMisesFisher { concentration, prior_direction, prior_strength })
}

fn columns(
    family: FamilyName,
    laws: &[ColumnFamily],
    options: &ModelOptions,
    survey: &Survey,
    gathered: &mut Gathered,
) -> Result<Columns> {
    let kind = match family {
        FamilyName::Gaussian => ColumnsKind::Diagonal,
        FamilyName::Bernoulli => ColumnsKind::Bernoulli,
        FamilyName::Poisson => ColumnsKind::Poisson,
        FamilyName::Categorical => ColumnsKind::Categorical,
        _ => ColumnsKind::Mixed,
    };
    let mut columns = Vec::with_capacity(laws.len());
    for (ix, (law, column)) in laws.iter().zip(survey.columns()).enumerate() {
        let usual = match law {
            ColumnFamily::Gaussian => normal(options, ix, column, laws.len())?,
            ColumnFamily::Bernoulli => bernoulli(options, column)?,
            ColumnFamily::Poisson => poisson(options, column)?,
            ColumnFamily::Categorical => categorical(options, column, options.columns.levels(ix))?,
        };
        let is_given = *law == ColumnFamily::Categorical && options.gives("gamma");
        let law = usual.weighed(if is_given { 1.0 } else { weight_of(options, ix) });
        columns.push(Column { law, has_missing: column.n < survey.n_rows });
    }
    tell_of_columns(laws, options, gathered);
    Ok(Columns { kind, columns })
}

fn normal(options: &ModelOptions, column_ix: usize, column: &ColumnSummary, n_columns: usize) -> Result<ColumnLaw> {
    let scale = column.sd();
    let learnt = options.width.as_ref().map_or(SHAPE, |width| width.strength);
    let shape = positive("`a0`", options.a0.unwrap_or(learnt))?;
    let rate = match options.b0 {
        Some(rate) => positive("`b0`", rate)? / (scale * scale),
        None => share(options, column_ix) * shape,
    };
    Ok(ColumnLaw::Normal {
        offset: column.mean,
        scale,
        prior_mean: prior_mean(options, column_ix, column.mean, n_columns)?,
        prior_rows: positive("`kappa0`", options.kappa0.unwrap_or(prior_rows(n_columns)))?,
        shape,
        rate,
    })
}

fn bernoulli(options: &ModelOptions, column: &ColumnSummary) -> Result<ColumnLaw> {
    let share = column.mean.clamp(0.05, 0.95);
    Ok(ColumnLaw::Bernoulli {
        a: positive("`a0`", options.a0.unwrap_or(share))?,
        b: positive("`b0`", options.b0.unwrap_or(1.0 - share))?,
    })
}

fn poisson(options: &ModelOptions, column: &ColumnSummary) -> Result<ColumnLaw> {
    let shape = positive("`a0`", options.a0.unwrap_or(1.0))?;
    let mean = if column.mean > 0.0 { column.mean } else { 1.0 };
    Ok(ColumnLaw::Poisson { shape, rate: positive("`b0`", options.b0.unwrap_or(shape / mean))? })
}

fn categorical(options: &ModelOptions, column: &ColumnSummary, n_levels: Option<usize>) -> Result<ColumnLaw> {
    let n_levels = n_levels.unwrap_or(column.max.max(0.0) as usize + 1).max(1);
    let smoothing = positive("`gamma`", options.fixed_gamma().unwrap_or(LEVEL_ROWS))?;
    Ok(ColumnLaw::Categorical { smoothing, n_levels })
}

fn tell_of_columns(laws: &[ColumnFamily], options: &ModelOptions, gathered: &mut Gathered) {
    let has = |law| laws.contains(&law);
    let weights = |law: ColumnFamily| {
        let of_law = (0..laws.len()).filter(|ix| laws[*ix] == law).map(|ix| weight_of(options, ix));
        let (least, most) =
            of_law.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), w| (least.min(w), most.max(w)));
        match (least, most) {
            (1.0, 1.0) => String::new(),
            _ if least == most => format!(" times {most}"),
            _ => format!(" times {least} to {most}, by column"),
        }
    };
    let mut tell = |name: &str, value: &str, why: &str| {
        if !options.gives(name) {
            gathered.tell(name, value.to_owned(), why);
        }
    };
    if has(ColumnFamily::Gaussian) {
        tell("m0", "the mean of each column", "clusters are spread around the middle of the data");
        tell("kappa0", &format!("{:.4}", prior_rows(laws.len())), WHY_PRIOR_ROWS);
        if options.width.is_none() {
            tell("a0", "1", "gaussian columns: two rows' worth of knowledge of a variance");
            tell(
                "b0",
                "0.2 of each column's variance",
                "clusters are expected to have about a fifth of the variance of the data",
            );
        }
    }
    if has(ColumnFamily::Bernoulli) {
        let value = format!("the shares of 1 and of 0{}", weights(ColumnFamily::Bernoulli));
        tell("a0, b0", &value, "bernoulli columns: as much as one row of the data, or what fits the components best");
    }
    if has(ColumnFamily::Poisson) {
        let value = format!("1 and 1 over the mean{}", weights(ColumnFamily::Poisson));
        tell("a0, b0", &value, "poisson columns: as much as one row of the data, or what fits the components best");
    }
    if has(ColumnFamily::Categorical) {
        let value = format!("{LEVEL_ROWS}{}", weights(ColumnFamily::Categorical));
        let why = "categorical columns: half a row per level, so that clusters may have all levels, or what fits the components best";
        tell("gamma", &value, why);
    }
}

const WHY_PRIOR_ROWS: &str =
    "a tenth of a row with 4 columns, less with fewer or more: the position of a cluster is hardly known in advance";

/// The share of a column's variance that a cluster is expected to have.
fn share(options: &ModelOptions, column_ix: usize) -> f64 {
    options.width.as_ref().map_or(SHARE, |width| match width.columns.get(column_ix) {
        Some(times) => width.share * times,
        None => width.share,
    })
}

/// How many times as heavy as usual the prior of a column is.
fn weight_of(options: &ModelOptions, column_ix: usize) -> f64 {
    options.width.as_ref().and_then(|width| width.weights.get(column_ix)).copied().unwrap_or(1.0)
}

/// Whether how wide clusters are, or how heavy the priors of columns without a width, is left open.
pub(crate) fn is_width_open(model: &Model, options: &ModelOptions) -> bool {
    let gives_any = |names: &[&str]| names.iter().any(|name| options.gives(name));
    match model {
        Model::GaussianFixed(_) => !gives_any(&["sigma", "sigma0"]),
        Model::GaussianFull(_) => !gives_any(&["nu0", "psi0"]),
        Model::Columns(family) => {
            let is_given = family.kind == ColumnsKind::Categorical && options.gives("gamma");
            !is_given && !gives_any(&["a0", "b0"])
        }
        Model::VonMisesFisher(_) => !gives_any(&["tau"]),
        Model::Multinomial(_) | Model::Own(_) => false,
    }
}

/// The ν₀ that are tried with so many columns.
pub(crate) fn strengths(n_columns: usize) -> [f64; 5] {
    STRENGTHS.map(|strength| n_columns as f64 + STRENGTH + strength * n_columns as f64)
}

/// κ₀ of so many columns.
pub(crate) fn prior_rows(n_columns: usize) -> f64 {
    let n_columns = n_columns as f64;
    PRIOR_ROWS.min(MOST_PRIOR_ROWS / n_columns).min(libm::exp(-2.0 * LEAST_PRICE / n_columns))
}

pub(crate) fn has_normals(family: &Columns) -> bool {
    matches!(family.kind, ColumnsKind::Diagonal | ColumnsKind::Mixed)
        && family.columns.iter().any(|column| matches!(column.law, ColumnLaw::Normal { .. }))
}

/// What was learnt of a model's prior.
pub(crate) fn told(model: &Model, options: &ModelOptions, why: &str) -> Vec<Choice> {
    let tell = |name: &str, value: f64| Choice::new(name, &format!("{value:.4}"), why);
    let names: &[&str] = match model {
        Model::GaussianFixed(_) => &["sigma", "sigma0"],
        Model::GaussianFull(_) => &["nu0", "psi0"],
        Model::Columns(family) if family.kind == ColumnsKind::Diagonal => &["a0", "b0"],
        Model::Columns(_) | Model::Own(_) => &[],
        Model::Multinomial(_) => &["gamma"],
        Model::VonMisesFisher(_) => &["tau"],
    };
    let priors = model.described().priors().into_iter().filter(|(name, _)| names.contains(name));
    let learnt = priors.map(|(name, value)| tell(name, value));
    // in a mixed table other columns have an a0 and a b0 of their own
    let is_mixed = matches!(model, Model::Columns(family) if family.kind == ColumnsKind::Mixed && has_normals(family));
    let of_columns = options.width.as_ref().filter(|_| is_mixed).map(|Width { strength, share, .. }| {
        [tell("a0 (gaussian)", *strength), tell("b0 (gaussian, of each column's variance)", share * strength)]
    });
    learnt.chain(of_columns.into_iter().flatten()).collect()
}

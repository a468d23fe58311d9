//! Which family fits the rows: by what the user says, else by what the survey says of them.

use super::{Choice, ColumnFamily, Covariance, FamilyName, Gamma, ModelOptions};
use crate::error::{InputError, Result};
use crate::family::columns::LARGEST_COUNT;
use crate::fit::{Setting, SettingList, listed};
use crate::survey::{CellSummary, ColumnSummary, Survey};

/// Up to so many columns a full covariance is the default. A component of D columns then has D(D+3)/2 numbers to learn and a row costs D² a component.
pub(crate) const MOST_FULL_COLUMNS: usize = 64;

/// Columns are of one scale if the standard deviation of none is more than so many times that of another.
const ONE_SCALE: f64 = 4.0;

/// A family without its priors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// Gaussians.
    Gaussian(Covariance),
    /// Documents.
    Multinomial,
    /// Directions.
    Vmf,
    /// A law for each column, and what the whole is called.
    Columns(FamilyName, Vec<ColumnFamily>),
}

impl Shape {
    /// The option and the value that ask for it.
    fn asked_by(&self) -> (&'static str, &'static str) {
        match self {
            Self::Gaussian(covariance) => ("`covariance` ", covariance.name()),
            Self::Columns(FamilyName::Gaussian, _) => ("`covariance` ", Covariance::Diag.name()),
            Self::Columns(family, _) => ("`family` ", family.name()),
            Self::Multinomial => ("`family` ", FamilyName::Multinomial.name()),
            Self::Vmf => ("`family` ", FamilyName::Vmf.name()),
        }
    }
}

/// A shape and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChosenShape {
    /// The shape.
    pub(crate) shape: Shape,
    /// What the user left open.
    pub(crate) choices: Vec<Choice>,
}

/// Checks that the options go together and with the rows, and chooses what was left out.
pub(crate) fn shape(options: &ModelOptions, survey: &Survey) -> Result<ChosenShape> {
    let (family, mut choices) = family(options, survey)?;
    let is_counts = matches!(survey.cells, CellSummary::Counts(_));
    if is_counts != (family == FamilyName::Multinomial) {
        let (problem, hint) = if is_counts {
            ("needs dense rows, and these are sparse counts", "fit counts with `family` multinomial")
        } else {
            ("needs counts, and a cell is missing or is no count", "choose another `family`")
        };
        return Err(InputError::new(format!("`family` {} {problem}", family.name())).hint(hint).into());
    }
    let shape = match family {
        FamilyName::Multinomial => Shape::Multinomial,
        FamilyName::Vmf => {
            check_unit(survey)?;
            Shape::Vmf
        }
        FamilyName::Gaussian => {
            let (covariance, choice) = covariance(options, survey);
            choices.extend(choice);
            match covariance {
                Covariance::Diag => {
                    Shape::Columns(FamilyName::Gaussian, vec![ColumnFamily::Gaussian; survey.n_columns])
                }
                other => Shape::Gaussian(other),
            }
        }
        _ => {
            let (laws, choice) = column_laws(family, options, survey)?;
            choices.extend(choice);
            Shape::Columns(family, laws)
        }
    };
    if !matches!(shape, Shape::Columns(..)) && !is_counts {
        check_complete(&shape, options, survey)?;
    }
    check_text(&shape, options)?;
    check_sizes(options, survey)?;
    check_column_families(&shape, options, survey)?;
    check_parameters(&shape, options)?;
    Ok(ChosenShape { shape, choices })
}

fn family(options: &ModelOptions, survey: &Survey) -> Result<(FamilyName, Vec<Choice>)> {
    if let Some(family) = options.family {
        if family != FamilyName::Gaussian && options.covariance.is_some() {
            return Err(InputError::new("`covariance` belongs to `family` gaussian")
                .hint("leave `covariance` out, or choose `family` gaussian")
                .into());
        }
        return Ok((family, Vec::new()));
    }
    let (family, why) = natural_family(options, survey);
    Ok((family, vec![Choice::new("family", family.name(), &why)]))
}

/// The family that the rows look like, and why.
fn natural_family(options: &ModelOptions, survey: &Survey) -> (FamilyName, String) {
    if matches!(survey.cells, CellSummary::Counts(_)) {
        return (FamilyName::Multinomial, "rows are sparse counts".into());
    }
    if options.covariance.is_some() || ["sigma", "sigma0", "nu0", "psi0"].iter().any(|name| options.gives(name)) {
        return (FamilyName::Gaussian, "an option of gaussian was given".into());
    }
    if options.gives("tau") {
        return (FamilyName::Vmf, "an option of vmf was given".into());
    }
    let n_text = (0..survey.n_columns).filter(|&ix| options.columns.levels(ix).is_some()).count();
    let n_binary = survey.columns().iter().filter(|column| column.is_binary()).count();
    let n_few_valued = survey.columns().iter().filter(|column| column.is_few_valued()).count();
    let n_columns = survey.n_columns;
    if n_text == n_columns {
        (FamilyName::Categorical, "all columns hold text".into())
    } else if n_text > 0 {
        (FamilyName::Mixed, format!("{n_text} of {n_columns} columns hold text"))
    } else if !options.column_families.is_empty() {
        (FamilyName::Mixed, "`column_families` was given".into())
    } else if n_binary == n_columns {
        (FamilyName::Bernoulli, "all cells are 0 or 1".into())
    } else if n_binary > 0 {
        (FamilyName::Mixed, format!("{n_binary} of {n_columns} columns hold nothing but 0 and 1"))
    } else if n_few_valued > 0 {
        (FamilyName::Mixed, format!("{n_few_valued} of {n_columns} columns hold only whole numbers from 0 to 10"))
    } else if n_columns > 2 && survey.has_unit_rows() {
        (FamilyName::Vmf, "all rows have length 1".into())
    } else {
        (FamilyName::Gaussian, "columns hold numbers".into())
    }
}

fn covariance(options: &ModelOptions, survey: &Survey) -> (Covariance, Option<Choice>) {
    let chosen = |covariance, value, why: String| (covariance, Some(Choice::new("covariance", value, &why)));
    let n_missing = missing(survey).map(|(_, n)| n).sum::<u64>();
    let gives = |names: &[&str]| names.iter().any(|name| options.gives(name));
    if let Some(covariance) = options.covariance {
        (covariance, None)
    } else if gives(&["sigma", "sigma0"]) {
        chosen(Covariance::Isotropic, "isotropic", "`sigma` or `sigma0` was given".into())
    } else if gives(&["nu0", "psi0"]) {
        chosen(Covariance::Full, "full", "`nu0` or `psi0` was given".into())
    } else if gives(&["a0", "b0"]) {
        chosen(Covariance::Diag, "diag", "`a0` or `b0` was given".into())
    } else if n_missing > 0 {
        chosen(Covariance::Diag, "diag", format!("{n_missing} cells are missing"))
    } else if survey.n_columns > MOST_FULL_COLUMNS {
        let why = format!("{} columns are more than {MOST_FULL_COLUMNS}", survey.n_columns);
        chosen(Covariance::Diag, "diag", why)
    } else if let Some(ix) = mostly_one_number(survey) {
        let name = options.columns.name(ix);
        let why = format!("more than half of the rows have the same number in column {name}");
        chosen(Covariance::Diag, "diag", why)
    } else {
        chosen(Covariance::Full, "full", format!("{} columns are at most {MOST_FULL_COLUMNS}", survey.n_columns))
    }
}

/// The first column in which more than half of the rows have the same number but not all. Its variance within a component is nearly 0 or far from it, and in a full
/// covariance that decides.
fn mostly_one_number(survey: &Survey) -> Option<usize> {
    survey.columns().iter().position(|column| column.is_mostly_one_number() && column.min < column.max)
}

/// The covariance that the rows have by the rule, where the user leaves it open.
pub(crate) fn usual_covariance(options: &ModelOptions, survey: &Survey) -> Covariance {
    covariance(options, survey).0
}

/// The other covariances that compete with the usual one, where the user leaves all of it open.
pub(crate) fn rivals(options: &ModelOptions, survey: &Survey) -> Vec<ModelOptions> {
    let is_open = options.covariance.is_none() && options.parameters().next().is_none();
    let is_gaussian = family(options, survey).is_ok_and(|(family, _)| family == FamilyName::Gaussian);
    if !is_open || !is_gaussian || has_missing(survey) {
        return Vec::new();
    }
    let usual = covariance(options, survey).0;
    let rivals = [(Covariance::Isotropic, is_of_one_scale(survey)), (Covariance::Diag, usual != Covariance::Diag)];
    let with = |covariance| ModelOptions { covariance: Some(covariance), ..options.clone() };
    rivals.into_iter().filter(|(_, competes)| *competes).map(|(covariance, _)| with(covariance)).collect()
}

pub(crate) fn is_of_one_scale(survey: &Survey) -> bool {
    let sds = survey.columns().iter().map(|column| (column.squares / column.n as f64).sqrt());
    let (least, greatest) = sds.fold((f64::INFINITY, 0.0f64), |(least, most), sd| (sd.min(least), sd.max(most)));
    greatest > 0.0 && greatest <= ONE_SCALE * least
}

/// The law of each column of a family that has one for each.
fn column_laws(
    family: FamilyName,
    options: &ModelOptions,
    survey: &Survey,
) -> Result<(Vec<ColumnFamily>, Option<Choice>)> {
    let all = |law| Ok((vec![law; survey.n_columns], None));
    match family {
        FamilyName::Bernoulli => all(ColumnFamily::Bernoulli),
        FamilyName::Poisson => all(ColumnFamily::Poisson),
        FamilyName::Categorical => all(ColumnFamily::Categorical),
        _ => {
            let mut counts = [0; 4];
            let mut law = |(ix, column): (usize, &ColumnSummary)| {
                let natural = || match options.columns.levels(ix) {
                    Some(_) => ColumnFamily::Categorical,
                    None if column.is_binary() => ColumnFamily::Bernoulli,
                    None if column.is_few_valued() => ColumnFamily::Categorical,
                    None if looks_counted(column) => ColumnFamily::Poisson,
                    None => ColumnFamily::Gaussian,
                };
                let law = options.asked(ix).unwrap_or_else(natural);
                counts[law as usize] += 1;
                law
            };
            let laws = survey.columns().iter().enumerate().map(&mut law).collect();
            let [gaussian, bernoulli, poisson, categorical] = counts;
            let value =
                format!("{gaussian} gaussian, {bernoulli} bernoulli, {poisson} poisson, {categorical} categorical");
            let why = "text and whole numbers from 0 to 10 are categorical, 0 and 1 bernoulli, whole numbers from 0 on with the variance of \
                       counts poisson, all else gaussian; `column_families` overrides this";
            Ok((laws, Some(Choice::new("columns", &value, why))))
        }
    }
}

/// Whether whole numbers look like counts of events: from 0 on, and spread as a few clusters of counts would be.
fn looks_counted(column: &ColumnSummary) -> bool {
    let variance = column.squares / column.n as f64;
    column.is_whole && column.min == 0.0 && column.max > 1.0 && variance <= 4.0 * column.mean
}

/// Whether any cell is missing.
pub(crate) fn has_missing(survey: &Survey) -> bool {
    missing(survey).next().is_some()
}

/// Columns with missing cells, and how many.
fn missing(survey: &Survey) -> impl Iterator<Item = (usize, u64)> + '_ {
    let columns = match &survey.cells {
        CellSummary::Numbers { columns, .. } => columns.as_slice(),
        CellSummary::Counts(_) => &[],
    };
    columns.iter().enumerate().map(|(ix, column)| (ix, survey.n_rows - column.n)).filter(|(_, n)| *n > 0)
}

fn check_complete(shape: &Shape, options: &ModelOptions, survey: &Survey) -> Result<()> {
    let with_holes: Vec<(usize, u64)> = missing(survey).collect();
    if with_holes.is_empty() {
        return Ok(());
    }
    let what = match shape {
        Shape::Gaussian(Covariance::Isotropic) => "`covariance` isotropic",
        Shape::Gaussian(_) => "`covariance` full",
        _ => "`family` vmf",
    };
    let column = |&(ix, n): &(usize, u64)| format!("{} ({n})", options.columns.name(ix));
    let mut columns = with_holes.iter().take(5).map(column).collect::<Vec<_>>().join(", ");
    if with_holes.len() > 5 {
        columns += &format!(" and {} more", with_holes.len() - 5);
    }
    let problem = format!("{what} needs a number in every cell, but cells are missing in column {columns}");
    let hint = "choose `covariance` diag or `family` mixed, which leave missing cells out exactly, or leave the columns out with `exclude`";
    Err(InputError::new(problem).hint(hint).into())
}

fn check_unit(survey: &Survey) -> Result<()> {
    let CellSummary::Numbers { squared_lengths: [shortest, longest], .. } = &survey.cells else { return Ok(()) };
    if survey.has_unit_rows() || missing(survey).next().is_some() {
        return Ok(());
    }
    let problem = format!(
        "`family` vmf needs rows of length 1, but their lengths go from {:.4} to {:.4}",
        shortest.sqrt(),
        longest.sqrt()
    );
    Err(InputError::new(problem).hint("give `normalize` to divide each row by its length").into())
}

/// Text has no place but in categorical columns.
fn check_text(shape: &Shape, options: &ModelOptions) -> Result<()> {
    let law = |ix: usize| match shape {
        Shape::Columns(_, laws) => Some(laws[ix]),
        _ => None,
    };
    for (ix, n_levels) in options.columns.n_levels.iter().enumerate() {
        if n_levels.is_some() && law(ix) != Some(ColumnFamily::Categorical) {
            let name = options.columns.name(ix);
            let (needed_by, hint) = match law(ix) {
                Some(law) if options.asked(ix).is_some() => (
                    format!("`column_families` {name}={}", law.name()),
                    format!("choose {name}=categorical, or leave the column out with `exclude` {name}"),
                ),
                _ => {
                    let (option, value) = match options.family {
                        Some(family) => ("`family` ", family.name()),
                        None => shape.asked_by(),
                    };
                    let hint = format!("choose `family` mixed, or leave the column out with `exclude` {name}");
                    (format!("{option}{value}"), hint)
                }
            };
            let problem = format!("column {name} holds text, and {needed_by} requires numbers");
            return Err(InputError::new(problem).hint(hint).into());
        }
    }
    Ok(())
}

/// Cells must bear to be squared and added up.
fn check_sizes(options: &ModelOptions, survey: &Survey) -> Result<()> {
    let CellSummary::Numbers { columns, .. } = &survey.cells else { return Ok(()) };
    let is_too_large = |column: &ColumnSummary| column.n > 0 && column.max.max(-column.min) > LARGEST_CELL;
    let Some(ix) = columns.iter().position(is_too_large) else { return Ok(()) };
    let (name, ColumnSummary { min, max, .. }) = (options.columns.name(ix), columns[ix]);
    let problem = format!("column {name} holds numbers from {min:e} to {max:e}, which are too large to be squared");
    let hint = format!(
        "divide the column by a large number, mend the rows that are wrong, or leave it out with `exclude` {name}"
    );
    Err(InputError::new(problem).hint(hint).into())
}

/// Squares of larger cells, or sums of squares of many rows, are beyond a double.
const LARGEST_CELL: f64 = 1e137;

/// Every column that `--column-family` names must exist, and what it holds must suit its law.
fn check_column_families(shape: &Shape, options: &ModelOptions, survey: &Survey) -> Result<()> {
    let Shape::Columns(family, laws) = shape else {
        return refuse_column_families(options, "has one distribution for all columns");
    };
    if *family != FamilyName::Mixed {
        refuse_column_families(options, "has one distribution for all columns")?;
    }
    let names: Vec<String> = (0..survey.n_columns).map(|ix| options.columns.name(ix)).collect();
    if let Some((unknown, _)) = options.column_families.iter().find(|(name, _)| !names.contains(name)) {
        let problem = format!("`column_families` names a column {unknown:?}, which the data does not have");
        return Err(InputError::new(problem).hint(format!("the columns are {}", shortened(&names))).into());
    }
    for (ix, (law, column)) in laws.iter().zip(survey.columns()).enumerate() {
        let Some(expected) = misfit(*law, column, options.columns.levels(ix)) else { continue };
        let (name, min, max) = (&names[ix], column.min, column.max);
        let whole = if column.is_whole { "whole numbers" } else { "numbers" };
        let problem = format!("column {name} holds {whole} from {min} to {max}, expected {expected}");
        let hint = match options.asked(ix) {
            Some(_) => {
                format!("choose {name}=gaussian, which takes any numbers, or leave `column_families` {name} out")
            }
            None => format!("choose `family` mixed, or leave the column out with `exclude` {name}"),
        };
        return Err(InputError::new(problem).hint(hint).into());
    }
    Ok(())
}

fn refuse_column_families(options: &ModelOptions, why: &str) -> Result<()> {
    if options.column_families.is_empty() {
        return Ok(());
    }
    let problem = format!("`column_families` requires `family` mixed; the family chosen {why}");
    Err(InputError::new(problem).hint("leave `column_families` out, or choose `family` mixed").into())
}

fn shortened(names: &[String]) -> String {
    let more = if names.len() > 8 { ", …" } else { "" };
    names.iter().take(8).cloned().collect::<Vec<_>>().join(", ") + more
}

/// What a column's law expects, if the column does not hold it.
fn misfit(law: ColumnFamily, column: &ColumnSummary, n_levels: Option<usize>) -> Option<&'static str> {
    let is_counted = column.n == 0 || (column.is_whole && column.min >= 0.0);
    match law {
        ColumnFamily::Gaussian => None,
        ColumnFamily::Bernoulli => (!is_counted || column.max > 1.0).then_some("zeros and ones (bernoulli)"),
        ColumnFamily::Poisson => {
            let is_small = column.n == 0 || column.max <= LARGEST_COUNT;
            (!is_counted || !is_small).then_some("counts: whole numbers from 0 to 2⁴⁰ (poisson)")
        }
        ColumnFamily::Categorical => {
            let is_coded = is_counted && column.max < MOST_LEVELS;
            (n_levels.is_none() && !is_coded).then_some("text, or whole numbers from 0 to 9999 (categorical)")
        }
    }
}

/// More levels than a column of whole numbers may have.
const MOST_LEVELS: f64 = 10_000.0;

/// A parameter that the family does not have is an error.
fn check_parameters(shape: &Shape, options: &ModelOptions) -> Result<()> {
    let (family, name) = shape.asked_by();
    check_gamma(shape, options)?;
    let has = |setting: &&Setting| setting.used_by.contains(&name);
    let given = options.parameters().filter_map(Setting::of);
    let Some(wrong) = given.into_iter().find(|setting| !has(setting)) else { return Ok(()) };
    let known = SettingList::Prior.settings().filter(has).map(|setting| format!("`{}`", setting.key));
    let known = known.collect::<Vec<_>>().join(", ");
    let (key, users) = (wrong.key, users(wrong));
    let problem = format!("`{key}` requires {users}, and the rows have {family}{name}, with the priors {known}");
    Err(InputError::new(problem).hint(format!("leave `{key}` out, or choose {users}")).into())
}

/// γ has one source.
fn check_gamma(shape: &Shape, options: &ModelOptions) -> Result<()> {
    if options.gamma == Some(Gamma::Learn) && !matches!(shape, Shape::Multinomial) {
        let hint = "leave `gamma` out, give a number, or choose `family` multinomial";
        return Err(InputError::new("`gamma=learn` requires documents (`family` multinomial)").hint(hint).into());
    }
    if options.prior_documents.is_some() && options.gamma.is_some() {
        let problem = "`prior_documents` and `gamma` both set the weight of the prior";
        return Err(InputError::new(problem).hint("give one of them").into());
    }
    Ok(())
}

/// The covariances and families that have a prior, as they are asked for.
fn users(setting: &Setting) -> String {
    let is_covariance = |name: &&&str| ["isotropic", "diag", "full"].contains(name);
    let (covariances, families): (Vec<&str>, Vec<&str>) = setting.used_by.iter().partition(is_covariance);
    let of = |option: &str, names: &[&str]| (!names.is_empty()).then(|| format!("`{option}` {}", listed(names)));
    let users = [of("covariance", &covariances), of("family", &families)];
    users.into_iter().flatten().collect::<Vec<_>>().join(" or ")
}

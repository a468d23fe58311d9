//! Models that were fitted apart, added up: statistics hold no prior, so they count the same under one model as under another.
//!
//! The components of each model are the births of one worker. Pairs that are better as one are merged, the best first, label entropy included.

use std::collections::BTreeMap;
use std::path::Path;

use super::convert::Conversion;
use super::settle::merge;
use crate::consolidate::{PieceKey, PieceName, Pool, ShardId};
use crate::error::{InputError, Result};
use crate::family::ColumnLaw;
use crate::io::FittedColumns;
use crate::model::Model;
use crate::rng::Stream;
use crate::run_dir::FittedModel;
use crate::stats::Stats;
use crate::sweep::Kernel;

/// Models as one counts that has all their columns, words and levels.
pub(crate) struct Common {
    /// The one with the most rows, whose prior it is.
    pub(crate) base_ix: usize,
    /// Without components.
    pub(crate) model: FittedModel,
    /// The components of each model.
    pub(crate) components: Vec<Vec<Stats>>,
}

/// A model that can hold the components of all others.
pub(crate) fn common_model(models: &[(&Path, &FittedModel)]) -> Result<Common> {
    let n_rows = |model: &FittedModel| model.components.iter().map(|stats| stats.count).sum::<i64>();
    let largest = (0..models.len()).max_by_key(|&ix| (n_rows(models[ix].1), std::cmp::Reverse(ix)));
    let base_ix = largest.ok_or_else(|| InputError::new("there is no model to merge"))?;
    let base = models[base_ix].1;
    let mut columns = base.columns.clone();
    let mut model = base.model.clone();
    for (name, other) in models {
        check_alike(base, other).map_err(|error| InputError { file: Some(name.to_path_buf()), ..error })?;
        columns = with_names_of(&columns, &other.columns);
    }
    let n_words = columns.names.as_ref().map(Vec::len);
    match &mut model {
        Model::Multinomial(family) => family.n_words = n_words.unwrap_or(family.n_words),
        Model::Columns(family) => {
            for (ix, column) in family.columns.iter_mut().enumerate() {
                if let (ColumnLaw::Categorical { n_levels, .. }, Some(Some(levels))) =
                    (&mut column.law, columns.levels.get(ix))
                {
                    *n_levels = levels.len();
                }
                let name = columns.names.as_ref().map(|names| &names[ix]);
                column.has_missing |= models.iter().any(|(_, other)| has_missing(other, ix, name));
            }
        }
        _ => {}
    }
    columns.n_columns = model.n_columns();
    let converted = models.iter().map(|(_, other)| {
        let conversion = Conversion::new(&other.model, &other.columns, &model, &columns);
        other.components.iter().map(|stats| conversion.of(stats)).collect()
    });
    let components = converted.collect();
    Ok(Common { base_ix, model: FittedModel { model, columns, components: Vec::new(), ..base.clone() }, components })
}

/// The components of several models as those of one, by number.
pub(crate) fn join(
    model: &Model,
    components: &[Vec<Stats>],
    alpha: f64,
    kernel: Kernel,
    rng: &mut Stream,
) -> BTreeMap<u64, Stats> {
    let family = model.conjugate();
    let mut pool = Pool::new(0);
    for (model_ix, of_model) in components.iter().enumerate() {
        for (birth, stats) in (0u64..).zip(of_model) {
            let id = pool.mint();
            pool.enter(PieceKey::whole(model_ix as ShardId, PieceName::Birth(birth)), Some(stats.clone()), id);
        }
    }
    pool.settle(family);
    merge(&mut pool, &[], model, alpha, kernel, rng);
    pool.live().map(|(id, total)| (id.number, total.stats.clone())).collect()
}

fn has_missing(other: &FittedModel, ix: usize, name: Option<&String>) -> bool {
    let Model::Columns(family) = &other.model else { return false };
    let place = name.and_then(|name| other.columns.names.as_ref()?.iter().position(|known| known == name));
    family.columns.get(place.unwrap_or(ix)).is_some_and(|column| column.has_missing)
}

/// The names, words and levels of both.
fn with_names_of(columns: &FittedColumns, other: &FittedColumns) -> FittedColumns {
    let mut all = columns.clone();
    let (Some(names), Some(others)) = (&mut all.names, &other.names) else { return all };
    let levels_of = |name: &String| other.levels.get(others.iter().position(|known| known == name)?)?.as_ref();
    for (levels, name) in all.levels.iter_mut().zip(names.iter()) {
        if let (Some(levels), Some(more)) = (levels, levels_of(name)) {
            let new: Vec<String> = more.iter().filter(|level| !levels.contains(level)).cloned().collect();
            levels.extend(new);
        }
    }
    let known: std::collections::HashSet<String> = names.iter().cloned().collect();
    names.extend(others.iter().filter(|name| !known.contains(*name)).cloned());
    all
}

/// Rejects models that do not count the same things.
fn check_alike(base: &FittedModel, other: &FittedModel) -> std::result::Result<(), InputError> {
    let name = |model: &FittedModel| model.model.described().name().to_owned();
    if name(base) != name(other) {
        let problem = format!("has the family {}, another one {}", name(other), name(base));
        return Err(InputError::new(problem).hint("fit all parts with the same `family` and `covariance`"));
    }
    if base.transform != other.transform {
        let problem = "was fitted to columns that were transformed in another way";
        return Err(InputError::new(problem).hint("merge models that were fitted without `standardize` and `pca`"));
    }
    let sorted = |model: &FittedModel| {
        model.columns.names.clone().map(|mut names| {
            names.sort_unstable();
            names
        })
    };
    let is_text = matches!(base.model, Model::Multinomial(_));
    match (sorted(base), sorted(other)) {
        // vocabularies are put together
        (Some(_), Some(_)) if is_text => {}
        (Some(names), Some(others)) if names != others => {
            let missing: Vec<&str> = names.iter().filter(|name| !others.contains(name)).map(String::as_str).collect();
            let more: Vec<&str> = others.iter().filter(|name| !names.contains(name)).map(String::as_str).collect();
            let problem = format!("has other columns: without [{}], with [{}]", missing.join(", "), more.join(", "));
            return Err(InputError::new(problem).hint("fit all parts to the same `columns`"));
        }
        (Some(_), Some(_)) => {}
        _ if base.model.n_columns() != other.model.n_columns() => {
            let problem = format!("has {} columns, another one {}", other.model.n_columns(), base.model.n_columns());
            return Err(InputError::new(problem).hint("fit all parts to the same columns"));
        }
        _ => {}
    }
    if let (Model::Columns(a), Model::Columns(b)) = (&base.model, &other.model) {
        let order = Conversion::places(&other.columns, &base.columns, b.columns.len());
        for (ix, column) in b.columns.iter().enumerate() {
            let of_base = &a.columns[order[ix]];
            let is_same = std::mem::discriminant(&column.law) == std::mem::discriminant(&of_base.law);
            if !is_same || !has_same_levels(column.law, of_base.law, &other.columns, ix) {
                let name = other.columns.names.as_ref().map_or_else(|| (ix + 1).to_string(), |names| names[ix].clone());
                let problem = format!("column {name} has another family or other levels than in another model");
                return Err(InputError::new(problem).hint("name it in `column_families` when you fit the parts"));
            }
        }
    }
    Ok(())
}

/// Levels without names must be the same numbers.
fn has_same_levels(law: ColumnLaw, base: ColumnLaw, columns: &FittedColumns, ix: usize) -> bool {
    let n_levels = |law| if let ColumnLaw::Categorical { n_levels, .. } = law { Some(n_levels) } else { None };
    columns.levels.get(ix).is_some_and(Option::is_some) || n_levels(law) == n_levels(base)
}

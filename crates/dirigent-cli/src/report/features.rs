//! Groups of components as people see them: for each a number a feature (a column's mean, the share of a level, the share of a word), whatever the family.
//!
//! The same features, made comparable, place clusters and rows in one space: for maps and for neighbours.

use dirigent::internals::family::ColumnLaw;
use dirigent::internals::run_dir::FittedModel;
use dirigent::internals::transform::Transform;
use dirigent::{Model, Row, Stats};

use super::groups::Groups;

/// Words that groups of documents are compared by: those whose shares differ most.
const MOST_WORDS: usize = 800;

/// What a feature is a number of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// A column of numbers.
    Number,
    /// A column of counts.
    Count,
    /// A column of zeros and ones: the share of ones.
    Ones,
    /// One level of a column: its share.
    Level(usize),
    /// A word: its share.
    Word,
}

/// One feature.
#[derive(Debug, Clone)]
pub(crate) struct Feature {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The column it is of.
    column: usize,
    /// Of all rows.
    pub(crate) overall: f64,
    /// The standard deviation over all rows.
    pub(crate) sd: f64,
}

/// The features of all groups of a page.
#[derive(Debug, Clone)]
pub(crate) struct Features {
    pub(crate) features: Vec<Feature>,
    /// The share of rows of each group.
    pub(crate) weights: Vec<f64>,
    /// The groups that are components: every row is in one of them.
    pub(crate) components: Vec<usize>,
    /// For each group a number a feature.
    pub(crate) values: Vec<Vec<f64>>,
    /// For each group the standard deviation of its rows; empty where there is none to speak of.
    pub(crate) sds: Vec<Vec<f64>>,
}

impl Features {
    /// The features of all groups, in the columns that the model was fitted to. What all rows have in common, and which words are told of, does not depend on the groups.
    pub(crate) fn of(groups: &Groups) -> Self {
        let (fitted, total) = (&groups.fitted, groups.n_rows() as f64);
        let weights = (0..fitted.components.len()).map(|group| groups.rows(group) as f64 / total).collect();
        let mut features = match &fitted.model {
            Model::Multinomial(_) => Self::of_words(fitted, weights, &groups.components),
            Model::Columns(_) => Self::of_columns(fitted, weights),
            _ => Self::of_numbers(fitted, weights),
        };
        features.components.clone_from(&groups.components);
        features.widen(&groups.members);
        features.summarize();
        features
    }

    /// In the columns that were read, where the model was fitted to others; nothing where that cannot be undone.
    pub(crate) fn as_read(&self, fitted: &FittedModel) -> Option<Self> {
        let Transform { offset, scale, rotation, normalize } = fitted.transform.as_ref()?;
        if *normalize || self.features.iter().any(|feature| feature.kind != Kind::Number) {
            return None;
        }
        let back = |value: &Vec<f64>| -> Vec<f64> {
            let mut scaled = vec![0.0; offset.len()];
            match rotation {
                Some(rows) => rows.iter().zip(value).for_each(|(row, y)| {
                    scaled.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * y);
                }),
                None => scaled.copy_from_slice(value),
            }
            scaled.iter().zip(offset).zip(scale).map(|((x, offset), scale)| offset + scale * x).collect()
        };
        let sd_of = |sds: &Vec<f64>| sds.iter().zip(scale).map(|(sd, scale)| sd * scale).collect();
        let features = (0..offset.len()).map(|ix| Feature::new(column_name(fitted, ix), Kind::Number, ix)).collect();
        let mut features = Self {
            features,
            weights: self.weights.clone(),
            components: self.components.clone(),
            values: self.values.iter().map(back).collect(),
            sds: if rotation.is_none() { self.sds.iter().map(sd_of).collect() } else { Vec::new() },
        };
        features.summarize();
        Some(features)
    }

    fn of_numbers(fitted: &FittedModel, weights: Vec<f64>) -> Self {
        let n_columns = fitted.model.n_columns();
        let arrays = fitted.model.described().arrays(&fitted.components);
        let array = |name: &str| arrays.iter().find(|array| array.name == name).map(|array| &array.numbers);
        let rows = |numbers: &Vec<f64>| numbers.chunks_exact(n_columns).map(<[f64]>::to_vec).collect::<Vec<_>>();
        let values = array("means").or_else(|| array("directions")).map(rows).unwrap_or_default();
        let sds = match (&fitted.model, array("covariances")) {
            (Model::GaussianFixed(family), _) => vec![vec![family.noise_sd; n_columns]; values.len()],
            (_, Some(matrices)) => {
                let diagonal = |matrix: &[f64]| matrix.iter().step_by(n_columns + 1).map(|x| x.sqrt()).collect();
                matrices.chunks_exact(n_columns * n_columns).map(diagonal).collect()
            }
            _ => Vec::new(),
        };
        let features = (0..n_columns).map(|ix| Feature::new(fitted_name(fitted, ix), Kind::Number, ix)).collect();
        Self { features, weights, components: Vec::new(), values, sds }
    }

    fn of_columns(fitted: &FittedModel, weights: Vec<f64>) -> Self {
        let Model::Columns(family) = &fitted.model else { panic!("a model of columns") };
        let arrays = fitted.model.described().arrays(&fitted.components);
        let array = |name: &str| &arrays.iter().find(|array| array.name == name).expect("an array of columns").numbers;
        let (means, variances) = (array("means"), array("variances"));
        let (n_columns, k) = (family.columns.len(), fitted.components.len());
        let (mut features, mut first_sum) = (Vec::new(), 0);
        let (mut values, mut sds) = (vec![Vec::new(); k], vec![Vec::new(); k]);
        for (column_ix, column) in family.columns.iter().enumerate() {
            let name = fitted_name(fitted, column_ix);
            match column.law {
                ColumnLaw::Categorical { n_levels, smoothing } => {
                    for level in 0..n_levels {
                        let name = format!("{name} = {}", level_name(fitted, column_ix, level));
                        features.push(Feature::new(name, Kind::Level(level), column_ix));
                        for (stats, values) in fitted.components.iter().zip(&mut values) {
                            let levels = &stats.dense()[first_sum..first_sum + n_levels];
                            let total: f64 = levels.iter().sum::<f64>() + smoothing * n_levels as f64;
                            values.push((levels[level] + smoothing) / total);
                        }
                        sds.iter_mut().for_each(|sds| sds.push(f64::NAN));
                    }
                }
                law => {
                    let kind = match law {
                        ColumnLaw::Bernoulli { .. } => Kind::Ones,
                        ColumnLaw::Poisson { .. } => Kind::Count,
                        _ => Kind::Number,
                    };
                    features.push(Feature::new(name, kind, column_ix));
                    for cluster in 0..k {
                        values[cluster].push(means[cluster * n_columns + column_ix]);
                        sds[cluster].push(variances[cluster * n_columns + column_ix].sqrt());
                    }
                }
            }
            first_sum += column.stats_len();
        }
        Self { features, weights, components: Vec::new(), values, sds }
    }

    fn of_words(fitted: &FittedModel, weights: Vec<f64>, components: &[usize]) -> Self {
        let chosen = telling_words(fitted, &weights, components);
        let feature = |&word: &usize| Feature::new(fitted_name(fitted, word), Kind::Word, word);
        let values = fitted.components.iter().map(|stats| {
            let (entries, total) = words_of(stats, fitted.model.n_columns());
            let share = |word: &usize| {
                let found = entries.binary_search_by_key(&(*word as u32), |entry| entry.0);
                found.map_or(0.0, |ix| entries[ix].1 as f64 / total)
            };
            chosen.iter().map(share).collect()
        });
        let features = chosen.iter().map(feature).collect();
        Self { features, weights, components: Vec::new(), values: values.collect(), sds: Vec::new() }
    }

    /// The standard deviations of groups of several components: those within the components and between them.
    fn widen(&mut self, members: &[Vec<u32>]) {
        if self.sds.is_empty() {
            return;
        }
        for (group, members) in members.iter().enumerate().filter(|(_, members)| members.len() > 1) {
            let places: Vec<usize> = members.iter().map(|&component| self.components[component as usize]).collect();
            let sd = |ix: usize| {
                let mean_of = |number: &dyn Fn(usize) -> f64| {
                    places.iter().map(|&place| self.weights[place] * number(place)).sum::<f64>() / self.weights[group]
                };
                let mean = mean_of(&|place| self.values[place][ix]);
                mean_of(&|place| self.sds[place][ix].powi(2) + (self.values[place][ix] - mean).powi(2)).sqrt()
            };
            self.sds[group] = (0..self.features.len()).map(sd).collect();
        }
    }

    /// Means and standard deviations over all rows, from those of the components.
    fn summarize(&mut self) {
        for ix in 0..self.features.len() {
            let components = || self.components.iter().map(|&group| (self.weights[group], self.values[group][ix]));
            let overall: f64 = components().map(|(weight, value)| weight * value).sum();
            let between: f64 = components().map(|(weight, value)| weight * (value - overall).powi(2)).sum();
            let variance = |&group: &usize| Some(self.weights[group] * self.sds.get(group)?[ix].powi(2));
            let within: f64 = self.components.iter().filter_map(variance).sum();
            let feature = &mut self.features[ix];
            feature.overall = overall;
            feature.sd = match feature.kind {
                Kind::Level(_) | Kind::Ones => (overall * (1.0 - overall)).max(0.0).sqrt(),
                Kind::Word => overall.max(0.0).sqrt(),
                Kind::Number | Kind::Count => (between + within).sqrt(),
            };
        }
    }

    /// Groups as points, in which a step is as large in every feature.
    pub(crate) fn points(&self) -> Vec<Vec<f64>> {
        let point =
            |values: &Vec<f64>| self.features.iter().zip(values).map(|(feature, x)| feature.place(*x)).collect();
        self.values.iter().map(point).collect()
    }

    /// A row as such a point; a missing cell is where the middle of all rows is.
    pub(crate) fn point_of(&self, row: Row<'_>) -> Vec<f64> {
        let of_feature = |feature: &Feature| {
            let cell = match row {
                Row::F32(cells) => f64::from(cells[feature.column]),
                Row::F64(cells) => cells[feature.column],
                Row::Counts(row) => {
                    let found = row.words.binary_search(&(feature.column as u32));
                    found.map_or(0.0, |ix| f64::from(row.counts[ix])) / row.total().max(1) as f64
                }
            };
            match feature.kind {
                _ if cell.is_nan() => feature.place(feature.overall),
                Kind::Level(level) => feature.place(if cell == level as f64 { 1.0 } else { 0.0 }),
                _ => feature.place(cell),
            }
        };
        self.features.iter().map(of_feature).collect()
    }
}

impl Feature {
    fn new(name: String, kind: Kind, column: usize) -> Self {
        Self { name, kind, column, overall: 0.0, sd: 0.0 }
    }

    /// The column it is of.
    pub(crate) fn column(&self) -> usize {
        self.column
    }

    /// A value on a scale on which one is about a standard deviation.
    fn place(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Number if self.sd > 0.0 => (value - self.overall) / self.sd,
            Kind::Number => 0.0,
            Kind::Count => 2.0 * value.max(0.0).sqrt(),
            Kind::Ones | Kind::Level(_) => 2.0 * value,
            Kind::Word => value.max(0.0).sqrt(),
        }
    }

    /// How far a group stands apart from all rows.
    pub(crate) fn distinction(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Word if value > 0.0 && self.overall > 0.0 => value * libm::log(value / self.overall),
            Kind::Word => 0.0,
            _ if self.sd > 0.0 => (value - self.overall) / self.sd,
            _ => 0.0,
        }
    }
}

/// What a column of the model is called.
fn fitted_name(fitted: &FittedModel, ix: usize) -> String {
    let rotated = fitted.transform.as_ref().and_then(Transform::names_out);
    rotated.map_or_else(|| column_name(fitted, ix), |names| names[ix].clone())
}

/// What a column that was read is called: its name, or its number from 1.
pub(crate) fn column_name(fitted: &FittedModel, ix: usize) -> String {
    match &fitted.columns.names {
        Some(names) => names[ix].clone(),
        None if matches!(fitted.model, Model::Multinomial(_)) => format!("word {}", ix + 1),
        None => format!("column {}", ix + 1),
    }
}

/// What a level of a column is called: its text, or its number.
pub(crate) fn level_name(fitted: &FittedModel, column: usize, level: usize) -> String {
    let text = fitted.columns.levels.get(column).and_then(|levels| levels.as_ref()?.get(level).cloned());
    text.unwrap_or_else(|| level.to_string())
}

/// The counts of a component's words, without their total, and the total.
pub(crate) fn words_of(stats: &Stats, n_words: usize) -> (Vec<(u32, i64)>, f64) {
    let mut entries = stats.to_counts();
    entries.retain(|(word, _)| (*word as usize) < n_words);
    let total: i64 = entries.iter().map(|(_, count)| count).sum();
    (entries, total.max(1) as f64)
}

/// The words whose shares differ most between components, by number.
fn telling_words(fitted: &FittedModel, weights: &[f64], components: &[usize]) -> Vec<usize> {
    let n_words = fitted.model.n_columns();
    // means of shares and of their square roots: the variance of the roots is the one less the square of the other
    let (mut shares, mut roots) = (vec![0.0; n_words], vec![0.0; n_words]);
    for (stats, weight) in components.iter().map(|&group| (&fitted.components[group], weights[group])) {
        let (entries, total) = words_of(stats, n_words);
        for (word, count) in entries {
            let share = count as f64 / total;
            shares[word as usize] += weight * share;
            roots[word as usize] += weight * share.sqrt();
        }
    }
    let mut words: Vec<usize> = (0..n_words).filter(|&word| shares[word] > 0.0).collect();
    let spread = |word: usize| shares[word] - roots[word] * roots[word];
    words.sort_by(|&a, &b| spread(b).total_cmp(&spread(a)).then(a.cmp(&b)));
    words.truncate(MOST_WORDS);
    words.sort_unstable();
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::groups::tests::{groups_of, run_of_heaps};
    use dirigent::Clusters;

    #[test]
    fn a_group_is_as_wide_as_its_components_lie_apart_and_all_rows_do_not_depend_on_the_cut() {
        let features = |clusters| Features::of(&groups_of(&run_of_heaps(5, clusters)));
        let (one, all) = (features(Clusters::Number(1)), features(Clusters::Components));
        // the one cluster is all rows
        let (value, sd, feature) = (one.values[0][0], one.sds[0][0], &one.features[0]);
        assert!((sd - feature.sd).abs() < 1e-9 * sd, "{sd} and {}", feature.sd);
        assert!((value - feature.overall).abs() < 0.02 * sd, "{value} and {}", feature.overall);
        assert_eq!((feature.overall, feature.sd), (all.features[0].overall, all.features[0].sd));
        assert!(all.sds[0][0] < 0.5 * sd);
    }
}

//! How wide clusters are in each column, from components that a pilot has found.
//!
//! Some columns tell clusters apart and are narrow within them, others do not and are as wide there as in all the data. A prior that expects the same share of the
//! variance everywhere is wrong for both. It matters where rows are few: a component of many knows its own width.

use super::{Model, ModelOptions, Width};
use crate::stats::Stats;

/// Candidates have shares about a half. With so many times the width that was found, a half of it is just that.
const TIMES: f64 = 2.0;

/// Candidates that differ from these in nothing but the widths of columns, which are those of the components; none where there is nothing to learn.
pub(crate) fn candidates(usual: &[ModelOptions], model: &Model, components: &[Stats]) -> Vec<ModelOptions> {
    let Model::GaussianFull(_) = model else { return Vec::new() };
    // a single component is as wide as the data in all columns
    if components.len() < 2 {
        return Vec::new();
    }
    let columns = within(components, model.n_columns());
    let with_columns = |candidate: &ModelOptions| {
        let width = candidate.width.clone().map(|width| Width { columns: columns.clone(), ..width });
        ModelOptions { width, ..candidate.clone() }
    };
    usual.iter().map(with_columns).collect()
}

/// The variance of each column within components of full covariances, in units of that of the data.
fn within(components: &[Stats], n_columns: usize) -> Vec<f64> {
    let n_rows: f64 = components.iter().map(|stats| stats.count as f64).sum();
    let mut on_diagonal = n_columns;
    let of_column = |column_ix: usize| {
        let square_at = on_diagonal;
        on_diagonal += n_columns - column_ix;
        let scatter = |stats: &Stats| {
            let (sum, squares) = (stats.dense()[column_ix], stats.dense()[square_at]);
            (squares - sum * sum / stats.count as f64).max(0.0)
        };
        TIMES * components.iter().map(scatter).sum::<f64>() / n_rows
    };
    (0..n_columns).map(of_column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::priors;
    use crate::rows::{Shard, Table};
    use crate::survey::Survey;
    use crate::sweep::reference_sampler;

    #[test]
    fn a_column_that_tells_components_apart_is_narrow_within_them() {
        // the first column is the component, the second is the same in both
        let cells = vec![0.0, -1.0, 0.0, 1.0, 4.0, -1.0, 4.0, 1.0];
        let rows = Shard::of_table(Table::from_f64(2, cells));
        let options = ModelOptions::default();
        let model = Model::resolve(&options, &Survey::of(&rows)).unwrap();
        let mut sampler = reference_sampler(&model, rows.clone());
        sampler.load(&vec![model.conjugate().empty_stats(); 2]);
        sampler.set_labels(vec![0, 0, 1, 1]);
        let usual = priors::candidates(&model, &options);
        let found = candidates(&usual, &model, &sampler.contributions());
        assert_eq!(found.len(), usual.len());
        let width = found[0].width.as_ref().unwrap();
        assert_eq!(width.columns, [0.0, TIMES]);
        let Model::GaussianFull(family) = Model::resolve(&found[0], &Survey::of(&rows)).unwrap() else {
            panic!("it is still full")
        };
        // a share of a tenth of the data's variance, which is the least, and one of twice the width found
        assert_eq!(family.prior_scale, [0.1, 0.0, 0.2]);
    }

    #[test]
    fn one_component_says_nothing_of_widths() {
        let rows = Shard::of_table(Table::from_f64(2, vec![0.5, 1.0, 2.0, 3.5]));
        let model = Model::resolve(&ModelOptions::default(), &Survey::of(&rows)).unwrap();
        let usual = priors::candidates(&model, &ModelOptions::default());
        assert!(candidates(&usual, &model, &[model.conjugate().empty_stats()]).is_empty());
    }
}

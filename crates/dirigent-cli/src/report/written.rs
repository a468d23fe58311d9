//! Labels that are no groups of components (`--point vi`, `--point best`): their clusters, described by the sampled rows.

use std::path::Path;

use dirigent::internals::io::labels::read_labels;
use dirigent::internals::run_dir::{FittedModel, RowSample};
use dirigent::{Cut, InputError, Result};

use super::groups::Groups;
use super::sample::Sample;

/// The label of every row, where labels are no groups of components; nothing where they are.
pub(crate) fn labels(run: &Path, is_cut: bool) -> Result<Option<Vec<u32>>> {
    if is_cut || !run.join("component_labels.npy").exists() {
        return Ok(None);
    }
    let path = run.join("labels.npy");
    let truth = read_labels(&path)?;
    match truth.numbers(truth.labels.len()) {
        Some(numbers) => Ok(Some(numbers)),
        None => {
            let error = InputError::in_file(&path, "found a label that is no cluster's number");
            Err(error.hint("the file is damaged: fit the model again").into())
        }
    }
}

/// The groups of the page and its sample: each sampled row has the label that was written.
pub(crate) fn groups(fitted: &FittedModel, sample: RowSample, labels: &[u32]) -> Result<(Groups, Sample)> {
    let n_clusters = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let mut sizes = vec![0u64; n_clusters];
    labels.iter().for_each(|&label| sizes[label as usize] += 1);
    let of_components = Groups::of(fitted, None, identity(fitted.components.len()));
    let numbers = sample.numbers.clone();
    if numbers.iter().any(|&number| number >= labels.len()) {
        let error = InputError::in_file("sample.npz", "has rows that labels.npy does not have");
        return Err(error.hint("the files are not of one run: fit the model again").into());
    }
    let mut sample = Sample::of(sample, fitted, &of_components)?;
    let mut components = vec![fitted.model.conjugate().empty_stats(); n_clusters];
    for (row, &number) in sample.fitted.rows().zip(&numbers) {
        fitted.model.family().add_row(row, &mut components[labels[number] as usize]);
    }
    let described = FittedModel {
        model: fitted.model.clone(),
        alpha: fitted.alpha,
        columns: fitted.columns.clone(),
        transform: fitted.transform.clone(),
        components,
    };
    let mut groups = Groups::of(&described, None, identity(n_clusters));
    groups.sizes = Some(sizes);
    sample.relabel(numbers.iter().map(|&number| labels[number]));
    Ok((groups, sample))
}

fn identity(n: usize) -> Cut {
    Cut::new((0..n as u32).collect(), &vec![1; n])
}

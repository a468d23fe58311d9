//! usage: compare-mixturs FOLDER COLUMNS THREADS SEED
//!
//! Fits FOLDER/train, little-endian doubles row by row, by mixturs with its defaults; writes FOLDER/labels (of train) and FOLDER/log_density (of FOLDER/test).

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex};

use mixturs::callback::Callback;
use mixturs::params::thin::ThinParams;
use mixturs::state::GlobalState;
use mixturs::stats::ContinuousBatchwise;
use mixturs::{FitOptions, Model, ModelOptions, NIW};
use nalgebra::DMatrix;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, folder, n_columns, threads, seed] = args.as_slice() else {
        return Err("usage: compare-mixturs FOLDER COLUMNS THREADS SEED".into());
    };
    let folder = Path::new(folder);
    let n_columns = n_columns.parse()?;
    let train = points(&folder.join("train"), n_columns)?;
    let test = points(&folder.join("test"), n_columns)?;

    let options = FitOptions { workers: threads.parse()?, seed: seed.parse()?, ..FitOptions::default() };
    let mut model = Model::from_options(ModelOptions::<NIW>::default(n_columns));
    let last = Arc::new(Mutex::new(None));
    model.fit(train.clone(), &options, Some(Last(last.clone())));
    let (_, labels) = model.predict(train);

    let state = last.lock().map_err(|_| "the fit has failed")?.take().ok_or("there was no iteration")?;
    let bytes = labels.iter().flat_map(|&label| (label as u64).to_le_bytes());
    std::fs::write(folder.join("labels"), bytes.collect::<Vec<u8>>())?;
    let bytes = log_density(&state, &test).into_iter().flat_map(f64::to_le_bytes);
    std::fs::write(folder.join("log_density"), bytes.collect::<Vec<u8>>())?;
    Ok(())
}

/// The file's rows, as columns.
fn points(file: &Path, n_columns: usize) -> Result<DMatrix<f64>, Box<dyn Error>> {
    let bytes = std::fs::read(file)?;
    let cells: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|cell| f64::from_le_bytes(*cell)).collect();
    Ok(DMatrix::from_vec(n_columns, cells.len() / n_columns, cells))
}

/// Keeps the latest state: the model does not show its own.
struct Last(Arc<Mutex<Option<GlobalState<NIW>>>>);

impl Callback<GlobalState<NIW>> for Last {
    fn during_step(&mut self, _iteration: usize, state: &GlobalState<NIW>) {
        if let Ok(mut last) = self.0.lock() {
            *last = Some(state.clone());
        }
    }
}

/// ln Σ weight × density of each column of `rows`.
fn log_density(state: &GlobalState<NIW>, rows: &DMatrix<f64>) -> Vec<f64> {
    let mut total = vec![f64::NEG_INFINITY; rows.ncols()];
    for (component, weight) in state.cluster_weights().iter().enumerate() {
        let densities = state.cluster_dist(component).batchwise_ln_pdf(rows.clone());
        for (sum, log_pdf) in total.iter_mut().zip(densities.iter()) {
            let term = weight.ln() + log_pdf;
            let (small, large) = if term < *sum { (term, *sum) } else { (*sum, term) };
            *sum = if small == f64::NEG_INFINITY { large } else { large + (small - large).exp().ln_1p() };
        }
    }
    total
}

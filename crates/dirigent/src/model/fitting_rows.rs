//! Whether rows that a model is asked about are such as it knows: the survey saw those of the fit, but not these.

use super::Model;
use crate::error::Result;
use crate::family::Columns;
use crate::io::DataSet;
use crate::rows::{Row, Shard};

/// How far from 1 the length of a row may be that is meant to be a direction.
const UNIT: f64 = 1e-2;

impl Model {
    /// Refuses rows with cells that the family cannot hold, naming the first.
    pub fn check_rows(&self, data: &DataSet) -> Result<()> {
        let mut cells = vec![0.0; self.n_columns()];
        for (row_ix, row) in data.all_rows().rows().enumerate() {
            match row {
                Row::F32(numbers) => cells.iter_mut().zip(numbers).for_each(|(cell, x)| *cell = (*x).into()),
                Row::F64(numbers) => cells.copy_from_slice(numbers),
                Row::Counts(_) => return Ok(()),
            }
            if let Some((column_ix, problem)) = self.problem_of_row(&cells) {
                let error = data.in_cell(row_ix, column_ix, problem);
                return Err(error.hint("give rows like those of the fit, or take this one out").into());
            }
        }
        Ok(())
    }

    /// Whether the family can hold all cells of a shard that has its columns. Those of Gaussians were looked at when they were read.
    pub(crate) fn fits_rows(&self, shard: &Shard) -> bool {
        if !matches!(self, Self::Columns(_) | Self::VonMisesFisher(_)) {
            return true;
        }
        let mut cells = vec![0.0; self.n_columns()];
        shard.rows().all(|row| {
            match row {
                Row::F32(numbers) => cells.iter_mut().zip(numbers).for_each(|(cell, x)| *cell = (*x).into()),
                Row::F64(numbers) => cells.copy_from_slice(numbers),
                Row::Counts(_) => return false,
            }
            self.problem_of_row(&cells).is_none()
        })
    }

    fn problem_of_row(&self, cells: &[f64]) -> Option<(usize, String)> {
        if let Self::Columns(family) = self {
            return problem_of_cells(family, cells);
        }
        if let Some(ix) = cells.iter().position(|cell| cell.is_nan()) {
            let name = self.described().name();
            return Some((ix, format!("the cell is missing, and the model ({name}) needs a number in every cell")));
        }
        let length = cells.iter().map(|cell| cell * cell).sum::<f64>().sqrt();
        let is_direction = !matches!(self, Self::VonMisesFisher(_)) || (length - 1.0).abs() < UNIT;
        (!is_direction)
            .then(|| (0, format!("the row has length {length:.4}, and the model is of directions, of length 1")))
    }
}

fn problem_of_cells(family: &Columns, cells: &[f64]) -> Option<(usize, String)> {
    let ix = family.columns.iter().zip(cells).position(|(column, &cell)| !column.law.accepts(cell))?;
    Some((ix, format!("found {}, which the distribution of the column cannot hold", cells[ix])))
}

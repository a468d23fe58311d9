//! Small cells: rows that lie close together, by k-means on sketches of the rows.

use std::ops::Range;

use crate::consolidate::squared_distance;
use crate::family::Family;
use crate::interrupt::Interrupt;
use crate::model::{Model, with_family};
use crate::rng::Stream;
use crate::rows::Shard;
use crate::stats::Stats;

/// Passes over the rows in which centres move to the middle of their cells.
const PASSES: usize = 3;
/// A row is sketched as 2¹⁰ rows like it would be, so that the prior has no part in it.
const DOUBLINGS: u32 = 10;

/// Rows as points in single precision.
pub(super) struct Points {
    n_coordinates: usize,
    cells: Vec<f32>,
}

impl Points {
    /// Sketches of all rows, by so many threads.
    pub(super) fn of(parts: &[Shard], model: &Model, n_threads: usize) -> Self {
        let of_part = |rows: &Shard| {
            in_parts(rows.n_rows(), n_threads, |part| with_family!(model, family => sketches(family, rows, part)))
        };
        let sketches: Vec<(usize, Vec<f32>)> = parts.iter().flat_map(of_part).collect();
        let n_coordinates = sketches.iter().map(|(n_coordinates, _)| *n_coordinates).max().unwrap_or(1).max(1);
        Self { n_coordinates, cells: sketches.into_iter().flat_map(|(_, cells)| cells).collect() }
    }

    fn n_points(&self) -> usize {
        self.cells.len() / self.n_coordinates
    }

    fn point(&self, ix: usize) -> &[f32] {
        &self.cells[ix * self.n_coordinates..(ix + 1) * self.n_coordinates]
    }

    /// The cell of each point, of at most so many cells. Once the search is interrupted, what comes out is of no use.
    pub(super) fn cells(&self, n_cells: usize, n_threads: usize, interrupt: &Interrupt, rng: &mut Stream) -> Vec<u32> {
        let mut centres = self.seeds(n_cells, interrupt, rng);
        for _ in 0..PASSES {
            let nearest = self.nearest(&centres, n_threads, interrupt);
            self.move_to_the_middle(&mut centres, &nearest);
        }
        self.nearest(&centres, n_threads, interrupt)
    }

    /// Points far from one another (k-means++): each is drawn with probability ∝ the squared distance to those before.
    fn seeds(&self, n_cells: usize, interrupt: &Interrupt, rng: &mut Stream) -> Vec<f32> {
        let n_points = self.n_points();
        let mut seeds = self.point(rng.below(n_points)).to_vec();
        let mut distances = vec![f32::INFINITY; n_points];
        for last in 0..n_cells.min(n_points) - 1 {
            let last = seeds[last * self.n_coordinates..].to_vec();
            let mut total = 0.0;
            for (ix, distance) in distances.iter_mut().enumerate() {
                *distance = distance.min(squared_distance(self.point(ix), &last));
                total += f64::from(*distance);
            }
            if total <= 0.0 || interrupt.is_raised() {
                break;
            }
            let mut rest = rng.uniform() * total;
            let passes = |distance: &f32| {
                rest -= f64::from(*distance);
                rest < 0.0
            };
            let chosen = distances.iter().position(passes).unwrap_or(n_points - 1);
            seeds.extend_from_slice(self.point(chosen));
        }
        seeds
    }

    fn nearest(&self, centres: &[f32], n_threads: usize, interrupt: &Interrupt) -> Vec<u32> {
        let nearest = |ix: usize| {
            let (point, mut best, mut least) = (self.point(ix), 0, f32::INFINITY);
            if interrupt.is_raised() {
                return best;
            }
            for (cell, centre) in centres.chunks_exact(self.n_coordinates).enumerate() {
                let distance = squared_distance(point, centre);
                if distance < least {
                    (best, least) = (cell as u32, distance);
                }
            }
            best
        };
        in_parts(self.n_points(), n_threads, |part| part.map(nearest).collect::<Vec<u32>>()).concat()
    }

    fn move_to_the_middle(&self, centres: &mut [f32], nearest: &[u32]) {
        let mut sums = vec![0.0f64; centres.len()];
        let mut counts = vec![0u32; centres.len() / self.n_coordinates];
        for (ix, &cell) in nearest.iter().enumerate() {
            counts[cell as usize] += 1;
            let sums = &mut sums[cell as usize * self.n_coordinates..][..self.n_coordinates];
            sums.iter_mut().zip(self.point(ix)).for_each(|(sum, cell)| *sum += f64::from(*cell));
        }
        for (cell, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            let of_cell = cell * self.n_coordinates..(cell + 1) * self.n_coordinates;
            for (centre, sum) in centres[of_cell.clone()].iter_mut().zip(&sums[of_cell]) {
                *centre = (sum / f64::from(count)) as f32;
            }
        }
    }
}

/// Sketches of some rows, and how many coordinates each has.
fn sketches<F: Family + ?Sized>(family: &F, rows: &Shard, part: Range<usize>) -> (usize, Vec<f32>) {
    let (mut n_coordinates, mut cells, mut stats) = (0, Vec::new(), family.empty_stats());
    for row_ix in part {
        family.add_row(rows.row(row_ix), &mut stats);
        let mut many: Stats = if family.has_counts() { stats.to_sparse() } else { stats.clone() };
        for _ in 0..DOUBLINGS {
            let twice = many.clone();
            many.add(&twice);
        }
        let sketch = family.sketch(&many);
        n_coordinates = sketch.len();
        cells.extend(sketch.into_iter().map(|coordinate| if coordinate.is_finite() { coordinate } else { 0.0 }));
        if family.has_counts() {
            // whole numbers: nothing is left behind
            family.remove_row(rows.row(row_ix), &mut stats);
        } else {
            stats = family.empty_stats();
        }
    }
    (n_coordinates, cells)
}

/// Does something with each of a few parts of a range, on as many threads; results in their order.
pub(super) fn in_parts<T: Send>(n: usize, n_threads: usize, of_part: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let n_parts = n_threads.clamp(1, n.max(1));
    let part = |ix: usize| n * ix / n_parts..n * (ix + 1) / n_parts;
    std::thread::scope(|scope| {
        let of_part = &of_part;
        let threads: Vec<_> = (1..n_parts).map(|ix| scope.spawn(move || of_part(part(ix)))).collect();
        let first = of_part(part(0));
        std::iter::once(first)
            .chain(threads.into_iter().map(|thread| thread.join().expect("a part does not panic")))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, Seed};

    fn points(n_points: usize) -> Points {
        let mut rng = Seed::new(3).stream(Role::Observer, 0, 0);
        let place = |ix: usize, rng: &mut Stream| (ix % 7) as f32 * 10.0 + rng.normal() as f32 * 0.1;
        Points { n_coordinates: 3, cells: (0..3 * n_points).map(|ix| place(ix / 3, &mut rng)).collect() }
    }

    #[test]
    fn heaps_far_apart_have_cells_of_their_own_on_any_number_of_threads() {
        let points = points(700);
        let cells =
            |n_threads| points.cells(7, n_threads, &Interrupt::new(), &mut Seed::new(1).stream(Role::Start, 0, 0));
        let alone = cells(1);
        assert!((0..693).all(|ix| alone[ix] == alone[ix + 7]), "one heap, one cell");
        assert_eq!((0..7).map(|ix| alone[ix]).collect::<std::collections::BTreeSet<_>>().len(), 7);
        assert_eq!(alone, cells(3));
    }

    #[test]
    fn equal_points_and_few_points_are_no_problem() {
        let equal = Points { n_coordinates: 2, cells: vec![1.5; 20] };
        assert_eq!(equal.cells(4, 2, &Interrupt::new(), &mut Seed::new(1).stream(Role::Start, 0, 0)), [0; 10]);
        let two = points(2).cells(50, 2, &Interrupt::new(), &mut Seed::new(1).stream(Role::Start, 0, 0));
        assert_eq!(two.len(), 2);
    }
}

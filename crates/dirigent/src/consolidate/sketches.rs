//! Which components are near one another: where there are many, only those are compared.

use std::collections::BinaryHeap;

/// Points, one a component, in single precision.
#[derive(Debug, Default)]
pub(crate) struct Sketches {
    n_coordinates: usize,
    points: Vec<f32>,
}

impl Sketches {
    pub(super) fn of(points: impl Iterator<Item = Vec<f32>>) -> Self {
        let mut sketches = Self::default();
        points.enumerate().for_each(|(ix, point)| sketches.set(ix, &point));
        sketches
    }

    pub(super) fn len(&self) -> usize {
        self.points.len() / self.n_coordinates.max(1)
    }

    /// Replaces a point, or adds one behind the last.
    pub(crate) fn set(&mut self, ix: usize, point: &[f32]) {
        self.n_coordinates = point.len();
        let start = ix * point.len();
        match self.points.get_mut(start..start + point.len()) {
            Some(before) => before.copy_from_slice(point),
            None => self.points.extend_from_slice(point),
        }
    }

    pub(super) fn point(&self, ix: usize) -> &[f32] {
        &self.points[ix * self.n_coordinates..(ix + 1) * self.n_coordinates]
    }

    /// The nearest points, one of them left out, in the order of their numbers.
    pub(super) fn nearest(&self, point: &[f32], n_nearest: usize, left_out: Option<usize>) -> Vec<usize> {
        let others = self.points.chunks_exact(self.n_coordinates.max(1)).enumerate();
        let others = others.filter(|(ix, _)| Some(*ix) != left_out);
        let mut distances: Vec<(f32, usize)> = others.map(|(ix, other)| (squared_distance(point, other), ix)).collect();
        if distances.len() > n_nearest {
            distances.select_nth_unstable_by(n_nearest, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            distances.truncate(n_nearest);
        }
        let mut nearest: Vec<usize> = distances.into_iter().map(|(_, ix)| ix).collect();
        nearest.sort_unstable();
        nearest
    }

    /// The nearest of some points to one of them, in any order; of points that are as near, those
    /// of the smallest numbers.
    pub(crate) fn nearest_among(&self, of: usize, among: &[usize], n_nearest: usize) -> Vec<usize> {
        let mut nearest: BinaryHeap<(TotalOrder, usize)> = BinaryHeap::with_capacity(n_nearest + 1);
        let mut farthest = f32::INFINITY;
        let point = self.point(of);
        for &other in among.iter().filter(|&&other| other != of) {
            let distance = squared_distance(point, self.point(other));
            if distance <= farthest || nearest.len() < n_nearest {
                nearest.push((TotalOrder(distance), other));
                if nearest.len() > n_nearest {
                    nearest.pop();
                    farthest = nearest.peek().map_or(f32::INFINITY, |(distance, _)| distance.0);
                }
            }
        }
        nearest.into_iter().map(|(_, ix)| ix).collect()
    }
}

/// A single with its total order.
#[derive(Debug, Clone, Copy)]
struct TotalOrder(f32);

impl PartialEq for TotalOrder {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for TotalOrder {}

impl Ord for TotalOrder {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for TotalOrder {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The squared distance of two points.
pub(crate) fn squared_distance(a: &[f32], b: &[f32]) -> f32 {
    let ((a, last_a), (b, last_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0f32; 8];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            let difference = a[lane] - b[lane];
            sums[lane] += difference * difference;
        }
    }
    sums.iter().sum::<f32>() + last_a.iter().zip(last_b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_are_found_and_ties_go_to_the_first() {
        let line = Sketches::of([5.0, 1.0, 2.0, 2.0, 9.0].into_iter().map(|x| vec![x, 0.0, 0.0]));
        assert_eq!(line.nearest(&[2.1, 0.0, 0.0], 2, None), [2, 3]);
        assert_eq!(line.nearest(line.point(2), 2, Some(2)), [1, 3]);
        assert_eq!(line.nearest(&[0.0; 3], 100, Some(0)), [1, 2, 3, 4]);

        let near = |of, among: &[usize], n_nearest| {
            let mut near = line.nearest_among(of, among, n_nearest);
            near.sort_unstable();
            near
        };
        assert_eq!(near(0, &[4, 3, 0, 2, 1], 1), [2]);
        assert_eq!(near(2, &[0, 4, 2, 1], 2), [0, 1]);
        assert_eq!(near(2, &[0, 2, 1], 9), [0, 1]);
    }
}

//! Which components are near one another: where there are many, only those are compared.

/// Points, one a component, in single precision.
#[derive(Debug, Default)]
pub(super) struct Sketches {
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
    pub(super) fn set(&mut self, ix: usize, point: &[f32]) {
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
    }
}

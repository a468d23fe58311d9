//! What stands in for overlap between clusters that no row has in common: how badly their rows fit one component.

use crate::consolidate::Sketches;
use crate::family::Conjugate;
use crate::stats::Stats;

/// Clusters up to which all are compared; of more, those with the nearest sketches.
const MOST_COMPARED: usize = 64;
const NEAREST: usize = 16;

/// Distances between clusters, which are numbered as in a linkage: components first, then unions in the order of the merges.
pub(super) trait Distances {
    /// Joins two clusters; the union has the next number.
    fn join(&mut self, a: usize, b: usize);

    /// The nearest of some clusters but itself, and how far it is; ties go to the smallest number.
    fn nearest(&mut self, of: usize, among: &[usize]) -> Option<(f64, usize)>;
}

/// (b(A) + b(B) − b₀ − b(A ∪ B)) (1/|A| + 1/|B|): the loss of log-likelihood per row of a merge, weighed such that it does not depend on the sizes. For
/// Gaussians of one covariance it is the squared Mahalanobis distance of the means, halved; to that extent it is Bhattacharyya's, and every family has it.
pub(super) struct MergeLosses<'a> {
    family: &'a dyn Conjugate,
    log_normalizer_empty: f64,
    clusters: Vec<Cluster>,
    sketches: Sketches,
}

struct Cluster {
    stats: Stats,
    log_normalizer: Option<f64>,
}

impl<'a> MergeLosses<'a> {
    pub(super) fn new(family: &'a dyn Conjugate, components: &[Stats]) -> Self {
        let mut losses = Self {
            family,
            log_normalizer_empty: family.log_normalizer_empty(),
            clusters: Vec::with_capacity(2 * components.len()),
            sketches: Sketches::default(),
        };
        components.iter().for_each(|stats| losses.push(stats.clone()));
        losses
    }

    fn push(&mut self, stats: Stats) {
        self.sketches.set(self.clusters.len(), &self.family.sketch(&stats));
        self.clusters.push(Cluster { stats, log_normalizer: None });
    }

    fn log_normalizer(&mut self, ix: usize) -> f64 {
        let Cluster { stats, log_normalizer, .. } = &mut self.clusters[ix];
        *log_normalizer.get_or_insert_with(|| self.family.log_normalizer(stats))
    }

    fn loss(&mut self, a: usize, b: usize) -> f64 {
        let log_apart = self.log_normalizer(a) + self.log_normalizer(b) - self.log_normalizer_empty;
        let [a, b] = [a.min(b), a.max(b)].map(|ix| &self.clusters[ix].stats);
        -self.family.log_overlap(a, b, log_apart) * (1.0 / a.count as f64 + 1.0 / b.count as f64)
    }
}

impl Distances for MergeLosses<'_> {
    fn join(&mut self, a: usize, b: usize) {
        // the two are not asked for again: the sums of one become those of both
        let [a, b] = [a, b].map(|ix| {
            let nothing = Stats { count: 0, sums: crate::stats::Sums::Counts(Vec::new()) };
            std::mem::replace(&mut self.clusters[ix].stats, nothing)
        });
        let mut union = a;
        union.add(&b);
        self.push(union);
    }

    fn nearest(&mut self, of: usize, among: &[usize]) -> Option<(f64, usize)> {
        let compared = if among.len() > MOST_COMPARED + 1 {
            self.sketches.nearest_among(of, among, NEAREST)
        } else {
            among.iter().copied().filter(|&ix| ix != of).collect()
        };
        let losses = compared.into_iter().map(|ix| (self.loss(of, ix), ix));
        losses.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
    }
}

//! What Gaussians with full covariances tell people.

use super::GaussianFull;
use crate::cholesky::{self, packed_len};
use crate::family::described::not_positive;
use crate::family::wishart::Posterior;
use crate::family::{Conjugate, FamilyText, NamedArray};
use crate::stats::Stats;

impl FamilyText for GaussianFull {
    fn name(&self) -> &'static str {
        "gaussian, covariance full"
    }

    fn priors(&self) -> Vec<(&'static str, f64)> {
        vec![("kappa0", self.prior_rows), ("nu0", self.degrees), ("psi0", self.mean_prior_scale())]
    }

    fn cause_of_one(&self) -> String {
        format!(
            "psi0 ({:.4}) is too large for the data, or kappa0 ({:.4}) does not fit them; try a smaller `psi0`",
            self.mean_prior_scale(),
            self.prior_rows
        )
    }

    fn cause_of_many(&self) -> String {
        format!("psi0 ({:.4}) is too small for the data; try a larger `psi0`", self.mean_prior_scale())
    }

    fn problem(&self) -> Option<String> {
        let n = self.n_columns();
        let of_prior = || {
            let few = self.degrees <= n as f64 - 1.0;
            let degrees = few.then(|| format!("`degrees` must be above {}, got {}", n - 1, self.degrees));
            let mut posterior = Posterior::default();
            posterior.gather(&self.prior(), self.scaled_prior_mean(), 0, |_| 0.0);
            let is_definite = cholesky::is_positive_definite(&posterior.factor, n);
            let indefinite = (!is_definite).then(|| "`prior_scale` is not positive definite".to_owned());
            degrees.or(indefinite)
        };
        let of_numbers =
            || not_positive("prior_rows", self.prior_rows).or_else(|| not_positive("degrees", self.degrees));
        self.problem_of_columns().or_else(of_numbers).or_else(of_prior)
    }

    fn formula(&self) -> &'static str {
        "predictive_k(x) is a multivariate Student t about `means`[k] with f = degrees + counts[k] - D + 1 degrees of freedom and the shape matrix \
         covariances[k] * c * (kappa + 1) / (kappa * f), kappa = prior_rows + counts[k], D the number of columns. c is f - 2 where that is \
         positive and degrees + counts[k] where it is not: `covariances`[k] is the scale matrix of the posterior over c, which is the mean of the covariance \
         where that exists. `sums`[k] is, with y = (x - offset) / scale, the sum of y and then that of the upper triangle of y y', row after row; \
         prior_scale, also an upper triangle, is in units of y."
    }

    fn constants(&self) -> Vec<NamedArray> {
        vec![
            NamedArray::of_columns("offset", &self.offset),
            NamedArray::of_columns("scale", &self.scale),
            NamedArray::of_columns("prior_mean", &self.prior_mean),
            NamedArray::of_columns("prior_scale", &self.prior_scale),
        ]
    }

    fn arrays(&self, components: &[Stats]) -> Vec<NamedArray> {
        let n = self.n_columns();
        let (mut means, mut covariances) = (Vec::new(), Vec::new());
        let mut posterior = Posterior::default();
        for stats in components {
            posterior.gather(&self.prior(), self.scaled_prior_mean(), stats.count, |ix| stats.dense()[ix]);
            let of_columns = posterior.mean.iter().zip(&self.offset).zip(&self.scale);
            means.extend(of_columns.map(|((mean, offset), scale)| offset + scale * mean));
            let freedom = posterior.degrees - n as f64 - 1.0;
            let over = if freedom > 0.0 { freedom } else { posterior.degrees };
            for i in 0..n {
                let entry = |j: usize| posterior.factor[packed_len(i.max(j)) + i.min(j)] / over;
                covariances.extend((0..n).map(|j| entry(j) * self.scale[i] * self.scale[j]));
            }
        }
        let shape = vec![components.len(), n];
        vec![
            NamedArray { name: "means", shape: shape.clone(), numbers: means },
            NamedArray { name: "covariances", shape: [shape, vec![n]].concat(), numbers: covariances },
        ]
    }
}

impl GaussianFull {
    /// What is wrong with lengths and columns, if anything.
    fn problem_of_columns(&self) -> Option<String> {
        let n = self.offset.len();
        for (name, found, expected) in [
            ("scale", self.scale.len(), n),
            ("prior_mean", self.prior_mean.len(), n),
            ("prior_scale", self.prior_scale.len(), packed_len(n)),
        ] {
            if found != expected || n == 0 {
                return Some(format!("`{name}` has {found} numbers and `offset` {n}"));
            }
        }
        let finite = self.offset.iter().chain(&self.prior_mean).find(|number| !number.is_finite());
        let not_finite = finite.map(|number| format!("`offset` and `prior_mean` must be finite numbers, got {number}"));
        not_finite.or_else(|| self.scale.iter().find_map(|scale| not_positive("scale", *scale)))
    }

    /// The mean of Ψ₀'s diagonal.
    fn mean_prior_scale(&self) -> f64 {
        let n = self.n_columns();
        let on_diagonal = (0..n).map(|i| self.prior_scale[packed_len(n) - packed_len(n - i)]);
        on_diagonal.sum::<f64>() / n as f64
    }
}

//! What cannot be combined. Everything that can be rejected without the data is rejected here.

use serde::Serialize;

use super::SettingList;
use super::options::{EngineName, FitOptions, MethodName};
use crate::error::{InputError, Result};
use crate::method::cgs::Draws;
use crate::method::consolidated::DrawsFrom;
use crate::model::{Alpha, FamilyName};
use crate::posterior::horizon::Cycles;
use crate::run_dir::Point;
use crate::sweep::Kernel;
use crate::tree::Clusters;

impl FitOptions {
    /// Rejects options that cannot be combined; an error names the option.
    ///
    /// ```
    /// use dirigent::{FitOptions, MethodName};
    ///
    /// let mut options = FitOptions::default();
    /// options.method.name = MethodName::Cgs;
    /// options.engine.workers = Some(4);
    /// assert!(options.check().unwrap_err().to_string().starts_with("`workers`"));
    /// ```
    pub fn check(&self) -> Result<()> {
        if let Alpha::Fixed(alpha) = self.model.alpha {
            Alpha::fixed(alpha)?;
        }
        if self.model.family == Some(FamilyName::Multinomial) && !self.transform.is_nothing() {
            let option = self.transform.option();
            let problem = format!("`{option}` requires a dense table, and `family` multinomial fits counts");
            return Err(InputError::new(problem)
                .hint(format!("leave `{option}` out, or choose another `family`"))
                .into());
        }
        if self.run.cycles.is_some() && self.run.max_cycles.is_some() {
            let hint = "leave `max_cycles` out, or ask for `cycles` auto";
            return Err(InputError::new("`max_cycles` requires `cycles` auto").hint(hint).into());
        }
        self.check_numbers()?;
        self.check_method()?;
        self.check_engine()?;
        if self.run.point == Point::Vi && self.run.draws.is_none() {
            let problem = "`point` vi requires `draws`: it is the partition closest to all of them";
            return Err(InputError::new(problem).hint("ask for 100 `draws`, or choose another `point`").into());
        }
        if self.run.point != Point::Argmax && self.run.clusters.is_some_and(|of| of != Clusters::Components) {
            let problem = "`clusters` requires `point` argmax: the other points are partitions of their own";
            return Err(InputError::new(problem).hint("leave one of the two out").into());
        }
        self.draws()?;
        self.method.kernel.map_or(Ok(()), Kernel::check)
    }

    /// Numbers that make no sense in any combination.
    fn check_numbers(&self) -> Result<()> {
        let run = &self.run;
        let at_least_one = [
            ("cycles", run.cycles),
            ("max_cycles", run.max_cycles),
            ("draws", run.draws),
            ("thin", run.thin),
            ("chains", Some(u64::from(run.chains))),
            ("workers", self.engine.workers.map(u64::from)),
            ("threads", self.engine.threads.map(u64::from)),
            ("cores", self.engine.cores.map(u64::from)),
            ("sweeps_per_cycle", self.method.sweeps_per_cycle.map(u64::from)),
        ];
        if let Some((option, _)) = at_least_one.iter().find(|(_, value)| *value == Some(0)) {
            return Err(InputError::new(format!("`{option}` must be a whole number from 1, got 0")).into());
        }
        if run.time_limit.is_some_and(|seconds| !(seconds > 0.0 && seconds.is_finite())) {
            return Err(InputError::new("`time_limit` must be a positive number of seconds").into());
        }
        let is_pca = self.transform.pca == Some(0);
        if is_pca { Err(InputError::new("`pca` must be a whole number from 1, got 0").into()) } else { Ok(()) }
    }

    /// Rejects settings of other methods.
    fn check_method(&self) -> Result<()> {
        let (method, engine) = (&self.method, &self.engine);
        let name = method.name.name();
        require(SettingList::Method, &self.method, "method", name)?;
        if method.name == MethodName::Cgs {
            let of_many = [
                ("workers", engine.workers.is_some_and(|workers| workers != 1)),
                ("threads", engine.threads.is_some_and(|threads| threads != 1)),
                ("engine", engine.name != EngineName::Threads),
            ];
            if let Some((option, _)) = of_many.iter().find(|(_, is_given)| *is_given) {
                let problem = format!("`{option}` requires another method: `method` cgs has one worker and one thread");
                return Err(InputError::new(problem).hint("leave it out, or choose `method` dirigent").into());
            }
        }
        // slicemr itself, or the draws of a slice sampler that follows another method
        if method.split_merge.is_some() && method.name != MethodName::Slicemr && !self.draws_are_exact() {
            let problem = "`split_merge` requires `draws` that are exact, or `method` slicemr";
            return Err(InputError::new(problem).hint("leave it out, or ask for `draws` of dirigent").into());
        }
        let is_av = method.name == MethodName::Av;
        let lost = [("crash", &engine.crash), ("garbage", &engine.garbage)];
        match lost.iter().find(|(_, workers)| is_av && !workers.is_empty()) {
            Some((option, _)) => {
                let problem = format!("`{option}` requires a method that can lose a worker, and `method` av cannot");
                Err(InputError::new(problem).hint("leave it out, or choose another `method`").into())
            }
            None => Ok(()),
        }
    }

    fn draws_are_exact(&self) -> bool {
        self.run.draws.is_some() && self.method.draws_from() == DrawsFrom::Exact
    }

    /// Rejects settings of other engines.
    fn check_engine(&self) -> Result<()> {
        let engine = &self.engine;
        let name = engine.name.name();
        require(SettingList::Engine, engine, "engine", name)?;
        if engine.threads.is_some() && engine.name != EngineName::Threads {
            let problem = format!("`threads` requires `engine` threads, and the engine is {name}");
            let hint =
                if engine.name == EngineName::Simulated { "leave it out, or see `cores`" } else { "leave it out" };
            return Err(InputError::new(problem).hint(hint).into());
        }
        Ok(())
    }

    /// How long a chain runs and what it keeps. A chain that ends by itself keeps states once it
    /// has settled. One of fixed length is twice as long as the part that is kept: its first half
    /// is burn-in.
    pub(super) fn draws(&self) -> Result<(Cycles, Option<Draws>)> {
        let run = &self.run;
        let (cycles, usual_thin) = match run.cycles {
            None => (Cycles::Auto { max: run.max_cycles.unwrap_or(Cycles::USUAL_MAX) }, 1),
            Some(n) => (Cycles::Fixed(n), (n / run.draws.unwrap_or(1).saturating_mul(2)).max(1)),
        };
        let Some(n_draws) = run.draws else {
            let of_draws = [("thin", run.thin.is_some()), ("draws_from", self.method.draws_from.is_some())];
            if let Some((option, _)) = of_draws.iter().find(|(_, is_given)| *is_given) {
                let problem = format!("`{option}` requires `draws`");
                return Err(InputError::new(problem).hint("leave it out, or ask for `draws`").into());
            }
            return Ok((cycles, None));
        };
        let thin = run.thin.unwrap_or(usual_thin);
        let twice = n_draws.checked_mul(thin).and_then(|kept| kept.checked_mul(2));
        match (twice, usize::try_from(n_draws)) {
            (Some(twice), Ok(n_draws)) => {
                let cycles = match cycles {
                    Cycles::Auto { .. } => cycles,
                    Cycles::Fixed(n) => Cycles::Fixed(n.max(twice)),
                };
                Ok((cycles, Some(Draws { n_draws, thin })))
            }
            _ => Err(too_many_draws(format!(
                "`draws` {n_draws} with `thin` {thin} needs more cycles than can be counted"
            ))),
        }
    }

    /// Rejects draws that no file can hold.
    pub(super) fn check_draws(&self, n_rows: usize) -> Result<()> {
        let Some(n_draws) = self.run.draws else { return Ok(()) };
        let n_chains = self.run.chains;
        let cells = usize::try_from(n_draws).ok().and_then(|n| n.checked_mul(n_rows));
        let cells = cells.and_then(|cells| cells.checked_mul(usize::from(n_chains)));
        if cells.is_none_or(|cells| cells > isize::MAX as usize / 4) {
            let of_chains = if n_chains > 1 { format!(" and {n_chains} chains") } else { String::new() };
            return Err(too_many_draws(format!("`draws` {n_draws} of {n_rows} rows{of_chains} do not fit a file")));
        }
        Ok(())
    }
}

fn too_many_draws(problem: String) -> crate::Error {
    InputError::new(problem).hint("ask for fewer `draws`").into()
}

/// Rejects the first setting of a list that is given and that the method or engine `name` does not
/// have.
fn require(list: SettingList, options: &impl Serialize, kind: &str, name: &str) -> Result<()> {
    let options = serde_json::to_value(options).expect("our own types become JSON");
    let is_given = |key: &str| !(options[key].is_null() || options[key].as_array().is_some_and(Vec::is_empty));
    match list.settings().find(|setting| is_given(setting.key) && !setting.used_by.contains(&name)) {
        Some(setting) => {
            let (key, users) = (setting.key, setting.users());
            let problem = format!("`{key}` requires `{kind}` {users}, and the {kind} is {name}");
            Err(InputError::new(problem)
                .hint(format!("leave it out, or choose `{kind}` {}", setting.used_by[0]))
                .into())
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_at_least_twice_as_long_as_what_is_kept() {
        let planned = |cycles, draws, thin| {
            let mut options = FitOptions::default();
            (options.run.cycles, options.run.draws, options.run.thin) = (cycles, draws, thin);
            options.draws()
        };
        let draws = |n_draws, thin| Some(Draws { n_draws, thin });
        assert_eq!(planned(Some(50), None, None).unwrap(), (Cycles::Fixed(50), None));
        assert_eq!(planned(Some(50), Some(5), None).unwrap(), (Cycles::Fixed(50), draws(5, 5)));
        assert_eq!(planned(Some(50), Some(100), None).unwrap(), (Cycles::Fixed(200), draws(100, 1)));
        assert_eq!(planned(Some(50), Some(10), Some(7)).unwrap(), (Cycles::Fixed(140), draws(10, 7)));
        let auto = Cycles::Auto { max: Cycles::USUAL_MAX };
        assert_eq!(planned(None, Some(10), None).unwrap(), (auto, draws(10, 1)));
        assert!(planned(Some(50), Some(u64::MAX), None).is_err());
        assert!(planned(None, None, Some(3)).is_err());
    }
}

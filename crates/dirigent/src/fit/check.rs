//! What cannot be combined. Everything that can be rejected without the data is rejected here.

use super::options::{EngineName, FitOptions, MethodName};
use crate::error::{InputError, Result};
use crate::method::cgs::Draws;
use crate::method::distributed::DrawsFrom;
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
        let is_of_counts = self.model.family == Some(FamilyName::Multinomial);
        let with = "`family` multinomial, whose counts are fitted as they are";
        let is_given = is_of_counts && !self.transform.is_nothing();
        refuse(is_given, self.transform.option(), with, "choose another `family`")?;
        let is_given = self.run.cycles.is_some() && self.run.max_cycles.is_some();
        refuse(is_given, "max_cycles", "a fixed number of `cycles`", "ask for `cycles` auto")?;
        self.check_numbers()?;
        self.check_method()?;
        self.check_engine()?;
        if self.run.point == Point::Vi && self.run.draws.is_none() {
            let problem = "`point` vi needs draws: it is the partition that is closest to all of them";
            return Err(InputError::new(problem).hint("ask for 100 `draws`, or choose another `point`").into());
        }
        let is_given =
            self.run.point != Point::Argmax && self.run.clusters.is_some_and(|of| of != Clusters::Components);
        refuse(
            is_given,
            "clusters",
            "a `point` other than argmax, which is a partition of its own",
            "leave one of them out",
        )?;
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
            return Err(InputError::new(format!("`{option}` must be a whole number from 1")).into());
        }
        if run.time_limit.is_some_and(|seconds| !(seconds > 0.0 && seconds.is_finite())) {
            return Err(InputError::new("`time_limit` must be a positive number of seconds").into());
        }
        let is_pca = self.transform.n_components == Some(0);
        if is_pca { Err(InputError::new("`pca` must be a whole number from 1").into()) } else { Ok(()) }
    }

    /// What a method cannot make use of.
    fn check_method(&self) -> Result<()> {
        let (method, engine) = (&self.method, &self.engine);
        let of_consolidation = [
            ("consolidation", method.consolidation.is_some()),
            ("schedule", method.schedule.is_some()),
            ("splits", method.splits.is_some()),
            ("draws_from", method.draws_from.is_some()),
            ("joins", method.joins.is_some()),
            ("first_alpha", method.first_alpha.is_some()),
            ("sweeps_per_cycle", method.sweeps_per_cycle.is_some()),
        ];
        let refuse_all = |options: &[(&str, bool)], with: &str| {
            let mut options = options.iter();
            options.try_for_each(|(option, is_given)| refuse(*is_given, option, with, "choose another `method`"))
        };
        if method.name == MethodName::Cgs {
            let of_workers = [
                ("workers", engine.workers.is_some_and(|workers| workers != 1)),
                ("threads", engine.threads.is_some_and(|threads| threads != 1)),
            ];
            let of_engines = [
                ("engine", engine.name != EngineName::Threads),
                (engine.simulation_option().unwrap_or_default(), engine.simulation_option().is_some()),
                (engine.cluster_option().unwrap_or_default(), engine.cluster_option().is_some()),
            ];
            for options in [&of_workers[..], &of_consolidation, &of_engines] {
                refuse_all(options, "`method` cgs, which is exact, on one worker and one thread")?;
            }
        }
        if method.name.is_in_rounds() {
            let name = method.name.name();
            let with = format!("`method` {name}, in which all workers are in step and nothing is consolidated");
            refuse_all(&of_consolidation, &with)?;
        }
        let is_av = method.name == MethodName::Av;
        let has_merges = method.av_merges.is_some() && !is_av;
        refuse(has_merges, "av_merges", "this method", "choose `method` av")?;
        // slicemr itself, or the draws of a slice sampler that follows another method
        let is_followed = !method.name.is_in_rounds() && method.name != MethodName::Cgs && self.draws_are_exact();
        let has_slices = method.name == MethodName::Slicemr || is_followed;
        let with = "a run without exact draws on many workers";
        let hint = "ask for `draws` of dirigent, or for `method` slicemr";
        refuse(method.split_merge.is_some() && !has_slices, "split_merge", with, hint)?;
        let with = "`method` av, whose workers take rows with them that nobody else has";
        refuse(is_av && !engine.crash.is_empty(), "crash", with, "choose another `method`")?;
        refuse(is_av && !engine.garbage.is_empty(), "garbage", with, "choose another `method`")
    }

    fn draws_are_exact(&self) -> bool {
        self.run.draws.is_some() && self.method.draws_from() == DrawsFrom::Exact
    }

    /// What an engine cannot make use of.
    fn check_engine(&self) -> Result<()> {
        let engine = &self.engine;
        let has_threads = engine.threads.is_some();
        if engine.name == EngineName::Simulated {
            let with = "`engine` simulated, which has a clock of its own";
            refuse(has_threads, "threads", with, "see `cores`")?;
        } else {
            let option = engine.simulation_option();
            refuse(option.is_some(), option.unwrap_or_default(), "this engine", "choose `engine` simulated")?;
        }
        if engine.name != EngineName::Ray {
            let option = engine.cluster_option();
            refuse(option.is_some(), option.unwrap_or_default(), "this engine", "choose `engine` ray")?;
        }
        if engine.name.is_outside() {
            let name = engine.name.name();
            let with = format!("`engine` {name}, where every worker has a processor of its own");
            refuse(has_threads, "threads", &with, "choose another `engine`")?;
        }
        Ok(())
    }

    /// How long a chain runs and what it keeps. A chain that ends by itself keeps states once it has settled. One of fixed length is twice as long
    /// as the part that is kept: its first half is burn-in.
    pub(super) fn draws(&self) -> Result<(Cycles, Option<Draws>)> {
        let run = &self.run;
        let (cycles, usual_thin) = match run.cycles {
            None => (Cycles::Auto { max: run.max_cycles.unwrap_or(Cycles::USUAL_MAX) }, 1),
            Some(n) => (Cycles::Fixed(n), (n / run.draws.unwrap_or(1).saturating_mul(2)).max(1)),
        };
        let Some(n_draws) = run.draws else {
            refuse(run.thin.is_some(), "thin", "a run without `draws`", "ask for `draws`")?;
            refuse(self.method.draws_from.is_some(), "draws_from", "a run without `draws`", "ask for `draws`")?;
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

fn refuse(is_given: bool, option: &str, with: &str, hint: &str) -> Result<()> {
    if !is_given {
        return Ok(());
    }
    Err(InputError::new(format!("`{option}` does not go with {with}")).hint(format!("leave it out, or {hint}")).into())
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

//! Which method: one of the paper's, or its two axes by themselves.

use clap::{Args, ValueEnum, value_parser};
use dirigent::method::distributed::DrawsFrom;
use dirigent::node::{Consolidation, FirstAlpha, Joins, Schedule};

#[derive(Debug, Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// dirigent: progressive consolidation with splits and merges; prog, pooled, hung: workers in step, three ways to consolidate; async:
    /// workers at their own pace; cgs: exact collapsed Gibbs on one worker; slicemr: an exact slice sampler on many workers; av: exact, clusters
    /// travel with their rows between workers; subc: splits into sub-clusters, biased
    #[arg(long, value_enum, default_value_t = MethodArg::Dirigent)]
    method: MethodArg,
    /// How new components of different workers find together [default: as the method says]
    #[arg(long)]
    pub(crate) consolidation: Option<ConsolidationArg>,
    /// Whether components keep halves to be split into, and are merged where that is better [default: on for dirigent, off for the others]
    #[arg(long)]
    pub(crate) splits: Option<SwitchArg>,
    /// Whether workers wait for one another [default: as the method says]
    #[arg(long)]
    pub(crate) schedule: Option<ScheduleArg>,
    /// How rows reach a component in which their worker had none [default: births for hung, by-id for the others]
    #[arg(long)]
    pub(crate) joins: Option<JoinsArg>,
    /// Alpha of the first cycle: full, or shared by the workers [default: shared for hung, full for the others]
    #[arg(long)]
    pub(crate) first_alpha: Option<FirstAlphaArg>,
    /// Sweeps between two exchanges [default: 1]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000), allow_negative_numbers = true)]
    pub(crate) sweeps_per_cycle: Option<u32>,
    /// av: whether a worker merges its own clusters where that is more probable; then the method is no longer exact [default: off]
    #[arg(long)]
    pub(crate) av_merges: Option<SwitchArg>,
    /// Splits and merges that an exact sampler tries in a cycle, beside its sweeps: slicemr, and the draws of dirigent [default: 1 for draws of
    /// dirigent, 0 for slicemr]
    #[arg(long, value_name = "N", value_parser = value_parser!(u8), allow_negative_numbers = true)]
    pub(crate) split_merge: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodArg {
    Dirigent,
    Cgs,
    Prog,
    Pooled,
    Hung,
    Async,
    Slicemr,
    Av,
    Subc,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ConsolidationArg {
    Progressive,
    Pooled,
    Hungarian,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SwitchArg {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum JoinsArg {
    // as `run.json` and Python have it
    #[value(alias = "by_id")]
    ById,
    Births,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FirstAlphaArg {
    Full,
    Shared,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScheduleArg {
    Sync,
    Async,
}

impl MethodArgs {
    pub(crate) fn is_cgs(&self) -> bool {
        self.method == MethodArg::Cgs
    }

    pub(crate) fn is_av(&self) -> bool {
        self.method == MethodArg::Av
    }

    pub(crate) fn is_subc(&self) -> bool {
        self.method == MethodArg::Subc
    }

    pub(crate) fn is_slicemr(&self) -> bool {
        self.method == MethodArg::Slicemr
    }

    /// Whether all workers are in step and there is nothing to consolidate.
    pub(crate) fn is_in_rounds(&self) -> bool {
        matches!(self.method, MethodArg::Slicemr | MethodArg::Av | MethodArg::Subc)
    }

    /// The method's name, as the user knows it.
    pub(crate) fn name(&self) -> &'static str {
        match self.method {
            MethodArg::Dirigent => "dirigent",
            MethodArg::Cgs => "cgs",
            MethodArg::Prog => "prog",
            MethodArg::Pooled => "pooled",
            MethodArg::Hung => "hung",
            MethodArg::Async => "async",
            MethodArg::Slicemr => "slicemr",
            MethodArg::Av => "av",
            MethodArg::Subc => "subc",
        }
    }

    pub(crate) fn consolidation(&self) -> Consolidation {
        match (self.consolidation, self.method) {
            (Some(ConsolidationArg::Progressive), _) => Consolidation::Progressive,
            (Some(ConsolidationArg::Pooled), _) | (None, MethodArg::Pooled) => Consolidation::Pooled,
            (Some(ConsolidationArg::Hungarian), _) | (None, MethodArg::Hung) => Consolidation::Hungarian,
            (None, _) => Consolidation::Progressive,
        }
    }

    /// What draws are states of, unless the user says.
    pub(crate) fn draws_from(&self) -> DrawsFrom {
        if self.method == MethodArg::Dirigent { DrawsFrom::Exact } else { DrawsFrom::Fast }
    }

    pub(crate) fn splits(&self) -> bool {
        self.splits.map_or(self.method == MethodArg::Dirigent, |splits| splits == SwitchArg::On)
    }

    /// The authors' program lets joining rows arrive as births; it matters to Hung alone.
    pub(crate) fn joins(&self) -> Joins {
        match (self.joins, self.method) {
            (Some(JoinsArg::ById), _) => Joins::ById,
            (Some(JoinsArg::Births), _) | (None, MethodArg::Hung) => Joins::Births,
            (None, _) => Joins::ById,
        }
    }

    /// So it does with the first cycle's α.
    pub(crate) fn first_alpha(&self) -> FirstAlpha {
        match (self.first_alpha, self.method) {
            (Some(FirstAlphaArg::Full), _) => FirstAlpha::Full,
            (Some(FirstAlphaArg::Shared), _) | (None, MethodArg::Hung) => FirstAlpha::Shared,
            (None, _) => FirstAlpha::Full,
        }
    }

    pub(crate) fn schedule(&self) -> Schedule {
        match (self.schedule, self.method) {
            (Some(ScheduleArg::Sync), _) => Schedule::Sync,
            (Some(ScheduleArg::Async), _) | (None, MethodArg::Async) => Schedule::Async,
            (None, _) => Schedule::Sync,
        }
    }
}

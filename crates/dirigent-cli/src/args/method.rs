//! Which method: one of the paper's, or its two axes by themselves.

use clap::{Args, ValueEnum, value_parser};
use dirigent::{Consolidation, FirstAlpha, Joins, MethodName, MethodOptions, Schedule};

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
    /// The options of the method; draws and kernel are set elsewhere.
    pub(crate) fn options(&self) -> MethodOptions {
        let is_on = |switch: SwitchArg| switch == SwitchArg::On;
        MethodOptions {
            name: self.method.library(),
            consolidation: self.consolidation.map(ConsolidationArg::library),
            schedule: self.schedule.map(ScheduleArg::library),
            splits: self.splits.map(is_on),
            joins: self.joins.map(JoinsArg::library),
            first_alpha: self.first_alpha.map(FirstAlphaArg::library),
            sweeps_per_cycle: self.sweeps_per_cycle,
            split_merge: self.split_merge,
            av_merges: self.av_merges.map(is_on),
            ..MethodOptions::default()
        }
    }
}

impl MethodArg {
    fn library(self) -> MethodName {
        match self {
            Self::Dirigent => MethodName::Dirigent,
            Self::Cgs => MethodName::Cgs,
            Self::Prog => MethodName::Prog,
            Self::Pooled => MethodName::Pooled,
            Self::Hung => MethodName::Hung,
            Self::Async => MethodName::Async,
            Self::Slicemr => MethodName::Slicemr,
            Self::Av => MethodName::Av,
            Self::Subc => MethodName::Subc,
        }
    }
}

impl ConsolidationArg {
    fn library(self) -> Consolidation {
        match self {
            Self::Progressive => Consolidation::Progressive,
            Self::Pooled => Consolidation::Pooled,
            Self::Hungarian => Consolidation::Hungarian,
        }
    }
}

impl JoinsArg {
    fn library(self) -> Joins {
        match self {
            Self::ById => Joins::ById,
            Self::Births => Joins::Births,
        }
    }
}

impl FirstAlphaArg {
    fn library(self) -> FirstAlpha {
        match self {
            Self::Full => FirstAlpha::Full,
            Self::Shared => FirstAlpha::Shared,
        }
    }
}

impl ScheduleArg {
    fn library(self) -> Schedule {
        match self {
            Self::Sync => Schedule::Sync,
            Self::Async => Schedule::Async,
        }
    }
}

//! The options of `dirigent fit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};
use dirigent::internals::fit::{GivenSetting, SettingList, seconds};
use dirigent::{
    Alpha, Clusters, ColumnFamily, Covariance, DataOptions, Error, FamilyName, FitOptions, MethodName, MethodOptions,
    ModelOptions, Point, RunOptions, StartName, TransformOptions,
};

use super::{CheckpointArgs, EngineArgs, OutputArgs, SelectionArgs, StorageArgs};

/// Cluster the rows of a table; write labels, model and report to a run folder.
///
/// The run folder holds labels.csv (row, label, certainty; rows are counted from 0), labels.npy, certainty.npy, tree.json, report.html, the model for
/// `dirigent predict` (model.json, components.npz), run.json (options and summary), trace.csv (one line per cycle), workers.csv, sample.npz and,
/// with --draws, draws.npy. Labels are numbered by falling cluster size.
///
/// Identifiers, free text, constant and empty columns are left out with a warning. `dirigent info DATA` lists all columns.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dirigent fit measurements.csv --label-column species
  dirigent fit points.npy --prior sigma=1,sigma0=10 --alpha 1 --out run --watch
  dirigent fit documents/docword.txt.gz --vocab documents/vocab.txt
  dirigent fit points.npy --draws 100 --chains 4 --point vi
  dirigent fit points.npy --quiet --json

Exit code 0: done, 1: the run failed, 2: wrong usage or input, 130 or 143: interrupted or terminated.")]
pub(crate) struct FitArgs {
    /// Files (.csv, .tsv, .parquet, .npy, .npz, .svm, .mtx, docword*.txt), a folder or a pattern
    ///
    /// Text files may end in .gz. Several files are one table, in the given order. Addresses of objects: s3://, gs://, az:// and https://.
    #[arg(required_unless_present = "resume", value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// True labels to compare with: .npy, or a text file with one label per line
    #[arg(long, value_name = "LABELS", help_heading = "Data", conflicts_with = "label_column")]
    pub(crate) truth: Option<PathBuf>,
    /// File with the words of the count columns, one per line
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(crate) vocab: Option<PathBuf>,
    /// Give every column mean 0 and standard deviation 1
    #[arg(long, help_heading = "Data")]
    standardize: bool,
    /// Fit the first D principal components instead of the columns
    #[arg(long, value_name = "D", help_heading = "Data", value_parser = value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pca: Option<u32>,
    /// Divide each row by its length, for --family vmf
    #[arg(long, help_heading = "Data")]
    normalize: bool,
    #[command(flatten)]
    pub(crate) storage: StorageArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) checkpoints: CheckpointArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl FitArgs {
    /// The options of the fit.
    pub(crate) fn options(&self) -> Result<FitOptions, Error> {
        let transform = TransformOptions {
            standardize: self.standardize,
            pca: self.pca.map(|n_components| n_components as usize),
            normalize: self.normalize,
        };
        let run = &self.run;
        let method = MethodOptions { name: run.method.method.library(), ..MethodOptions::default() };
        let cycles = match run.cycles {
            CyclesArg::Auto => None,
            CyclesArg::Fixed(cycles) => Some(cycles),
        };
        let engine = self.engine.options(run.workers, run.threads);
        let run = RunOptions {
            seed: run.seed,
            start: run.start_name(),
            cycles,
            max_cycles: run.max_cycles,
            time_limit: run.time_limit,
            chains: run.chains,
            draws: run.draws,
            thin: run.thin,
            point: run.point(),
            clusters: run.clusters,
        };
        FitOptions { model: self.model.options(), transform, method, engine, run }.with(&self.settings()?)
    }

    /// The settings that are given as lists.
    pub(crate) fn settings(&self) -> Result<Vec<GivenSetting>, Error> {
        let prior = SettingList::Prior.read(&self.model.prior)?;
        let method = SettingList::Method.read(&self.run.method.method_option)?;
        let engine = SettingList::Engine.read(&self.engine.engine_option)?;
        Ok(prior.into_iter().chain(method).chain(engine).collect())
    }

    /// Where the rows are.
    pub(crate) fn data_options(&self) -> DataOptions {
        let selection = self.selection.selection();
        let storage = self.storage.storage();
        DataOptions {
            paths: self.data.clone(),
            columns: selection.columns,
            exclude: selection.exclude,
            label_column: selection.label_column,
            header: selection.header,
            truth: self.truth.clone(),
            start_labels: self.run.start.clone().filter(|_| self.run.start_name().is_none()),
            vocab: self.vocab.clone(),
            cache_dir: storage.cache_dir,
            spill: storage.spill,
            memory: storage.memory,
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// Distribution of the rows within a cluster [default: inferred from the data]
    #[arg(long)]
    family: Option<FamilyArg>,
    /// Covariance of a Gaussian component [default: the best for held-out rows]
    #[arg(long)]
    covariance: Option<CovarianceArg>,
    /// Family of one column: gaussian, bernoulli, poisson or categorical; repeatable
    #[arg(long = "column-family", value_name = "NAME=FAMILY", value_parser = column_family)]
    column_families: Vec<(String, ColumnFamily)>,
    /// Print the chosen family and priors with the reasons
    #[arg(long)]
    pub(crate) explain_prior: bool,
    /// Concentration of the Dirichlet process: larger means more clusters
    #[arg(long, value_name = "auto|X", default_value = "auto", value_parser = alpha, allow_negative_numbers = true)]
    pub(crate) alpha: Alpha,
    /// Priors, such as sigma=1,sigma0=10; keys: dirigent help prior [default: from the data]
    #[arg(long, value_name = "KEY=VALUE,…")]
    pub(crate) prior: Vec<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub(crate) struct RunArgs {
    /// Visits of every row; auto: until nothing useful changes
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = cycles, allow_negative_numbers = true)]
    pub(crate) cycles: CyclesArg,
    /// Limit of the cycles with --cycles auto [default: 1000]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub(crate) max_cycles: Option<u64>,
    /// End after this time, such as 90s or 2h, at the end of a cycle
    #[arg(long, value_name = "TIME", value_parser = time_limit, allow_negative_numbers = true)]
    pub(crate) time_limit: Option<f64>,
    /// Initial labels: small cells, rows one by one, or a file [default: by the method]
    #[arg(long, value_name = "fine|rows|LABELS")]
    start: Option<PathBuf>,
    /// Random seed: the same seed gives the same labels
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Number of independent chains; labels are from the best one
    #[arg(long, value_name = "C", default_value_t = 1, value_parser = value_parser!(u16).range(1..=10_000), allow_negative_numbers = true)]
    pub(crate) chains: u16,
    /// Keep N posterior draws of each chain in draws.npy
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub(crate) draws: Option<u64>,
    /// Keep every T-th draw [default: 1; with --cycles N: N / (2 draws), at least 1]
    #[arg(long, value_name = "T", requires = "draws", value_parser = value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub(crate) thin: Option<u64>,
    /// Number of clusters; auto: from the data; components: one per component [default: auto]
    #[arg(long, value_name = "auto|components|K")]
    pub(crate) clusters: Option<Clusters>,
    /// Partition of the rows into components
    #[arg(long, value_enum, default_value_t = PointArg::Argmax)]
    point: PointArg,
    /// Workers that share the rows [default: by the number of rows, at most 20; cgs: 1]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(crate) workers: Option<u32>,
    /// Number of threads; labels do not depend on it [default: the number of cores]
    #[arg(long, short = 'j', value_name = "N", value_parser = value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(crate) threads: Option<u32>,
    // last, because its help heading covers all that follows
    #[command(flatten)]
    pub(crate) method: MethodArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// Sampler
    #[arg(long, value_enum, default_value_t = MethodArg::Dirigent)]
    method: MethodArg,
    /// Details of the method, such as splits=off; keys: dirigent help method
    #[arg(long = "method-option", value_name = "KEY=VALUE,…")]
    pub(crate) method_option: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodArg {
    /// Progressive consolidation with splits and merges
    Dirigent,
    /// Exact collapsed Gibbs sampling on one worker
    Cgs,
    /// Progressive consolidation, workers in step
    Prog,
    /// Pooled consolidation, workers in step
    Pooled,
    /// Hungarian consolidation, workers in step
    Hung,
    /// Progressive consolidation, each worker at its own pace
    Async,
    /// Exact slice sampler on many workers
    Slicemr,
    /// Exact; clusters travel with their rows between workers
    Av,
    /// Splits into sub-clusters; biased
    Subc,
}

/// How long to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CyclesArg {
    Auto,
    Fixed(u64),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FamilyArg {
    /// Numbers; see --covariance
    Gaussian,
    /// Counts of words, documents of any length
    Multinomial,
    /// Columns of 0 and 1
    Bernoulli,
    /// Columns of counts
    Poisson,
    /// Columns of text, or of level numbers
    Categorical,
    /// Directions: rows of length 1
    Vmf,
    /// A family for each column, by what it holds
    Mixed,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CovarianceArg {
    /// One standard deviation for all columns and components
    Isotropic,
    /// A standard deviation for each component and column
    Diag,
    /// A covariance matrix for each component
    Full,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PointArg {
    /// The most probable component of each row under the final model
    Argmax,
    /// The partition closest to all draws (requires --draws)
    Vi,
    /// The last state of the chain
    Last,
    /// The state with the highest log-joint
    Best,
}

impl RunArgs {
    /// The name of a start, if it is no file of labels.
    fn start_name(&self) -> Option<StartName> {
        match self.start.as_ref()?.to_str() {
            Some("fine") => Some(StartName::Fine),
            Some("rows") => Some(StartName::Rows),
            _ => None,
        }
    }

    pub(crate) fn point(&self) -> Point {
        match self.point {
            PointArg::Argmax => Point::Argmax,
            PointArg::Vi => Point::Vi,
            PointArg::Last => Point::Last,
            PointArg::Best => Point::Best,
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

impl ModelArgs {
    pub(crate) fn options(&self) -> ModelOptions {
        ModelOptions {
            family: self.family.map(|family| match family {
                FamilyArg::Gaussian => FamilyName::Gaussian,
                FamilyArg::Multinomial => FamilyName::Multinomial,
                FamilyArg::Bernoulli => FamilyName::Bernoulli,
                FamilyArg::Poisson => FamilyName::Poisson,
                FamilyArg::Categorical => FamilyName::Categorical,
                FamilyArg::Vmf => FamilyName::Vmf,
                FamilyArg::Mixed => FamilyName::Mixed,
            }),
            covariance: self.covariance.map(|covariance| match covariance {
                CovarianceArg::Isotropic => Covariance::Isotropic,
                CovarianceArg::Diag => Covariance::Diag,
                CovarianceArg::Full => Covariance::Full,
            }),
            alpha: self.alpha,
            column_families: self.column_families.iter().cloned().collect(),
            ..ModelOptions::default()
        }
    }
}

fn column_family(text: &str) -> Result<(String, ColumnFamily), String> {
    let (name, family) = text.rsplit_once('=').ok_or("expected NAME=FAMILY")?;
    let family = match family {
        "gaussian" => ColumnFamily::Gaussian,
        "bernoulli" => ColumnFamily::Bernoulli,
        "poisson" => ColumnFamily::Poisson,
        "categorical" => ColumnFamily::Categorical,
        _ => return Err("expected gaussian, bernoulli, poisson or categorical after the =".to_owned()),
    };
    Ok((name.to_owned(), family))
}

fn cycles(text: &str) -> Result<CyclesArg, String> {
    match (text, text.parse()) {
        ("auto", _) => Ok(CyclesArg::Auto),
        (_, Ok(cycles)) if cycles > 0 => Ok(CyclesArg::Fixed(cycles)),
        _ => Err("expected auto or a whole number from 1".to_owned()),
    }
}

fn time_limit(text: &str) -> Result<f64, String> {
    let is_positive = |seconds: &f64| *seconds > 0.0;
    seconds(text).filter(is_positive).ok_or_else(|| "expected a positive time, such as 90, 90s or 2h".to_owned())
}

fn alpha(text: &str) -> Result<Alpha, String> {
    let problem = || "expected auto or a positive number".to_owned();
    match text {
        "auto" => Ok(Alpha::Auto),
        // what is not finite would be lost on its way through JSON
        text => text.parse().ok().filter(|alpha: &f64| alpha.is_finite()).map(Alpha::Fixed).ok_or_else(problem),
    }
}

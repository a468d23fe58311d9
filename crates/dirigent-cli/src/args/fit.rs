//! The options of `dirigent fit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};
use dirigent::{
    Alpha, Clusters, ColumnFamily, ColumnOptions, Covariance, DataOptions, DrawsFrom, FamilyName, FitOptions, Kernel,
    ModelOptions, Point, RunOptions, StartName, TransformOptions,
};

use super::{CheckpointArgs, EngineArgs, MethodArgs, OutputArgs, SelectionArgs, StorageArgs};

/// Fit a model to data and write labels, trace and settings to a run folder.
///
/// The run folder gets run.json (settings as used and a summary), trace.csv (a line a cycle, while the run goes on), labels.npy,
/// certainty.npy and labels.csv (row, label, certainty; rows are counted from 0), draws.npy with --draws, workers.csv, and the model itself for
/// `dirigent predict` (model.json, components.npz), a sample of rows (sample.npz), and report.html, a page to look at.
/// Labels are the most probable component of each row under the final model, numbered by falling size, or what --point asks for.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dirigent fit measurements.csv --label-column species
  dirigent fit points.npy --sigma 1 --alpha 1 --out run --watch
  dirigent fit documents/docword.txt.gz --vocab documents/vocab.txt
  dirigent fit points.npy --draws 100 --chains 4 --point vi
  dirigent fit points.npy --quiet --json

Exit code 0: done, 1: the run failed, 2: wrong usage or input, 130 or 143: interrupted or terminated.")]
pub(crate) struct FitArgs {
    /// Data: .npy, .csv, .tsv, .parquet, .npz, .svm, .mtx or docword*.txt, text also as .gz; several files, a folder or a pattern ('part-*.csv')
    /// are one set, in the given order; in builds with the feature object-store also at s3://, gs://, az:// and https:// addresses
    #[arg(required_unless_present = "resume", value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// The true labels, to measure against: .npy, or a text file with one label a line
    #[arg(long, value_name = "LABELS", help_heading = "Data", conflicts_with = "label_column")]
    pub(crate) truth: Option<PathBuf>,
    /// The words behind the columns of word counts, one a line; kept in the model, and told in the report
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(crate) vocab: Option<PathBuf>,
    /// Give every column mean 0 and standard deviation 1; predict does the same to its rows
    #[arg(long, help_heading = "Data")]
    standardize: bool,
    /// Fit the first D principal components of the columns instead of them: of the covariance, with --standardize of the correlation
    #[arg(long, value_name = "D", help_heading = "Data", value_parser = value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pca: Option<u32>,
    /// Divide each row by its length, after all else: for --family vmf
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
    pub(crate) fn options(&self) -> FitOptions {
        let transform = TransformOptions {
            standardize: self.standardize,
            n_components: self.pca.map(|n_components| n_components as usize),
            normalize: self.normalize,
        };
        let (mut method, run) = (self.run.method.options(), &self.run);
        method.draws_from = run.draws_from.map(DrawsFromArg::library);
        method.kernel = run.kernel;
        let cycles = match run.cycles {
            CyclesArg::Auto => None,
            CyclesArg::Fixed(cycles) => Some(cycles),
        };
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
        let engine = self.engine.options(self.run.workers, self.run.threads);
        FitOptions { model: self.model.options(), transform, method, engine, run }
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
    /// The law of a cluster's rows [default: what the rows look like; it is said which and why]
    #[arg(long)]
    family: Option<FamilyArg>,
    /// Covariance of a Gaussian component [default: the densest for held-out rows, see docs/families.md]
    #[arg(long)]
    covariance: Option<CovarianceArg>,
    /// mixed: the law of one column, gaussian, bernoulli, poisson or categorical; may be given for several
    #[arg(long = "column-family", value_name = "NAME=FAMILY", value_parser = column_family)]
    column_families: Vec<(String, ColumnFamily)>,
    /// Tell which family and priors were chosen, and why
    #[arg(long)]
    pub(crate) explain_prior: bool,
    /// The concentration of the Dirichlet process: larger means more clusters; `auto` learns it
    #[arg(long, value_name = "auto|X", default_value = "auto", value_parser = alpha, allow_negative_numbers = true)]
    pub(crate) alpha: Alpha,
    /// covariance isotropic: standard deviation of rows about their cluster's mean [default: learned]
    #[arg(long, value_name = "X", value_parser = number, allow_negative_numbers = true)]
    sigma: Option<f64>,
    /// covariance isotropic: standard deviation of the cluster means [default: learned]
    #[arg(long, value_name = "X", value_parser = number, allow_negative_numbers = true)]
    sigma0: Option<f64>,
    /// gaussian: the middle of the cluster means, in every column [default: the mean of each column]
    #[arg(long, value_name = "X", value_parser = number, allow_negative_numbers = true)]
    m0: Option<f64>,
    /// multinomial, categorical: prior count of each word or level; multinomial: or `learn` it from samples [default: multinomial by --prior-documents; categorical 0.5]
    #[arg(long, value_name = "learn|X", value_parser = gamma, allow_negative_numbers = true)]
    gamma: Option<GammaArg>,
    /// multinomial: documents that the prior weighs; more give fewer clusters [default: √N/2, more if words repeat]
    #[arg(long, value_name = "C", value_parser = number, allow_negative_numbers = true)]
    prior_documents: Option<f64>,
    /// covariance diag, full: how many rows the prior mean is worth [default: at most 0.1, by the number of columns]; vmf: how closely cluster directions lie about their middle
    #[arg(long, value_name = "X", value_parser = number, allow_negative_numbers = true)]
    kappa0: Option<f64>,
    /// covariance full: degrees of freedom of the inverse Wishart [default: at least columns + 2, learned]
    #[arg(long, value_name = "X", value_parser = number, allow_negative_numbers = true)]
    nu0: Option<f64>,
    /// covariance full: diagonal of the inverse Wishart's scale matrix [default: a share of each column's variance, learned]
    #[arg(long, value_name = "X", value_parser = number, allow_negative_numbers = true)]
    psi0: Option<f64>,
    /// covariance diag: a precision is Gamma(a0, rate b0) [default: learned]; bernoulli: Beta(a0, b0); poisson: Gamma(a0, rate b0)
    #[arg(long, value_name = "X", value_parser = number, allow_negative_numbers = true)]
    a0: Option<f64>,
    /// See --a0 [default: diagonal a share of each column's variance, learned; bernoulli and poisson as much as one row]
    #[arg(long, value_name = "X", value_parser = number, allow_negative_numbers = true)]
    b0: Option<f64>,
    /// vmf: concentration of a cluster's rows about their direction [default: learned]
    #[arg(long, value_name = "X", value_parser = number, allow_negative_numbers = true)]
    tau: Option<f64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub(crate) struct RunArgs {
    /// How often every row is visited; `auto`: until log-joint and K have stopped climbing
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = cycles, allow_negative_numbers = true)]
    pub(crate) cycles: CyclesArg,
    /// With --cycles auto, the most cycles there may be before the chain has settled [default: 1000]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub(crate) max_cycles: Option<u64>,
    /// End after so many seconds, at the border of a cycle; a simulation's seconds are virtual
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) time_limit: Option<f64>,
    /// Begin with small cells that are merged, with rows seated one by one, or with labels from a file [default: fine with splits, else rows]
    #[arg(long, value_name = "fine|rows|LABELS")]
    start: Option<PathBuf>,
    /// The seed of everything random: the same seed gives the same labels, but for async schedules, time limits and other kernels
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Run C independent chains, one after another: labels are of the best one, run.json says whether they agree
    #[arg(long, value_name = "C", default_value_t = 1, value_parser = value_parser!(u16).range(1..=10_000), allow_negative_numbers = true)]
    pub(crate) chains: u16,
    /// Keep N states of each chain in draws.npy, once it has settled; with --cycles N it runs at least twice as long as it is kept
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub(crate) draws: Option<u64>,
    /// Keep every T-th state [default: 1; with --cycles N: N / (2 draws), at least 1]
    #[arg(long, value_name = "T", requires = "draws", value_parser = value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub(crate) thin: Option<u64>,
    /// What draws are states of: exact, a slice sampler that takes over when the method has settled; fast, the method itself [default: exact
    /// with dirigent, fast with the others; cgs, slicemr and av are exact themselves]
    #[arg(long, value_enum, requires = "draws")]
    pub(crate) draws_from: Option<DrawsFromArg>,
    /// What the labels are: the natural layer of the tree over the components (auto), the components, or K clusters; `dirigent cut` changes it
    /// later [default: auto]
    #[arg(long, value_name = "auto|components|K")]
    pub(crate) clusters: Option<Clusters>,
    /// Which partition of components is taken
    #[arg(long, value_enum, default_value_t = PointArg::Argmax)]
    point: PointArg,
    /// The number of workers, which share the rows [default: by the number of rows, at most 20; cgs has one]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(crate) workers: Option<u32>,
    /// The number of threads; it never changes labels, but for async schedules [default: the number of cores]
    #[arg(long, short = 'j', value_name = "N", value_parser = value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(crate) threads: Option<u32>,
    /// The instructions to sweep with: auto, portable, avx2, avx512 or neon; labels may differ between them
    #[arg(long, value_name = "NAME", value_parser = kernel)]
    pub(crate) kernel: Option<Kernel>,
    // last, because its help heading covers all that follows
    #[command(flatten)]
    pub(crate) method: MethodArgs,
}

/// How long to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CyclesArg {
    Auto,
    Fixed(u64),
}

/// Where γ comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum GammaArg {
    Learn,
    Fixed(f64),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DrawsFromArg {
    Exact,
    Fast,
}

impl DrawsFromArg {
    pub(crate) fn library(self) -> DrawsFrom {
        match self {
            Self::Exact => DrawsFrom::Exact,
            Self::Fast => DrawsFrom::Fast,
        }
    }
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
    /// A law for each column, by what it holds
    Mixed,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CovarianceArg {
    /// The same standard deviation in all columns and components, given or learned
    Isotropic,
    /// A standard deviation for each component and column
    Diag,
    /// A covariance matrix for each cluster
    Full,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PointArg {
    /// The most probable component of each row under the final model; certainty is its probability
    Argmax,
    /// The partition with the least expected variation of information over the draws (needs --draws)
    Vi,
    /// The last state of the chain
    Last,
    /// The state with the highest log-joint among the draws, or without draws among all cycles in which all rows took part
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
                CovarianceArg::Isotropic => Covariance::Fixed,
                CovarianceArg::Diag => Covariance::Diagonal,
                CovarianceArg::Full => Covariance::Full,
            }),
            noise_sd: self.sigma,
            mean_sd: self.sigma0,
            prior_mean: self.m0,
            smoothing: match self.gamma {
                Some(GammaArg::Fixed(gamma)) => Some(gamma),
                Some(GammaArg::Learn) | None => None,
            },
            learns_smoothing: matches!(self.gamma, Some(GammaArg::Learn)),
            prior_documents: self.prior_documents,
            prior_rows: self.kappa0,
            degrees: self.nu0,
            prior_scale: self.psi0,
            shape: self.a0,
            rate: self.b0,
            concentration: self.tau,
            width: None,
            alpha: self.alpha,
            column_families: self.column_families.iter().cloned().collect(),
            columns: ColumnOptions::default(),
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

/// Only whether it is a number: which numbers make sense is for the model to say.
fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "expected a number".to_owned())
}

fn gamma(text: &str) -> Result<GammaArg, String> {
    match text {
        "learn" => Ok(GammaArg::Learn),
        text => text.parse().map(GammaArg::Fixed).map_err(|_| "expected learn or a number".to_owned()),
    }
}

fn cycles(text: &str) -> Result<CyclesArg, String> {
    match (text, text.parse()) {
        ("auto", _) => Ok(CyclesArg::Auto),
        (_, Ok(cycles)) if cycles > 0 => Ok(CyclesArg::Fixed(cycles)),
        _ => Err("expected auto or a whole number from 1".to_owned()),
    }
}

fn kernel(text: &str) -> Result<Kernel, String> {
    let name = || text.parse::<Kernel>().map_err(|error| error.to_string());
    if text == "auto" { Ok(Kernel::best()) } else { name() }
}

fn seconds(text: &str) -> Result<f64, String> {
    let is_time = |seconds: &f64| *seconds > 0.0 && seconds.is_finite();
    text.parse().ok().filter(is_time).ok_or_else(|| "expected a positive number of seconds".to_owned())
}

fn alpha(text: &str) -> Result<Alpha, String> {
    match text {
        "auto" => Ok(Alpha::Auto),
        text => text.parse().map(Alpha::Fixed).map_err(|_| "expected auto or a positive number".to_owned()),
    }
}

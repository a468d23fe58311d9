//! `dirigent demo`: the paper's synthetic set at a tenth of its size, made, and fitted by the default method.

use dirigent::internals::fit::{fit_into, grouped};
use dirigent::internals::io::DataSet;
use dirigent::internals::io::synthetic::MixtureLaw;
use dirigent::{
    Alpha, Clusters, Covariance, Data, FamilyName, FitOptions, ModelOptions, NoEngines, Result, RunOptions,
};

use crate::args::DemoArgs;
use crate::fit::show;
use crate::terminal::Terminal;
use crate::watch::Watch;

pub(crate) fn run(args: &DemoArgs) -> Result<()> {
    Watch::check(args.output.watch.as_deref())?;
    let law = MixtureLaw { n_rows: MixtureLaw::synthetic().n_rows / 10, ..MixtureLaw::synthetic() };
    let (rows, clusters) = (grouped(law.n_rows as u64), law.n_clusters);
    let console = args.output.console();
    console.say(format_args!("data: {rows} points of the plane in {clusters} overlapping clusters, made for the demo"));
    let (table, truth) = law.table()?;
    let data = Data::from_set(DataSet::of_table("demo", table)).with_truth(truth)?;
    // the clusters overlap, and each is one Gaussian
    let run = RunOptions { clusters: Some(Clusters::Components), ..RunOptions::default() };
    let options = FitOptions { model: paper_model(), run, ..FitOptions::default() };
    let folder = args.output.folder();
    let fit = |terminal: &mut Terminal<'_>| fit_into(&folder, &data, &options, &NoEngines, terminal);
    show(&args.output, &options, false, fit)
}

/// The model of the paper's section 5.
fn paper_model() -> ModelOptions {
    ModelOptions {
        family: Some(FamilyName::Gaussian),
        covariance: Some(Covariance::Isotropic),
        alpha: Alpha::Fixed(1.0),
        sigma: Some(1.0),
        sigma0: Some(10.0),
        m0: Some(vec![0.0]),
        ..ModelOptions::default()
    }
}

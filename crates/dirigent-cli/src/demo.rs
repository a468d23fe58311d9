//! `dirigent demo`: the paper's synthetic set at a tenth of its size, made, and fitted by the default method.

use std::num::NonZero;
use std::thread::available_parallelism;

use dirigent::Result;
use dirigent::io::synthetic::MixtureLaw;
use dirigent::io::{DataSet, Selection};
use dirigent::method::distributed::{DistributedOptions, Engine};
use dirigent::method::{MethodOptions, default_workers};
use dirigent::model::{Alpha, Covariance, FamilyName, Model, ModelOptions};
use dirigent::node::CoordinatorOptions;
use dirigent::run_dir::{DataRecord, Point};
use dirigent::survey::Survey;
use dirigent::sweep::Kernel;

use crate::args::DemoArgs;
use crate::console::grouped;
use crate::fit::{create_run_dir, describe_model, new_record};
use crate::job::{self, Job};
use crate::watch::Watch;

pub(crate) fn run(args: &DemoArgs) -> Result<()> {
    Watch::check(args.output.watch.as_deref())?;
    let console = args.output.console();
    let law = MixtureLaw { n_rows: MixtureLaw::synthetic().n_rows / 10, ..MixtureLaw::synthetic() };
    let (rows, clusters) = (grouped(law.n_rows as u64), law.n_clusters);
    console.say(format_args!("data: {rows} points of the plane in {clusters} overlapping clusters, made for the demo"));
    let (table, truth) = law.table()?;
    let data = DataSet::of_table("demo", table);
    let shard = data.all_rows();

    let model_options = paper_model();
    let model = Model::resolve(&model_options, &Survey::of(&shard))?;
    console.say(describe_model(&model, &model_options));
    let options = MethodOptions::Distributed(DistributedOptions {
        coordinator: CoordinatorOptions {
            n_workers: default_workers(shard.n_rows()) as u32,
            model: model_options.clone(),
            alpha: Alpha::Fixed(1.0),
            ..CoordinatorOptions::default()
        },
        engine: Engine::Threads(available_parallelism().map_or(1, NonZero::get)),
        ..DistributedOptions::default()
    });

    let run_dir = create_run_dir(&args.output, data.name())?;
    let selection = Selection::default();
    let mut data_record = DataRecord::of(&data, &selection);
    (data_record.truth, data_record.made_by) = (Some("made with the rows".to_owned()), Some(&law));
    let record = new_record(data_record, &model, &model_options, "dirigent", Kernel::best(), &options, 1);
    let job = Job {
        shard: &shard,
        as_read: &shard,
        model: &model,
        transform: None,
        truth: Some(&truth),
        options: &options,
        n_chains: 1,
        point: Point::Argmax,
        data: None,
    };
    job::run(&job, &run_dir, record, &args.output)
}

/// The model of the paper's section 5.
fn paper_model() -> ModelOptions {
    ModelOptions {
        family: Some(FamilyName::Gaussian),
        covariance: Some(Covariance::Fixed),
        noise_sd: Some(1.0),
        mean_sd: Some(10.0),
        prior_mean: Some(0.0),
        ..ModelOptions::default()
    }
}

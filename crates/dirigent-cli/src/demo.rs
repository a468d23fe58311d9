//! `dirigent demo`: writes a table of customers whose groups are known, and fits it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use dirigent::internals::fit::fit_read_into;
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::run_dir::write_file;
use dirigent::{DataOptions, Error, FitOptions, InputError, NoEngines, Result, Stream};

use crate::args::DemoArgs;
use crate::fit::{open, show};
use crate::terminal::Terminal;
use crate::watch::Watch;

/// The column with the true groups.
const TRUTH: &str = "segment";
const PLANS: [&str; 3] = ["free", "basic", "pro"];
const DEVICES: [&str; 3] = ["phone", "tablet", "laptop"];
/// Shares of cells that are missing.
const MISSING_SPEND: f64 = 0.04;
const MISSING_DEVICE: f64 = 0.02;

/// A group of customers.
struct Segment {
    name: &'static str,
    n_rows: usize,
    /// Mean and standard deviation.
    age: [f64; 2],
    spend: [f64; 2],
    /// Mean.
    visits: f64,
    /// Probabilities.
    plans: [f64; 3],
    devices: [f64; 3],
}

const SEGMENTS: [Segment; 5] = [
    Segment {
        name: "students",
        n_rows: 700,
        age: [22.0, 2.5],
        spend: [14.0, 4.0],
        visits: 9.0,
        plans: [0.80, 0.18, 0.02],
        devices: [0.80, 0.10, 0.10],
    },
    Segment {
        name: "families",
        n_rows: 550,
        age: [38.0, 4.0],
        spend: [62.0, 12.0],
        visits: 5.0,
        plans: [0.10, 0.75, 0.15],
        devices: [0.45, 0.40, 0.15],
    },
    Segment {
        name: "freelancers",
        n_rows: 400,
        age: [33.0, 5.0],
        spend: [120.0, 20.0],
        visits: 22.0,
        plans: [0.05, 0.15, 0.80],
        devices: [0.20, 0.05, 0.75],
    },
    Segment {
        name: "pensioners",
        n_rows: 250,
        age: [69.0, 5.0],
        spend: [35.0, 9.0],
        visits: 2.0,
        plans: [0.35, 0.60, 0.05],
        devices: [0.15, 0.70, 0.15],
    },
    Segment {
        name: "companies",
        n_rows: 100,
        age: [46.0, 6.0],
        spend: [410.0, 60.0],
        visits: 14.0,
        plans: [0.01, 0.04, 0.95],
        devices: [0.02, 0.03, 0.95],
    },
];

pub(crate) fn run(args: &DemoArgs) -> Result<()> {
    Watch::check(args.output.watch.as_deref())?;
    let console = args.output.console();
    let file =
        args.output.out.as_deref().map_or_else(|| PathBuf::from("runs/demo.csv"), |out| out.with_extension("csv"));
    write_table(&file, args.output.force)?;
    console.say(format_args!("written: {}, customers in {} groups; now running", file.display(), SEGMENTS.len()));
    console.say(format_args!("dirigent fit {} --label-column {TRUTH}", file.display()));
    let data = DataOptions { paths: vec![file], label_column: Some(TRUTH.to_owned()), ..DataOptions::default() };
    let (folder, options) = (args.output.folder(), FitOptions::default());
    let read = || open(&data, console);
    let fit = |terminal: &mut Terminal<'_>| fit_read_into(&folder, read, &options, &NoEngines, terminal);
    show(&args.output, &options, false, fit)
}

/// Writes the table. Replaces no other file of that name.
fn write_table(path: &Path, replaces: bool) -> Result<()> {
    let table = table();
    if let Ok(found) = fs::read(path) {
        if found == table.as_bytes() {
            return Ok(());
        }
        if !replaces {
            let error = InputError::in_file(path, "exists, and is not the table of the demo");
            return Err(error.hint("use --out to choose another place, or --force to replace the file").into());
        }
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| Error::io("cannot create", parent, error))?;
    }
    write_file(path, |file| file.write_all(table.as_bytes()))
}

/// The table as CSV, its rows in random order.
fn table() -> String {
    let mut rng = Seed::new(0).stream(Role::Synthetic, 0, 0);
    let mut rows: Vec<&Segment> =
        SEGMENTS.iter().flat_map(|segment| std::iter::repeat_n(segment, segment.n_rows)).collect();
    rng.shuffle(&mut rows);
    let mut table = format!("{TRUTH},age,spend,visits,plan,device\n");
    for segment in rows {
        let [age, spend] = [segment.age, segment.spend].map(|[mean, sd]| (mean + sd * rng.normal()).max(0.0));
        let visits = poisson(segment.visits, &mut rng);
        let plan = PLANS[choice(segment.plans, &mut rng)];
        let device = DEVICES[choice(segment.devices, &mut rng)];
        let spend = if rng.uniform() < MISSING_SPEND { String::new() } else { format!("{spend:.2}") };
        let device = if rng.uniform() < MISSING_DEVICE { "" } else { device };
        let name = segment.name;
        table += &format!("{name},{age:.0},{spend},{visits},{plan},{device}\n");
    }
    table
}

fn choice(probabilities: [f64; 3], rng: &mut Stream) -> usize {
    rng.categorical(&probabilities.map(libm::log))
}

/// The arrivals before time `mean`.
fn poisson(mean: f64, rng: &mut Stream) -> usize {
    let mut time = rng.exponential();
    let mut n_arrivals = 0;
    while time < mean {
        n_arrivals += 1;
        time += rng.exponential();
    }
    n_arrivals
}

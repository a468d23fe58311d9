//! The data of a reproduction: made as in the paper, or the user's own.

use std::path::{Path, PathBuf};

use clap::Parser as _;
use dirigent::{InputError, Result};

use crate::args::{Cli, Command, ReproduceArgs};
use crate::synth;

/// The sets that are made.
#[derive(Debug, PartialEq)]
struct Made {
    set: &'static str,
    title: &'static str,
    file: &'static str,
    /// The paper's model.
    model: &'static [&'static str],
    usual_cycles: u64,
    quick_cycles: u64,
    quick_rows: u64,
}

const MADE: [Made; 3] = [
    Made {
        set: "synthetic",
        title: "the paper's synthetic set",
        file: "data.npy",
        model: &["--family", "gaussian", "--covariance", "isotropic", "--prior", "sigma=1,sigma0=10,m0=0"],
        usual_cycles: 100,
        quick_cycles: 30,
        quick_rows: 141_000,
    },
    Made {
        set: "imagenet",
        title: "a set like the paper's ImageNet features",
        file: "data.npy",
        model: &["--family", "gaussian", "--covariance", "isotropic", "--prior", "sigma=8,sigma0=8,m0=0"],
        usual_cycles: 50,
        quick_cycles: 15,
        quick_rows: 20_000,
    },
    Made {
        set: "nyt",
        title: "a set like the paper's articles",
        file: "docword.txt.gz",
        model: &["--family", "multinomial", "--prior", "gamma=1"],
        usual_cycles: 50,
        quick_cycles: 10,
        quick_rows: 10_000,
    },
];

/// The seed of made sets: that of the other pages of measurements, so that figures can be compared.
const SEED: &str = "1";

/// Where rows, labels and model come from.
#[derive(Debug)]
pub(crate) struct Source {
    made: Option<&'static Made>,
    /// For people.
    pub(crate) title: String,
    data: PathBuf,
    truth: Option<PathBuf>,
    label_column: Option<String>,
    rows: Option<u64>,
    /// Options of the model and of the data.
    options: Vec<String>,
}

impl Source {
    /// What the options name.
    pub(crate) fn of(args: &ReproduceArgs) -> Result<Self> {
        let made = MADE.iter().find(|made| Path::new(made.set) == args.dataset);
        let folder = args.out.join("data");
        let gives_alpha = args.fit_options.iter().any(|word| word == "--alpha" || word.starts_with("--alpha="));
        let alpha: &[&str] = if gives_alpha { &[] } else { &["--alpha", "1"] };
        let Some(made) = made else {
            if args.rows.is_some() {
                let problem = "--rows is for a made set: synthetic, imagenet or nyt";
                return Err(InputError::new(problem).hint("leave it out: DATA is used as it is").into());
            }
            return Ok(Self {
                made,
                title: args.dataset.display().to_string(),
                data: args.dataset.clone(),
                truth: args.truth.clone(),
                label_column: args.label_column.clone(),
                rows: None,
                options: alpha.iter().map(|word| (*word).to_owned()).chain(args.fit_options.clone()).collect(),
            });
        };
        if args.truth.is_some() || args.label_column.is_some() {
            let problem = "--truth and --label-column are for DATA: the labels of a made set are known";
            return Err(InputError::new(problem).hint("leave them out, or name DATA with --dataset").into());
        }
        // a prior that the user gives takes the place of the paper's
        let is_given = |option: &str| args.fit_options.iter().any(|word| word.split('=').next() == Some(option));
        let model = made.model.chunks_exact(2).filter(|pair| !is_given(pair[0])).flatten();
        let options = model.chain(alpha).map(|word| (*word).to_owned()).chain(args.fit_options.clone());
        Ok(Self {
            made: Some(made),
            title: made.title.to_owned(),
            data: folder.join(made.file),
            truth: Some(folder.join("labels.npy")),
            label_column: None,
            rows: args.rows.or(args.quick.then_some(made.quick_rows)),
            options: options.collect(),
        })
    }

    /// The name of a made set.
    pub(crate) fn set(&self) -> Option<&'static str> {
        self.made.map(|made| made.set)
    }

    /// Cycles, unless the user says.
    pub(crate) fn usual_cycles(&self, is_quick: bool) -> u64 {
        match (self.made, is_quick) {
            (Some(made), false) => made.usual_cycles,
            (Some(made), true) => made.quick_cycles,
            (None, false) => 50,
            (None, true) => 15,
        }
    }

    /// Makes the set, unless it is there or need not be made.
    pub(crate) fn make(&self, folder: &Path) -> Result<()> {
        let Some(made) = self.made else { return Ok(()) };
        let out = folder.join("data").display().to_string();
        let mut words = vec!["dirigent", "synth", made.set, "--out", &out, "--seed", SEED, "--force", "--quiet"];
        let rows = self.rows.map(|rows| rows.to_string());
        if let Some(rows) = &rows {
            words.extend(["--rows", rows]);
        }
        match Cli::try_parse_from(words).map(|cli| cli.command) {
            Ok(Command::Synth(args)) => synth::ensure(&args),
            _ => unreachable!("our own words are a synth"),
        }
    }

    /// The words of `fit` that name data, labels and model.
    pub(crate) fn words(&self, with_truth: bool) -> Vec<String> {
        let mut words = vec![self.data.display().to_string()];
        if let Some(truth) = self.truth.as_ref().filter(|_| with_truth) {
            words.extend(["--truth".to_owned(), truth.display().to_string()]);
        }
        if let Some(column) = &self.label_column {
            words.extend(["--label-column".to_owned(), column.clone()]);
        }
        words.extend(self.options.iter().cloned());
        words
    }
}

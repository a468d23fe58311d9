//! The report of one run: the answer first, the sampler last.

use std::path::Path;

use dirigent::internals::run_dir::FittedModel;
use dirigent::{Cut, Model, Result};

use super::cards::{self, MOST_CARDS};
use super::certainty::Labels;
use super::features::Features;
use super::groups::Groups;
use super::html::Table;
use super::names::Names;
use super::page::Page;
use super::plot::Plot;
use super::run::Run;
use super::sample::Sample;
use super::words::percent;
use super::{
    classes, contrasts, cuts, cycles, dendrogram, distributions, map, overview, pairs, posterior, profiles, reasons,
    summary, workers, written,
};
use crate::console::grouped;

/// Cards that need not be opened.
pub(crate) const OPEN_CARDS: usize = 9;

/// What of a run its page shows.
struct Shown {
    groups: Groups,
    sample: Option<Sample>,
    features: Features,
    /// The features in the columns that were read, if they are known.
    as_read: Option<Features>,
    names: Names,
    /// Whether the labels are no groups of components.
    is_other_partition: bool,
}

impl Shown {
    /// `None` while the run is not finished. Takes the sample out of the run.
    fn of(run: &mut Run, given: Option<&Path>) -> Result<Option<Self>> {
        let Some(fitted) = &run.model else { return Ok(None) };
        let sample = run.sample.take().filter(|sample| !sample.numbers.is_empty());
        let labels = written::labels(&run.path, run.clusters_of_components().is_some())?;
        let is_other_partition = labels.is_some();
        let (groups, sample) = match (labels, sample) {
            (Some(labels), Some(sample)) => {
                let (groups, sample) = written::groups(fitted, sample, &labels)?;
                (groups, Some(sample))
            }
            (_, sample) => {
                let sizes: Vec<u64> = fitted.components.iter().map(|stats| stats.count as u64).collect();
                let components = || Cut::new((0..sizes.len() as u32).collect(), &sizes);
                let tree = run.tree.as_ref();
                let (tree, cut) = tree.map_or_else(|| (None, components()), |(tree, cut)| (Some(tree), cut.clone()));
                let groups = Groups::of(fitted, tree, cut);
                let sample = sample.map(|sample| Sample::of(sample, fitted, &groups)).transpose()?;
                (groups, sample)
            }
        };
        let names = match given {
            Some(file) => Names::read(file, groups.n_clusters())?,
            None => Names::of_run(&run.path, groups.n_clusters())?,
        };
        let features = Features::of(&groups);
        let as_read = features.as_read(&groups.fitted);
        Ok(Some(Self { groups, sample, features, as_read, names, is_other_partition }))
    }

    fn shown(&self) -> &Features {
        self.as_read.as_ref().unwrap_or(&self.features)
    }
}

/// Checks a file of names and puts it into the run folder, for this page and all later ones.
pub(crate) fn take_names(run: &Path, file: &Path) -> Result<()> {
    let mut run = Run::read(run)?;
    match Shown::of(&mut run, Some(file))? {
        Some(shown) => shown.names.write(&run.path).map(|_| ()),
        None => Err(unfinished(&run, "names")),
    }
}

/// Writes a line per cluster.
pub(crate) fn write_profiles(run: &Path, file: &Path) -> Result<()> {
    let mut run = Run::read(run)?;
    let labels = Labels::read(&run.path.join("labels.csv"));
    match Shown::of(&mut run, None)? {
        Some(shown) => profiles::write(file, &shown.groups, shown.shown(), labels.as_ref(), &shown.names),
        None => Err(unfinished(&run, "profiles")),
    }
}

fn unfinished(run: &Run, what: &str) -> dirigent::Error {
    let problem = format!("the run has not finished, so it has no clusters for --{what}");
    let error = dirigent::InputError::in_file(&run.path, problem);
    error.hint("wait for its end, or continue it with dirigent fit --resume").into()
}

/// The page. Takes the sample out of the run.
pub(crate) fn page(mut run: Run) -> Result<Page> {
    let mut page = Page::new(format!("Clusters of {}", run.data_name()), summary::sentence(&run));
    let labels = run.model.is_some().then(|| Labels::read(&run.path.join("labels.csv"))).flatten();
    let section = page.section("Summary");
    section.facts(summary::facts(&run, labels.as_ref()));
    let shown = Shown::of(&mut run, None)?;
    let mut warnings = summary::warnings(&run);
    if shown.as_ref().is_some_and(|shown| shown.is_other_partition) {
        warnings
            .push(summary::other_partition(&run.record, shown.as_ref().is_some_and(|shown| shown.sample.is_some())));
    }
    if !warnings.is_empty() {
        section.notes(warnings);
    }
    if let Some(shown) = &shown {
        add_clusters(&mut page, shown, labels.as_ref());
        add_columns(&mut page, &run, shown);
    }
    add_certainty(&mut page, &run, labels.as_ref(), shown.as_ref())?;
    let sentences = reasons::sentences(&run.record);
    if !sentences.is_empty() {
        let section = page.section("Model");
        sentences.into_iter().for_each(|sentence| {
            section.paragraph(sentence);
        });
    }
    add_posterior(&mut page, &run);
    let plots = cycles::plots(&cycles::lines(&run.trace));
    if !plots.is_empty() {
        page.section("How the run went").plots(plots);
    }
    if run.workers.n_rows > 1 {
        let plots: Vec<Plot> =
            workers::plot(&run.workers).into_iter().chain(workers::over_cycles(&run.trace)).collect();
        if !plots.is_empty() {
            page.section("Workers").plots(plots);
        }
    }
    let section = page.section("Repeat the run");
    if let Some(command) = summary::command(&run.record) {
        section.paragraph("The same command gives the same labels, on any number of threads.").code(command);
    }
    section.table(summary::settings(&run));
    Ok(page)
}

/// Clusters, tree, map and cards: all of them follow the slider.
fn add_clusters(page: &mut Page, all: &Shown, labels: Option<&Labels>) {
    let Shown { groups, sample, features, names, .. } = all;
    let (sample, shown) = (sample.as_ref(), all.shown());
    let is_text = matches!(groups.fitted.model, Model::Multinomial(_));
    let described = || 0..groups.members.len();
    let words: Vec<Vec<String>> = match is_text {
        true => described().map(|group| cards::words_of_group(&groups.fitted, shown, group)).collect(),
        false => Vec::new(),
    };
    let marks: Vec<String> = described().map(|group| cards::mark(&groups.fitted, shown, group)).collect();
    if let Some(slider) = cuts::slider(groups, features, &marks, names, sample) {
        page.slider(slider);
    }
    page.section("Clusters").follow_slider().drawing(overview::drawing(groups, labels, &marks, names));
    if let Some(tree) = dendrogram::drawing(groups, &words) {
        page.section("Tree").follow_slider().drawing(tree);
    }
    page.section("Map").follow_slider().drawing(map::drawing(groups, features, sample, &marks, names));
    let section = page.section("Cards").follow_slider();
    let k = groups.n_clusters();
    if k > MOST_CARDS {
        section.paragraph(format!(
            "Cards of the {MOST_CARDS} largest of {} clusters; dirigent report RUN --profiles FILE writes all.",
            grouped(k as u64)
        ));
    }
    let others = cards::cards_of_other_cuts(groups, shown, sample);
    section.cards(cards::cards(groups, features, shown, sample, names), OPEN_CARDS, others);
}

/// Columns, words and known classes by cluster, for the clusters of the run.
fn add_columns(page: &mut Page, run: &Run, all: &Shown) {
    let (groups, names) = (&all.groups, &all.names);
    let heat = contrasts::drawing(groups, all.shown(), names);
    let strips = all.sample.as_ref().zip(run.model.as_ref());
    let strips = strips.and_then(|(sample, fitted)| distributions::drawing(groups, fitted, all.shown(), sample, names));
    let classes = classes::drawing(&run.path, names);
    let is_text = matches!(groups.fitted.model, Model::Multinomial(_));
    for (heading, drawings) in [
        ("Known classes", vec![classes]),
        (if is_text { "Words by cluster" } else { "Columns by cluster" }, vec![heat, strips]),
    ] {
        let drawings: Vec<_> = drawings.into_iter().flatten().collect();
        if !drawings.is_empty() {
            let section = page.section(heading);
            drawings.into_iter().for_each(|drawing| {
                section.drawing(drawing);
            });
        }
    }
}

fn add_certainty(page: &mut Page, run: &Run, labels: Option<&Labels>, shown: Option<&Shown>) -> Result<()> {
    let Some(labels) = labels else { return Ok(()) };
    let pairs = match shown {
        Some(shown) => pairs::drawing(&run.path, labels, &shown.names)?,
        None => None,
    };
    let section = page.section("Certainty");
    section.paragraph(labels.sentence()).plots(vec![labels.histogram()]);
    if let Some(table) = labels.least_certain() {
        section.table(table);
    }
    if let (Some(sample), Some(fitted)) = (shown.and_then(|shown| shown.sample.as_ref()), &run.model) {
        section.table(strangest(fitted, sample));
    }
    if let Some(pairs) = pairs {
        section.drawing(pairs);
    }
    Ok(())
}

/// Sampled rows that fit no cluster well.
fn strangest(fitted: &FittedModel, sample: &Sample) -> Table {
    let mut table = Table::new(
        "Outliers: the sampled rows that fit worst, per observed cell or word",
        &["row", "cluster", "probability of a new cluster", "values"],
    );
    for ix in sample.strangest().into_iter().take(8) {
        let prediction = &sample.predictions[ix];
        let holds = cards::example(fitted, sample.as_read.row(ix));
        table.row([sample.numbers[ix].to_string(), prediction.label.to_string(), percent(prediction.p_new), holds]);
    }
    table
}

fn add_posterior(page: &mut Page, run: &Run) {
    let tables: Vec<Table> =
        [posterior::mixing(&run.record), posterior::chains(&run.record)].into_iter().flatten().collect();
    let plot = posterior::k_plot(&run.record);
    if plot.is_none() && tables.is_empty() {
        return;
    }
    let section = page.section("Draws and chains");
    if plot.is_some() {
        section.plots(plot.into_iter().collect());
    }
    if !tables.is_empty() {
        section.paragraph("R-hat compares chains, or the halves of one: near 1 they agree. The effective sample size says how many independent draws the chains are worth.");
    }
    tables.into_iter().for_each(|table| {
        section.table(table);
    });
}

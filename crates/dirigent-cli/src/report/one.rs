//! The report of one run.

use dirigent::internals::run_dir::FittedModel;
use dirigent::{Cut, Model, Result};
use serde_json::{Value, json};

use super::cards::{self, MOST_CARDS};
use super::certainty::Labels;
use super::colours::colour;
use super::features::Features;
use super::groups::Groups;
use super::html::Table;
use super::page::Page;
use super::plot::Plot;
use super::run::Run;
use super::sample::Sample;
use super::words::{counted, percent};
use super::{cuts, cycles, dendrogram, map, posterior, summary, workers};
use crate::console::grouped;

/// Bars of the plot of sizes; beyond, a line is drawn.
const MOST_BARS: usize = 400;
/// Cards that need not be opened.
pub(crate) const OPEN_CARDS: usize = 9;

/// The page. Takes the sample out of the run.
pub(crate) fn page(mut run: Run) -> Result<Page> {
    let mut page = Page::new(format!("Clusters of {}", run.data_name()), summary::sentence(&run));
    let section = page.section("Summary");
    section.facts(summary::facts(&run));
    let warnings = summary::warnings(&run);
    if !warnings.is_empty() {
        section.notes(warnings);
    }
    let groups = run.model.as_ref().map(|fitted| {
        let sizes: Vec<u64> = fitted.components.iter().map(|stats| stats.count as u64).collect();
        let components = || Cut::new((0..sizes.len() as u32).collect(), &sizes);
        let (tree, cut) =
            run.tree.as_ref().map_or_else(|| (None, components()), |(tree, cut)| (Some(tree), cut.clone()));
        Groups::of(fitted, tree, cut)
    });
    let sample = match (run.sample.take(), &run.model, &groups) {
        (Some(sample), Some(fitted), Some(groups)) if !sample.numbers.is_empty() => {
            Some(Sample::of(sample, fitted, groups)?)
        }
        _ => None,
    };
    if let Some(groups) = &groups {
        add_clusters(&mut page, groups, sample.as_ref());
    }
    let plots = cycles::plots(&cycles::lines(&run.trace));
    if !plots.is_empty() {
        page.section("How the run went").plots(plots);
    }
    add_certainty(&mut page, &run, sample.as_ref());
    add_posterior(&mut page, &run);
    let plots: Vec<Plot> = workers::plot(&run.workers).into_iter().chain(workers::over_cycles(&run.trace)).collect();
    if !plots.is_empty() {
        page.section("Workers").plots(plots);
    }
    let section = page.section("To do it again");
    if let Some(command) = summary::command(&run.record) {
        section.paragraph("The same command gives the same labels, on any number of threads.").code(command);
    }
    section.table(summary::settings(&run));
    Ok(page)
}

/// Map, clusters and tree: all of them follow the slider.
fn add_clusters(page: &mut Page, groups: &Groups, sample: Option<&Sample>) {
    let features = Features::of(groups);
    let shown = features.as_read(&groups.fitted);
    let shown = shown.as_ref().unwrap_or(&features);
    let words: Vec<Vec<String>> = match &groups.fitted.model {
        Model::Multinomial(_) => {
            (0..groups.members.len()).map(|group| cards::words_of_group(&groups.fitted, shown, group)).collect()
        }
        _ => Vec::new(),
    };
    let lines: Vec<String> = words.iter().map(|words| words.join(", ")).collect();
    if let Some(slider) = cuts::slider(groups, &features, &lines) {
        page.slider(slider);
    }
    page.section("Map").follow_slider().plots(vec![map::plot(groups, &features, sample, &lines)]);
    let section = page.section("Clusters").follow_slider();
    section.plots(vec![sizes(groups, &lines)]);
    let k = groups.n_clusters();
    if k > MOST_CARDS {
        section.paragraph(format!(
            "Cards of the {MOST_CARDS} largest of {} clusters; labels.csv has all.",
            grouped(k as u64)
        ));
    }
    let others = cards::cards_of_other_cuts(groups, shown, sample);
    section.cards(cards::cards(groups, &features, shown, sample), OPEN_CARDS, others);
    if let Some(tree) = dendrogram::plot(groups, &words) {
        page.section("Tree").follow_slider().plots(vec![tree]);
    }
}

fn sizes(groups: &Groups, words: &[String]) -> Plot {
    let counts: Vec<u64> = (0..groups.n_clusters()).map(|cluster| groups.rows(cluster)).collect();
    let (k, total) = (counts.len(), groups.n_rows() as f64);
    let colours: Vec<String> = (0..k).map(colour).collect();
    let trace = if k <= MOST_BARS {
        json!({"type": "bar", "x": (0..k).collect::<Vec<_>>(), "y": counts, "marker": {"color": colours}, "hovertemplate": "cluster %{x}: %{y:,} rows<extra></extra>"})
    } else {
        json!({"type": "scatter", "mode": "lines", "x": (0..k).collect::<Vec<_>>(), "y": counts, "line": {"color": "--accent"}, "hovertemplate": "cluster %{x}: %{y:,} rows<extra></extra>"})
    };
    let mut table = Table::new("Sizes of the clusters", &["cluster", "rows", "share"]);
    if !words.is_empty() {
        table.columns.push("telling words".to_owned());
    }
    for (cluster, count) in counts.iter().enumerate() {
        let cells = [cluster.to_string(), grouped(*count), percent(*count as f64 / total)];
        table.row(cells.into_iter().chain(words.get(cluster).cloned()));
    }
    let (largest, smallest) = (counts.first().copied().unwrap_or(0), counts.last().copied().unwrap_or(0));
    let sentence = format!("{} of {} to {} rows.", counted(k as u64, "cluster"), grouped(largest), grouped(smallest));
    // a few large clusters must not hide the small ones
    let is_steep = smallest > 0 && largest / smallest > 100;
    let axis = if is_steep { json!({"type": "log"}) } else { json!({"rangemode": "tozero"}) };
    let caption = if is_steep { format!("{sentence} The vertical axis is logarithmic.") } else { sentence.clone() };
    let mut plot = Plot::new("Sizes", sentence, vec![trace], ["cluster, by falling size", "rows"])
        .caption(caption)
        .table(table.cut(1000))
        .wide(240);
    if groups.most_clusters() > 1 {
        plot = plot.other_cuts("sizes", Value::Null);
    }
    // a handful of bars should not look like walls
    let range = if k < 12 { json!([-0.6, 11.6]) } else { Value::Null };
    let ticks = if k <= 40 { json!((0..k).collect::<Vec<_>>()) } else { Value::Null };
    plot.layout(json!({"yaxis": axis, "bargap": 0.08, "xaxis": {"range": range, "tickvals": ticks}}))
}

fn add_certainty(page: &mut Page, run: &Run, sample: Option<&Sample>) {
    let Some(labels) = Labels::read(&run.path.join("labels.csv")) else { return };
    let section = page.section("Certainty");
    section.paragraph(labels.sentence()).plots(vec![labels.histogram()]);
    if let Some(table) = labels.least_certain() {
        section.table(table);
    }
    if let (Some(sample), Some(fitted)) = (sample, &run.model) {
        section.table(strangest(fitted, sample));
    }
}

/// Sampled rows that fit no cluster well.
fn strangest(fitted: &FittedModel, sample: &Sample) -> Table {
    let mut order: Vec<usize> = (0..sample.numbers.len()).collect();
    let density = |ix: usize| sample.predictions[ix].log_density;
    order.sort_by(|&a, &b| density(a).total_cmp(&density(b)).then(a.cmp(&b)));
    let mut table = Table::new(
        "The strangest of the sampled rows: those of lowest density",
        &["row", "cluster", "probability of a new cluster", "what it holds"],
    );
    for &ix in order.iter().take(8) {
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

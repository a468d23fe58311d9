//! `gamma=learn`: γ of documents, from samples of them.
//!
//! Components that were found under one γ speak for it, so each γ on a line is fitted by itself, wide ones first: they have few components and cost little.
//! A sample splits what many rows share: which γ is most probable rises with the rows, where clusters have parts of their own, and stays where they have none.
//! So several samples are fitted, and the line through what the first and the last have taught, ln γ over the logarithm of rows, is carried on to all rows.

use super::Search;
use super::model::ChosenModel;
use crate::error::{Error, Result};
use crate::family::Multinomial;
use crate::interrupt::Interrupt;
use crate::method::cgs::Outcome;
use crate::method::consolidated::{self, DistributedOptions};
use crate::model::{Gamma, Model, ModelOptions, choose};
use crate::observer::Observer;
use crate::posterior::horizon::Cycles;
use crate::protocol::CoordinatorOptions;
use crate::rows::Shard;
use crate::survey::Survey;
use std::time::Instant;

/// Rows of the first sample, at most about twice as many; each further one has so many times the rows of the one before; rows of the last one.
const SAMPLE: usize = 2000;
const GROWTH: usize = 4;
const LARGEST_SAMPLE: usize = SAMPLE * GROWTH * GROWTH;

/// The first γ that is tried with the first sample: that of a prior that weighs so many documents.
const WIDEST: f64 = 32.0;
/// The same with further samples, in units of the one before: the most that γ may rise between them.
const WIDER: f64 = GROWTH as f64;
/// Each γ is the one before over this.
const RATIO: f64 = 2.0;
/// γs that a sample tries, at most.
const N_TRIED: i32 = 9;
/// Cycles of each fit.
const CYCLES: u64 = 16;
/// Samples of more rows than the second are at most this part of all rows: where there are fewer, fitting them costs more than it is worth.
const PART: usize = 4;

/// What one sample has taught.
struct Lesson {
    n_rows: f64,
    smoothing: f64,
}

/// A fit that tells nothing and ends when the search is interrupted.
struct Quiet(Interrupt);

impl Observer for Quiet {
    fn interrupt(&mut self) -> Interrupt {
        self.0.clone()
    }
}

/// The multinomial model of documents whose γ samples decide. A deadline ends the search with what was learned until then.
pub(super) fn learn(search: &mut Search<'_>, options: &ModelOptions) -> Result<ChosenModel> {
    let (rows, survey) = (search.rows, search.survey);
    let widest = ModelOptions { gamma: None, prior_documents: Some(WIDEST), ..options.clone() };
    let Model::Multinomial(Multinomial { smoothing: widest, .. }) = Model::resolve(&widest, survey)? else {
        panic!("only documents have a γ to learn")
    };
    let mut lessons: Vec<Lesson> = Vec::new();
    for n_rows in (0..).map(|growth| SAMPLE * GROWTH.pow(growth)) {
        let is_dear = n_rows > SAMPLE * GROWTH && rows.n_rows() < PART * n_rows;
        let is_late = !lessons.is_empty() && search.is_time_over();
        if n_rows > LARGEST_SAMPLE || is_dear || is_late {
            break;
        }
        let sample = rows.every((rows.n_rows() / n_rows).max(1));
        let widest = lessons.last().map_or(widest, |lesson| WIDER * lesson.smoothing);
        let smoothing = most_probable(&sample, options, widest, search)?;
        lessons.push(Lesson { n_rows: sample.n_rows() as f64, smoothing });
        if sample.n_rows() == rows.n_rows() {
            break;
        }
    }
    let n_rows = rows.n_rows() as f64;
    let smoothing = carried_on(&lessons, n_rows);
    let options = ModelOptions { gamma: Some(Gamma::Fixed(smoothing)), ..options.clone() };
    let choices = choose::shape(&options, survey)?.choices;
    ChosenModel::with_learned(options, choices, survey, &why(&lessons, n_rows))
}

/// The γ under which what is found in a sample is most probable.
fn most_probable(sample: &Shard, options: &ModelOptions, widest: f64, search: &mut Search<'_>) -> Result<f64> {
    let mut tried: Vec<(f64, f64)> = Vec::new();
    let mut has_clusters = false;
    for step in 0..N_TRIED {
        if step > 0 && search.is_time_over() {
            break;
        }
        let smoothing = widest / RATIO.powi(step);
        let options = ModelOptions { gamma: Some(Gamma::Fixed(smoothing)), ..options.clone() };
        search.observer.on_start(&format!("γ {smoothing:.4} for {} documents", sample.n_rows()));
        let found = fit(sample, &options, search)?;
        let is_worse = tried.last().is_some_and(|&(_, before)| found.log_joint < before);
        tried.push((libm::log(smoothing), found.log_joint));
        // a single component tells how common words are, not what clusters are like
        if is_worse && has_clusters {
            break;
        }
        has_clusters = found.k > 1;
    }
    Ok(libm::exp(peak(&tried)))
}

/// A short fit of a sample.
fn fit(sample: &Shard, model: &ModelOptions, search: &mut Search<'_>) -> Result<Outcome> {
    let model = Model::resolve(model, &Survey::of(sample))?;
    let coordinator = CoordinatorOptions {
        cycles: Cycles::Fixed(CYCLES),
        kernel: Some(search.kernel),
        ..CoordinatorOptions::default()
    };
    let time_limit = search.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_secs_f64());
    let options = DistributedOptions { coordinator, time_limit, ..DistributedOptions::default() };
    let interrupt = search.observer.interrupt();
    let shards = std::slice::from_ref(sample);
    let fitted = consolidated::run(shards, &model, &options, None, &mut Quiet(interrupt.clone()));
    if interrupt.is_raised() { Err(Error::Interrupted) } else { fitted.map(|(outcome, _)| outcome) }
}

/// Where the parabola through the highest point and its neighbours is highest; at an end of the line, the end.
fn peak(tried: &[(f64, f64)]) -> f64 {
    let highest_ix = (0..tried.len()).max_by(|&a, &b| tried[a].1.total_cmp(&tried[b].1)).expect("one γ at least");
    let (place, height) = tried[highest_ix];
    let before = highest_ix.checked_sub(1).map(|before_ix| tried[before_ix].1);
    let after = tried.get(highest_ix + 1).map(|&(_, after)| after);
    let (Some(before), Some(after)) = (before, after) else { return place };
    let bend = before - 2.0 * height + after;
    if bend < 0.0 { place - libm::log(RATIO) * (before - after) / (2.0 * bend) } else { place }
}

/// γ of all rows: what the last sample has taught, carried on with the slope from the first to the last.
fn carried_on(lessons: &[Lesson], n_rows: f64) -> f64 {
    let (first, last) = (&lessons[0], &lessons[lessons.len() - 1]);
    if last.n_rows == first.n_rows {
        return last.smoothing;
    }
    let slope = libm::log(last.smoothing / first.smoothing) / libm::log(last.n_rows / first.n_rows);
    last.smoothing * libm::pow(n_rows / last.n_rows, slope.clamp(0.0, 1.0))
}

fn why(lessons: &[Lesson], n_rows: f64) -> String {
    let each: Vec<String> =
        lessons.iter().map(|lesson| format!("{:.4} for {} rows", lesson.smoothing, lesson.n_rows)).collect();
    let is_of_all = lessons.last().is_some_and(|last| last.n_rows == n_rows);
    let carried_on = if is_of_all { "" } else { ", carried on to all rows" };
    format!("the most probable: {}{carried_on}", each.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, Seed};
    use crate::rows::{CountTable, Table};
    use crate::survey::Survey;
    use crate::sweep::Kernel;

    /// Documents of 50 words out of 80, of clusters whose laws are drawn with a γ.
    fn documents(n_rows: usize, n_clusters: usize, smoothing: f64) -> Shard {
        let mut rng = Seed::new(3).stream(Role::Observer, 0, 0);
        let laws: Vec<Vec<f64>> = (0..n_clusters).map(|_| rng.log_dirichlet(&[smoothing; 80])).collect();
        let mut table = CountTable::new(80);
        for row in 0..n_rows {
            let mut counts = [0; 80];
            for _ in 0..50 {
                counts[rng.categorical(&laws[row % n_clusters])] += 1;
            }
            table.push_row((0..80).zip(counts).filter(|&(_, count)| count > 0));
        }
        Shard::of_table(Table::Counts(table))
    }

    fn learnt(rows: &Shard, options: &ModelOptions) -> ChosenModel {
        super::super::model::choose(rows, options, &Survey::of(rows), Kernel::best(), 1, None, &mut ()).unwrap()
    }

    #[test]
    fn the_gamma_that_clusters_were_drawn_with_is_found_from_samples() {
        // fewer rows than a sample, and so many that what samples teach is carried on
        for (n_rows, smoothing) in [(1500, 0.1), (1500, 1.0), (20_000, 0.3)] {
            let asked = ModelOptions { gamma: Some(Gamma::Learn), ..ModelOptions::default() };
            let chosen = learnt(&documents(n_rows, 12, smoothing), &asked);
            let Model::Multinomial(family) = chosen.model else { panic!("documents") };
            let ratio = family.smoothing / smoothing;
            assert!((0.75..1.33).contains(&ratio), "{} instead of {smoothing} of {n_rows} rows", family.smoothing);
        }
    }

    /// Raises an interrupt when it hears of the second γ.
    struct Impatient {
        interrupt: Interrupt,
        n_heard: usize,
    }

    impl Observer for Impatient {
        fn interrupt(&mut self) -> Interrupt {
            self.interrupt.clone()
        }

        fn on_start(&mut self, _text: &str) {
            self.n_heard += 1;
            if self.n_heard == 2 {
                self.interrupt.raise();
            }
        }
    }

    #[test]
    fn learning_ends_when_it_is_interrupted_and_when_time_is_over() {
        let rows = documents(1500, 12, 0.1);
        let (survey, asked) =
            (Survey::of(&rows), ModelOptions { gamma: Some(Gamma::Learn), ..ModelOptions::default() });
        let mut observer = Impatient { interrupt: Interrupt::new(), n_heard: 0 };
        let choose = super::super::model::choose;
        let outcome = choose(&rows, &asked, &survey, Kernel::best(), 1, None, &mut observer);
        assert!(matches!(outcome, Err(Error::Interrupted)));
        assert_eq!(observer.n_heard, 2, "nothing is tried after the interrupt");
        let mut observer = Impatient { interrupt: Interrupt::new(), n_heard: 10 };
        let outcome = choose(&rows, &asked, &survey, Kernel::best(), 1, Some(Instant::now()), &mut observer);
        assert!(outcome.unwrap().options.fixed_gamma().is_some());
        assert_eq!(observer.n_heard, 11, "one γ is tried");
    }

    #[test]
    fn a_gamma_that_was_given_stays() {
        let asked = ModelOptions { gamma: Some(Gamma::Fixed(0.7)), ..ModelOptions::default() };
        assert_eq!(learnt(&documents(300, 3, 0.1), &asked).options, asked);
    }

    #[test]
    fn a_gamma_that_is_left_out_is_not_learned() {
        let asked = ModelOptions::default();
        assert_eq!(learnt(&documents(300, 3, 0.1), &asked).options, asked);
    }

    #[test]
    fn the_peak_is_that_of_the_parabola() {
        let of = |place: f64| (place, 5.0 - 2.0 * (place - 0.3) * (place - 0.3));
        let step = libm::log(RATIO);
        let tried: Vec<(f64, f64)> = (0..4).map(|ix| of(1.0 - f64::from(ix) * step)).collect();
        assert!((peak(&tried) - 0.3).abs() < 1e-12);
        assert_eq!(peak(&tried[..1]), 1.0);
        assert_eq!(peak(&tried[2..]), tried[2].0);
    }

    #[test]
    fn what_rises_is_carried_on_and_what_falls_is_not() {
        let lessons = |smoothings: &[f64]| -> Vec<Lesson> {
            let n_rows = [1000.0, 4000.0, 16_000.0];
            n_rows.into_iter().zip(smoothings).map(|(n_rows, &smoothing)| Lesson { n_rows, smoothing }).collect()
        };
        assert_eq!(carried_on(&lessons(&[0.5]), 1000.0), 0.5);
        assert!((carried_on(&lessons(&[0.5, 0.9, 2.0]), 64_000.0) - 4.0).abs() < 1e-12);
        assert_eq!(carried_on(&lessons(&[0.5, 0.4]), 64_000.0), 0.4);
    }
}

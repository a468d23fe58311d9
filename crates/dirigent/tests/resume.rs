//! A run that breaks off and goes on ends as one that never did, to the last bit: every synchronous method, from every border of a cycle.

use std::collections::BTreeMap;

use dirigent::internals::checkpoint::RunState;
use dirigent::internals::engine::RunTotals;
use dirigent::internals::family::table_of_rows;
use dirigent::internals::io::synthetic::MixtureLaw;
use dirigent::internals::method::MethodSetup;
use dirigent::internals::method::av::AvOptions;
use dirigent::internals::method::cgs::{CgsOptions, Draws};
use dirigent::internals::method::chains::{self, ChainsOutcome};
use dirigent::internals::method::consolidated::{DistributedOptions, Engine};
use dirigent::internals::method::rounds::RoundsOptions;
use dirigent::internals::posterior::horizon::Cycles;
use dirigent::internals::protocol::CoordinatorOptions;
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::Shard;
use dirigent::{
    Consolidation, CycleInfo, DrawsFrom, Error, Interrupt, Joins, Model, ModelOptions, Observer, OwnedRow, Result,
    Schedule,
};

const WORKERS: u32 = 3;

/// All that a run tells, and where it can go on from.
#[derive(Default)]
struct Log {
    told: Told,
    wants_checkpoints: bool,
    /// Each with what had been told by then.
    checkpoints: Vec<(RunState, Told)>,
    goes_on_from: Option<RunState>,
    interrupt: Interrupt,
    /// Raises the flag once so many cycles have been told.
    interrupts_after: Option<usize>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Told {
    cycles: Vec<CycleInfo>,
    draws: Vec<Vec<u32>>,
}

impl Observer for Log {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.told.cycles.push(CycleInfo { seconds: 0.0, sweep_seconds: 0.0, coordinator_seconds: 0.0, ..info.clone() });
        if self.interrupts_after.is_some_and(|cycles| cycles <= self.told.cycles.len()) {
            self.interrupt.raise();
        }
        Ok(())
    }

    fn on_draw(&mut self, state: &[u32]) -> Result<()> {
        self.told.draws.push(state.to_vec());
        Ok(())
    }

    fn interrupt(&mut self) -> Interrupt {
        self.interrupt.clone()
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.wants_checkpoints
    }

    fn on_checkpoint(&mut self, saved: RunState) -> Result<()> {
        // as it would come back from a file
        let bytes = postcard::to_stdvec(&saved).unwrap();
        self.checkpoints.push((postcard::from_bytes(&bytes).unwrap(), self.told.clone()));
        Ok(())
    }

    fn has_begun(&mut self) -> bool {
        self.goes_on_from.as_ref().is_some_and(RunState::has_begun)
    }

    fn take_saved(&mut self) -> Option<RunState> {
        self.goes_on_from.take()
    }
}

/// A run that must be the same however often it broke off.
struct Case {
    name: String,
    rows: Shard,
    truth: Vec<u32>,
    model: Model,
    options: MethodSetup,
    n_chains: u16,
}

impl Case {
    fn run(&self, log: &mut Log) -> Result<ChainsOutcome> {
        chains::run(&self.rows, &self.model, &self.options, self.n_chains, Some(&self.truth), log)
    }

    fn go_on(&self, (saved, told): &(RunState, Told)) -> (ChainsOutcome, Told) {
        let mut log = Log { goes_on_from: Some(saved.clone()), told: told.clone(), ..Log::default() };
        let outcome = self.run(&mut log).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        (without_times(outcome), log.told)
    }

    /// Goes on from every `step`-th border, and from where it was interrupted.
    fn check(&self, step: usize) {
        let mut log = Log { wants_checkpoints: true, ..Log::default() };
        let whole = (without_times(self.run(&mut log).unwrap()), log.told);
        let mut undisturbed = Log::default();
        let quiet = (without_times(self.run(&mut undisturbed).unwrap()), undisturbed.told);
        assert!(quiet == whole, "{}: checkpoints change nothing", self.name);
        // at all borders but the last of each stage of each chain
        let n_stages = 2 * usize::from(self.n_chains);
        assert!(log.checkpoints.len() + n_stages >= whole.1.cycles.len(), "{}", self.name);
        for (ix, checkpoint) in log.checkpoints.iter().enumerate().step_by(step) {
            assert_same(&self.go_on(checkpoint), &whole, &format!("{}, checkpoint {ix}", self.name));
        }
        for cycles in (0..whole.1.cycles.len()).step_by(step) {
            let mut log = Log { interrupts_after: Some(cycles), ..Log::default() };
            if cycles == 0 {
                log.interrupt.raise();
            }
            match self.run(&mut log) {
                Err(Error::Interrupted) => {}
                // the flag was raised after the last sweep
                Ok(_) if cycles + 2 >= whole.1.cycles.len() => continue,
                other => {
                    panic!("{}: not interrupted after {cycles}: {:?}", self.name, other.map(|outcome| outcome.n_draws))
                }
            }
            let [checkpoint] = &log.checkpoints[..] else { panic!("{}: one checkpoint at the end", self.name) };
            assert_same(&self.go_on(checkpoint), &whole, &format!("{}, interrupted after {cycles}", self.name));
        }
    }
}

fn assert_same(went_on: &(ChainsOutcome, Told), whole: &(ChainsOutcome, Told), what: &str) {
    for (ix, (a, b)) in went_on.1.cycles.iter().zip(&whole.1.cycles).enumerate() {
        assert_eq!(a, b, "{what}: line {ix}");
    }
    assert_eq!(went_on.1.cycles.len(), whole.1.cycles.len(), "{what}");
    assert!(went_on.1.draws == whole.1.draws, "{what}: draws");
    assert!(went_on.0.best.state == whole.0.best.state, "{what}: state");
    assert_eq!(went_on.0.totals, whole.0.totals, "{what}: totals");
    assert!(went_on.0 == whole.0, "{what}: outcome");
}

fn without_times(mut outcome: ChainsOutcome) -> ChainsOutcome {
    if let Some(totals) = &mut outcome.totals {
        *totals = RunTotals { seconds: 0.0, coordinator_seconds: 0.0, ..totals.clone() };
        totals.workers.iter_mut().for_each(|worker| worker.seconds = 0.0);
    }
    outcome
}

/// Rows, their truth, and what is said of the model.
type Data = (&'static str, Shard, Vec<u32>, ModelOptions);

fn points(n_rows: usize) -> Data {
    let law = MixtureLaw { n_rows, n_clusters: 8, ..MixtureLaw::synthetic() };
    let (table, truth) = law.table().unwrap();
    let options = ModelOptions { sigma: Some(1.0), sigma0: Some(10.0), ..ModelOptions::default() };
    ("points", Shard::of_table(table), truth, options)
}

/// Documents of a dozen words, most of them from the ten words of their cluster.
fn documents(n_rows: usize) -> Data {
    let mut rng = Seed::new(8).stream(Role::Synthetic, 0, 0);
    let truth: Vec<u32> = (0..n_rows as u32).map(|row| row % 6).collect();
    let mut document = |cluster: &u32| {
        let mut counts = BTreeMap::new();
        for _ in 0..12 {
            let word = if rng.uniform() < 0.7 { 10 * *cluster as usize + rng.below(10) } else { rng.below(60) };
            *counts.entry(word as u32).or_insert(0) += 1;
        }
        OwnedRow::Counts(counts.into_iter().collect())
    };
    let rows: Vec<OwnedRow> = truth.iter().map(&mut document).collect();
    ("documents", Shard::of_table(table_of_rows(60, &rows)), truth, ModelOptions::default())
}

fn case(name: &str, (data, rows, truth, model): Data, options: impl Fn(ModelOptions) -> MethodSetup) -> Case {
    let options = options(model.clone());
    let model = Model::resolve(&model, &options.survey(&rows)).unwrap();
    Case { name: format!("{name} of {data}"), rows, truth, model, options, n_chains: 1 }
}

fn distributed(consolidation: Consolidation, splits: bool) -> impl Fn(ModelOptions) -> DistributedOptions {
    move |model| DistributedOptions {
        coordinator: CoordinatorOptions {
            n_workers: WORKERS,
            consolidation,
            splits,
            cycles: Cycles::Fixed(9),
            seed: 5,
            ..CoordinatorOptions::default()
        },
        model,
        draws: None,
        draws_from: DrawsFrom::Fast,
        engine: Engine::Threads(2),
        ..DistributedOptions::default()
    }
}

#[test]
fn every_consolidation_goes_on_as_if_nothing_had_happened() {
    for data in [points, documents] {
        for (name, consolidation, splits, joins) in [
            ("dirigent", Consolidation::Progressive, true, Joins::ById),
            ("dirigent, joins as births", Consolidation::Progressive, true, Joins::Births),
            ("prog", Consolidation::Progressive, false, Joins::ById),
            ("pooled", Consolidation::Pooled, false, Joins::ById),
            ("hung", Consolidation::Hungarian, false, Joins::Births),
        ] {
            let of = distributed(consolidation, splits);
            let with_joins = |model| {
                let mut options = of(model);
                options.coordinator.joins = joins;
                MethodSetup::Distributed(options)
            };
            case(name, data(600), with_joins).check(1);
        }
    }
}

fn cgs(draws: Option<Draws>) -> impl Fn(ModelOptions) -> MethodSetup {
    move |_| MethodSetup::Cgs(CgsOptions { cycles: Cycles::Auto { max: 30 }, seed: 5, draws, ..CgsOptions::default() })
}

fn rounds(draws: Option<Draws>, moves_per_cycle: u8) -> RoundsOptions {
    RoundsOptions {
        coordinator: CoordinatorOptions {
            n_workers: WORKERS,
            cycles: Cycles::Fixed(9),
            seed: 5,
            moves_per_cycle,
            ..CoordinatorOptions::default()
        },
        draws,
        engine: Engine::Threads(2),
        start: None,
        time_limit: None,
    }
}

fn slice(draws: Option<Draws>, moves_per_cycle: u8) -> impl Fn(ModelOptions) -> MethodSetup {
    move |_| MethodSetup::Slice(rounds(draws, moves_per_cycle))
}

#[test]
fn baselines_go_on_as_if_nothing_had_happened() {
    let draws = Some(Draws { n_draws: 3, thin: 2 });
    for data in [points, documents] {
        case("subc", data(300), |_| MethodSetup::Subc(rounds(draws, 0))).check(1);
        let started = |_| {
            let start = Some((0..300).map(|row| row % 4).collect());
            MethodSetup::Subc(RoundsOptions { start, ..rounds(None, 0) })
        };
        case("subc from labels", data(300), started).check(3);
        for merges in [false, true] {
            let av = |_| MethodSetup::Av(AvOptions { rounds: rounds(draws, 0), merges });
            case("av", data(300), av).check(1);
        }
        let started = |_| {
            let start = Some((0..300).map(|row| row % 4).collect());
            MethodSetup::Av(AvOptions { rounds: RoundsOptions { start, ..rounds(None, 0) }, merges: false })
        };
        case("av from labels", data(300), started).check(3);
    }
}

#[test]
fn exact_samplers_go_on_as_if_nothing_had_happened_and_so_do_their_draws() {
    let draws = Some(Draws { n_draws: 3, thin: 2 });
    for data in [points, documents] {
        case("cgs", data(300), cgs(draws)).check(2);
        case("slicemr", data(300), slice(draws, 0)).check(1);
        case("slicemr with splits and merges", data(300), slice(draws, 5)).check(1);
    }
}

#[test]
fn a_run_that_finds_its_own_end_ends_at_the_same_cycle() {
    let of = distributed(Consolidation::Progressive, true);
    let auto = |model| {
        let mut options = of(model);
        options.coordinator.cycles = Cycles::Auto { max: 60 };
        options.draws = Some(Draws { n_draws: 4, thin: 1 });
        MethodSetup::Distributed(options)
    };
    case("dirigent auto", points(400), auto).check(3);
}

#[test]
fn the_exact_finish_goes_on_in_either_of_its_stages() {
    let of = distributed(Consolidation::Progressive, true);
    let by_slices = |model| {
        let mut options = of(model);
        (options.draws, options.draws_from) = (Some(Draws { n_draws: 3, thin: 1 }), DrawsFrom::Exact);
        MethodSetup::Distributed(options)
    };
    case("exact draws", points(200), by_slices).check(17);
}

#[test]
fn a_run_that_began_with_cells_goes_on_as_if_nothing_had_happened() {
    let of = distributed(Consolidation::Progressive, true);
    let from_cells = |model| MethodSetup::Distributed(DistributedOptions { has_fine_start: Some(true), ..of(model) });
    case("points from cells", points(400), from_cells).check(3);
    case("documents from cells", documents(400), from_cells).check(3);
}

#[test]
fn several_chains_go_on_in_the_one_that_ran() {
    let of = distributed(Consolidation::Pooled, false);
    let chains = |model| {
        let mut options = of(model);
        options.coordinator.cycles = Cycles::Fixed(4);
        options.draws = Some(Draws { n_draws: 2, thin: 1 });
        MethodSetup::Distributed(options)
    };
    Case { n_chains: 3, ..case("three chains", points(300), chains) }.check(1);
}

#[test]
fn more_cycles_than_were_first_asked_for_are_as_if_asked_for_at_once() {
    let of = distributed(Consolidation::Progressive, true);
    let with_cycles = |cycles| {
        let options = |model| {
            let mut options = of(model);
            options.coordinator.cycles = Cycles::Fixed(cycles);
            MethodSetup::Distributed(options)
        };
        case("longer", points(400), options)
    };
    let mut log = Log { wants_checkpoints: true, ..Log::default() };
    with_cycles(5).run(&mut log).unwrap();
    let longer = with_cycles(9);
    let mut whole = Log::default();
    let outcome = without_times(longer.run(&mut whole).unwrap());
    // the last border is that of a run which has closed; before it nobody knew
    let (went_on, told) = longer.go_on(&log.checkpoints[3]);
    assert!(went_on == outcome);
    let unforeseen = |told: &Told| -> Vec<CycleInfo> {
        told.cycles.iter().map(|info| CycleInfo { ending: None, ..info.clone() }).collect()
    };
    assert_eq!(unforeseen(&told), unforeseen(&whole.told));
}

#[test]
fn an_asynchronous_run_goes_on_and_loses_no_row() {
    let of = distributed(Consolidation::Progressive, false);
    let asynchronous = |model| {
        let mut options = of(model);
        (options.coordinator.schedule, options.coordinator.cycles) = (Schedule::Async, Cycles::Fixed(12));
        MethodSetup::Distributed(options)
    };
    let case = case("async", points(600), asynchronous);
    let mut log = Log { wants_checkpoints: true, ..Log::default() };
    case.run(&mut log).unwrap();
    let mut checkpoints = log.checkpoints;
    let mut interrupted = Log { interrupts_after: Some(5), ..Log::default() };
    assert!(matches!(case.run(&mut interrupted), Err(Error::Interrupted)));
    checkpoints.append(&mut interrupted.checkpoints);
    assert!(checkpoints.len() > 5);
    for checkpoint in &checkpoints {
        let (outcome, told) = case.go_on(checkpoint);
        let cycles: Vec<u64> = told.cycles.iter().map(|info| info.cycle).collect();
        assert!(cycles.is_sorted_by(|a, b| a < b) && cycles.last() == Some(&12), "{cycles:?}");
        assert!(told.cycles.iter().skip(1).all(|info| info.n_rows == 600));
        assert_eq!(outcome.best.components.iter().map(|stats| stats.count).sum::<i64>(), 600);
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let of = distributed(Consolidation::Progressive, true);
    let of_points = case("dirigent", points(300), |model| MethodSetup::Distributed(of(model)));
    let mut log = Log { wants_checkpoints: true, ..Log::default() };
    of_points.run(&mut log).unwrap();
    let (saved, _) = &log.checkpoints[2];
    for other in [
        case("other rows", points(303), |model| MethodSetup::Distributed(of(model))),
        case("another method", points(300), cgs(None)),
        case("another method", points(300), slice(None, 0)),
    ] {
        let error = other.run(&mut Log { goes_on_from: Some(saved.clone()), ..Log::default() }).unwrap_err();
        assert!(matches!(error, Error::Input(_)), "{error}");
    }
}

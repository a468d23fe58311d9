//! Runs that go on from a checkpoint, elsewhere or with other workers.

use dirigent::internals::method::MethodSetup;
use dirigent::internals::method::cgs::Draws;
use dirigent::internals::method::consolidated::{DistributedOptions, Engine};
use dirigent::internals::metrics;
use dirigent::internals::rows::Shard;
use dirigent::internals::survey::Survey;
use dirigent::{DrawsFrom, Model, Schedule};

use super::transports::Loopback;
use super::{Log, ROWS, WORKERS, consolidated, fit, model, on_workers, remote, table};

#[test]
fn a_run_goes_on_from_a_checkpoint_on_another_engine_as_if_nothing_had_happened() {
    let method = |engine| consolidated(Schedule::Sync, true, None, engine);
    let there = || remote(Loopback::new(WORKERS, None), None);
    let expected = fit(&method(Engine::Threads(2)), &mut Log::default()).0;
    for (first, second) in [(there(), Engine::Threads(2)), (Engine::Threads(2), there()), (there(), there())] {
        let mut log = Log { keeps_after: Some(4), ..Log::default() };
        assert!(fit(&method(first), &mut log).0 == expected, "a checkpoint changes nothing");
        let mut log = Log { saved: log.kept, ..Log::default() };
        assert!(fit(&method(second), &mut log).0 == expected, "other labels");
        // those after the border
        assert_eq!(log.log_joints.len(), 12 - 4);
    }
}

#[test]
fn a_run_goes_on_with_another_number_of_workers() {
    for schedule in [Schedule::Sync, Schedule::Async] {
        let mut log = Log { keeps_after: Some(4), ..Log::default() };
        let expected = fit(&consolidated(schedule, true, None, Engine::Threads(2)), &mut log).0;
        for n_workers in [1, 3, 8] {
            let options = on_workers(n_workers, schedule, true, None, Engine::Threads(2));
            let mut again = Log { saved: log.kept.clone(), ..Log::default() };
            let (outcome, _) = fit(&options, &mut again);
            let what = format!("{schedule:?}, {n_workers} workers");
            assert_eq!((outcome.k, outcome.cycles, outcome.labels.len()), (expected.k, 12, ROWS), "{what}");
            // six clusters of equal size that no method could mistake; which of them comes first is by chance under an asynchronous schedule
            let agreement = metrics::compare(&outcome.labels, &expected.labels);
            assert!(agreement.ari == 1.0, "{what}: {agreement:?}");
            // it goes on where it was: no worker seats its rows anew
            let at_border = log.log_joints[3];
            assert!(again.log_joints.iter().all(|it| (it - at_border).abs() < 1e-2 * at_border.abs()), "{what}");
        }
    }
}

#[test]
fn a_run_that_keeps_states_goes_on_with_the_workers_it_had() {
    let draws = Some(Draws { n_draws: 3, thin: 2 });
    let rows = Shard::of_table(table());
    let model = Model::resolve(&model(), &Survey::of(&rows)).unwrap();
    let goes_on = |draws_from, keeps_after| {
        let options = |n_workers| match on_workers(n_workers, Schedule::Sync, false, draws, Engine::Threads(2)) {
            MethodSetup::Distributed(options) => MethodSetup::Distributed(DistributedOptions { draws_from, ..options }),
            _ => unreachable!("it is a method that consolidates"),
        };
        let mut log = Log { keeps_after: Some(keeps_after), ..Log::default() };
        fit(&options(WORKERS), &mut log);
        let mut again = Log { saved: log.kept, ..Log::default() };
        dirigent::internals::method::run(&rows, &model, &options(3), None, &mut again).map(|_| again.n_draws)
    };
    // the cycles before the exact sampler keep nothing
    assert_eq!(goes_on(DrawsFrom::Exact, 4).unwrap(), 3);
    for (draws_from, keeps_after) in [(DrawsFrom::Exact, 20), (DrawsFrom::Fast, 4)] {
        let error = goes_on(draws_from, keeps_after).unwrap_err();
        assert!(error.to_string().ends_with("goes on with the workers it had: 3 are not 5"), "{error}");
        assert_eq!(error.hint(), Some("resume it with 5 workers"));
    }
}

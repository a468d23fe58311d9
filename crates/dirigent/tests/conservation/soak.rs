//! A long life: many workers at their own pace who crash, come back, join and now and then send noise, the conservation law checked after every event.

use super::*;

/// Everything random is drawn from the seed; worker 0 lives.
fn stormy(n_workers: u32, n_cycles: u64, rng: &mut Stream) -> Simulation {
    let anybody = |rng: &mut Stream| 1 + rng.below(n_workers as usize - 1) as ShardId;
    let n_crashes = (n_cycles / 4) as usize;
    let crashes = (0..n_crashes).map(|number| Crash {
        worker: anybody(rng),
        cycle: 1 + 4 * number as u64,
        back_after: Some(1 + rng.below(5) as u64),
    });
    let crashes = crashes.collect();
    let garbage = (0..n_crashes / 8).map(|number| Garbage {
        worker: anybody(rng),
        cycle: 3 + 32 * number as u64,
        back_after: Some(1 + rng.below(5) as u64),
    });
    let garbage = garbage.collect();
    let n_joins = (n_workers / 10).max(1);
    let joins =
        (0..n_joins).map(|number| (1 + u64::from(number) * n_cycles / u64::from(2 * n_joins), n_workers + number));
    Simulation {
        crashes,
        garbage,
        joins: joins.collect(),
        stragglers: (0..n_workers / 20).map(|number| (number * 20, 1.0 + 9.0 * rng.uniform())).collect(),
        reorder: 0.1,
        loss: 0.02,
        duplicate: 0.02,
        retry: 0.01,
        cost: Cost::PerRow { worker: 1e-5, coordinator: 1e-6 },
        checkpoints: Checkpoints::EveryEvents(8),
        seed: rng.bits(),
        ..Simulation::default()
    }
}

#[expect(clippy::print_stderr, reason = "how far a long life has come is read by people")]
fn live(n_workers: u32, n_cycles: u64) {
    let mut rng = Seed::new(5).stream(Role::Observer, 0, 0);
    let simulation = stormy(n_workers, n_cycles, &mut rng);
    let options = CoordinatorOptions {
        n_workers,
        schedule: Schedule::Async,
        cycles: Cycles::Fixed(n_cycles),
        seed: 5,
        kernel: Some(Kernel::Portable),
        ..CoordinatorOptions::default()
    };
    let shards: Vec<Shard> = (0..n_workers as usize + simulation.joins.len()).map(|_| shard(false, &mut rng)).collect();
    let n_rows = shards.iter().map(|shard| shard.n_rows() as i64).sum::<i64>();
    let model = ModelOptions { sigma: Some(1.0), sigma0: Some(4.0), ..ModelOptions::default() };
    let mut nodes = Nodes::new(shards, &options, &model);
    let workers = (0..n_workers).map(|shard_id| nodes.worker(shard_id, None).unwrap()).collect();
    let (mut coordinator, mut counted) =
        (ConsolidatedCoordinator::new(options, nodes.model.clone()), Counting::default());
    let (mut witness, mut n_events) = (Witness::default(), 0u64);
    let totals = run_watched(&mut coordinator, workers, &simulation, &mut nodes, &mut counted, &mut |moment| {
        n_events += 1;
        let verdict = witness.check_changes(moment.coordinator, moment.workers);
        assert_eq!(verdict, Ok(()), "event {n_events} at {}", moment.at);
        if n_events.is_multiple_of(100_000) {
            eprintln!("{n_events} events in {} simulated seconds", moment.at);
        }
    });
    let totals = totals.unwrap();
    let n_restarts: u64 = totals.workers.iter().map(|worker| worker.restarts).sum();
    let (n_crashes, n_garbage) = (simulation.crashes.len() as u64, simulation.garbage.len());
    // a crash that is due again before its worker has come back may come too late
    assert!(n_restarts > n_crashes / 2 && n_events > n_cycles * u64::from(n_workers), "{n_restarts}, {n_events}");
    assert!(2 * counted.notices.len() >= n_garbage, "{} of {n_garbage} were expelled", counted.notices.len());
    let in_pool: i64 = coordinator.pool().live().map(|(_, total)| total.stats.count).sum();
    // nobody can be away at the end but who crashed in the last cycles
    assert!(in_pool <= n_rows && in_pool >= n_rows * 9 / 10, "{in_pool} of {n_rows} rows");
}

#[test]
fn many_workers_come_and_go_and_no_row_is_lost() {
    live(20, 60);
}

/// `SOAK_WORKERS` and `SOAK_CYCLES` make it shorter or longer.
#[test]
#[ignore = "two million pushes, each checked"]
fn two_hundred_workers_come_and_go_for_ten_thousand_cycles_and_no_row_is_lost() {
    let number = |name: &str, usual: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    live(number("SOAK_WORKERS", 200) as u32, number("SOAK_CYCLES", 10_000));
}

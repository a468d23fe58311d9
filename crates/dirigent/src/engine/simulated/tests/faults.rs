//! Crashes, returns, joins.

use super::*;

#[test]
fn a_crashed_worker_is_lost_and_comes_back_from_its_checkpoint() {
    let crash = Crash { worker: 1, cycle: 4, back_after: Some(2) };
    let simulation = Simulation { crashes: vec![crash], ..slow_network() };
    let (coordinator, notes, totals, respawn) = run_toys(ToyCoordinator::new(3, 12), &simulation);
    assert_eq!(coordinator.lost, [1]);
    let members: Vec<usize> = notes.infos.iter().map(|info| info.k).collect();
    assert_eq!(members[..6], [3, 3, 3, 3, 2, 2]);
    assert_eq!(*members.last().unwrap(), 3);
    // its last checkpoint is of the report before the crash
    let [(1, Some(restored))] = &respawn.workers[..] else { panic!("{respawn:?}") };
    assert_eq!(restored.cycle, 3);
    assert_eq!(totals.workers.iter().map(|worker| worker.restarts).collect::<Vec<_>>(), [0, 1, 0]);
}

#[test]
fn who_dies_while_computing_says_nothing_and_frees_its_core() {
    let cost = Cost::PerRow { worker: 1.0, coordinator: 0.0 };
    let crashes = vec![Crash { worker: 1, cycle: 1, back_after: None }];
    let network = Simulation { latency: 0.5, bandwidth: f64::INFINITY, cost, ..Simulation::default() };
    let workers = || [0, 100, 2].map(|swept_rows| answering(vec![1], vec![], swept_rows)).into();
    let calm = Simulation { cores: Some(1), ..network };
    assert_eq!(arrivals(clock(3, |_| {}), workers(), &calm), [(0, 0.5), (1, 100.5), (2, 102.5)]);
    // worker 1 dies at 0.5, and worker 2 has the core for 2 s
    let (mut coordinator, mut notes) = (clock(2, |_| {}), Notes::default());
    let crash = Simulation { crashes, ..calm };
    let totals = run(&mut coordinator, workers(), &crash, &mut NoRespawn, &mut notes).unwrap();
    let times: Vec<_> = notes.infos.iter().map(|info| (info.k, info.virtual_seconds.unwrap())).collect();
    assert_eq!(times, [(0, 0.5), (2, 3.0)]);
    assert_eq!((totals.virtual_seconds, totals.workers[1].seconds), (Some(3.0), 0.0));
}

#[test]
fn checkpoints_can_be_taken_after_every_few_events() {
    let crash = Crash { worker: 0, cycle: 5, back_after: Some(1) };
    let checkpoints = Checkpoints::EveryEvents(4);
    let simulation = Simulation { crashes: vec![crash], checkpoints, ..slow_network() };
    let (_, _, _, respawn) = run_toys(ToyCoordinator::new(2, 9), &simulation);
    // start and 3 cycles are 4 events
    let [(0, Some(restored))] = &respawn.workers[..] else { panic!("{respawn:?}") };
    assert_eq!(restored.cycle, 3);
}

#[test]
fn a_worker_that_never_comes_back_is_not_waited_for() {
    let crash = Crash { worker: 2, cycle: 1, back_after: None };
    let simulation = Simulation { crashes: vec![crash], loss: 0.3, ..slow_network() };
    let (coordinator, notes, ..) = run_toys(ToyCoordinator::new(3, 6), &simulation);
    assert_eq!((coordinator.lost, notes.infos.len(), notes.infos[5].k), (vec![2], 6, 2));
}

#[test]
fn a_worker_joins() {
    let simulation = Simulation { joins: vec![(3, 2)], ..slow_network() };
    let (_, notes, totals, respawn) = run_toys(ToyCoordinator::new(2, 8), &simulation);
    assert_eq!(respawn.workers, [(2, None)]);
    assert_eq!((notes.infos[2].k, notes.infos[7].k), (2, 3));
    assert!(totals.workers[2].swept_rows > 0 && totals.workers[2].restarts == 0);
}

#[test]
fn a_crashed_coordinator_is_made_again_and_told_who_is_dead() {
    let crashes = vec![Crash { worker: 0, cycle: 2, back_after: None }];
    let simulation = Simulation { crashes, coordinator_crash: Some(4), ..slow_network() };
    let (coordinator, notes, _, respawn) = run_toys(ToyCoordinator::new(3, 9), &simulation);
    assert_eq!((respawn.n_coordinators, coordinator.lost), (1, vec![0]));
    assert_eq!(notes.infos.last().map(|info| (info.cycle, info.k)), Some((9, 2)));
}

#[test]
fn everything_at_once_ends_and_replays() {
    let play = |seed| {
        let crashes = (0..4).map(|w| Crash { worker: w, cycle: 3 + 4 * u64::from(w), back_after: Some(u64::from(w)) });
        let joins = vec![(5, 4), (9, 5)];
        let cluster =
            Simulation { crashes: crashes.collect(), joins, coordinator_crash: Some(12), ..rough_network(seed) };
        let (coordinator, notes, totals, respawn) = run_toys(ToyCoordinator::new(4, 25), &cluster);
        let restarts: u64 = totals.workers.iter().map(|worker| worker.restarts).sum();
        assert_eq!((respawn.workers.len(), restarts, respawn.n_coordinators), (6, 4, 1));
        (coordinator.total, notes.timeless())
    };
    for seed in 0..20 {
        assert_eq!(play(seed), play(seed));
    }
}

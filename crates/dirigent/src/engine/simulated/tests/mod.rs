mod faults;

use std::sync::{Arc, Mutex};

use super::*;
use crate::engine::threads;
use crate::engine::toys::{Notes, ToyCoordinator, ToyRespawn, ToyWorker, blank, scripted, toy_workers};
use crate::error::InputError;
use crate::protocol::{Address, CycleReport, Event, Frame};

const FREE: Cost = Cost::PerRow { worker: 0.0, coordinator: 0.0 };

/// 0.5 s, 100 bytes a second, and nothing to pay for computing.
fn slow_network() -> Simulation {
    Simulation { latency: 0.5, bandwidth: 100.0, cost: FREE, ..Simulation::default() }
}

fn rough_network(seed: u64) -> Simulation {
    let cost = Cost::PerRow { worker: 1e-3, coordinator: 1e-3 };
    let faults = Simulation { reorder: 0.3, loss: 0.2, duplicate: 0.2, retry: 0.02, ..Simulation::default() };
    Simulation { seed, latency: 1e-3, bandwidth: 1e5, cost, ..faults }
}

/// Runs toys and gives the coordinator, the notes and the totals.
fn run_toys(coordinator: ToyCoordinator, simulation: &Simulation) -> (ToyCoordinator, Notes, RunTotals, ToyRespawn) {
    let (mut coordinator, mut notes) = (coordinator, Notes::default());
    let (n_workers, n_cycles) = (coordinator.n_workers, coordinator.n_cycles);
    let mut respawn = ToyRespawn::new(n_cycles);
    let workers = toy_workers(n_workers);
    let totals = run(&mut coordinator, workers, simulation, &mut respawn, &mut notes).unwrap();
    (coordinator, notes, totals, respawn)
}

/// A coordinator that reports each frame it gets, and is done after this many; the report's time is
/// that of the arrival.
fn clock(n_frames: u64, at_start: impl Fn(&mut crate::protocol::Outbox) + Send + 'static) -> Box<dyn Node> {
    let mut n_seen = 0;
    scripted(move |event, out| {
        match event {
            Event::Frame { from: Address::Worker(shard), .. } => {
                n_seen += 1;
                let k = shard as usize;
                out.reports.push(CycleReport { cycle: n_seen, k, ..CycleReport::default() });
            }
            _ => at_start(out),
        }
        out.is_done = n_seen >= n_frames;
        Ok(())
    })
}

/// A worker that answers with frames of these lengths: to the start, and to every frame.
fn answering(to_start: Vec<usize>, to_frame: Vec<usize>, swept_rows: u64) -> Box<dyn Node> {
    scripted(move |event, out| {
        let lengths = if let Event::Frame { .. } = event { &to_frame } else { &to_start };
        lengths.iter().for_each(|n| out.send(Address::Coordinator, blank(*n)));
        out.swept_rows = swept_rows;
        out.is_done = true;
        Ok(())
    })
}

/// From whom and when frames arrived.
fn arrivals(coordinator: Box<dyn Node>, workers: Vec<Box<dyn Node>>, simulation: &Simulation) -> Vec<(usize, f64)> {
    let (mut coordinator, mut notes) = (coordinator, Notes::default());
    run(&mut coordinator, workers, simulation, &mut NoRespawn, &mut notes).unwrap();
    notes.infos.iter().map(|info| (info.k, info.virtual_seconds.unwrap())).collect()
}

#[test]
fn a_round_trip_takes_what_the_hand_computes() {
    // out: 100 bytes, 1 s + 0.5 s; back: 200 bytes, 2 s + 0.5 s
    let coordinator = clock(1, |out| out.send(Address::Worker(0), blank(100)));
    let there_and_back = arrivals(coordinator, vec![answering(vec![], vec![200], 0)], &slow_network());
    assert_eq!(there_and_back, [(0, 4.0)]);
}

#[test]
fn the_coordinators_link_is_shared_in_both_directions() {
    // pushes of 3 workers start at once, 1 s each: the heads are there at 0.5, the tails one after
    // the other
    let push = || answering(vec![100], vec![], 0);
    assert_eq!(
        arrivals(clock(3, |_| {}), vec![push(), push(), push()], &slow_network()),
        [(0, 1.5), (1, 2.5), (2, 3.5)]
    );
    // snapshots leave one after the other: the heads at 0.5, 1.5, 2.5, the tails 1 s later; answers
    // of 0 bytes 0.5 s later still
    let snapshots = clock(3, |out| (0..3).for_each(|shard| out.send(Address::Worker(shard), blank(100))));
    let answer = || answering(vec![], vec![0], 0);
    assert_eq!(
        arrivals(snapshots, vec![answer(), answer(), answer()], &slow_network()),
        [(0, 2.0), (1, 3.0), (2, 4.0)]
    );
}

#[test]
fn a_shared_part_travels_and_counts_for_every_receiver() {
    let shared: Arc<[u8]> = vec![0; 90].into();
    let coordinator = clock(2, move |out| {
        for shard in 0..2 {
            let frame = Frame { own: vec![0; 10].into(), shared: Some(Arc::clone(&shared)) };
            out.send(Address::Worker(shard), frame);
        }
    });
    let (mut coordinator, mut notes) = (coordinator, Notes::default());
    let workers = vec![answering(vec![], vec![0], 0), answering(vec![], vec![0], 0)];
    let totals = run(&mut coordinator, workers, &slow_network(), &mut NoRespawn, &mut notes).unwrap();
    assert_eq!((totals.bytes, totals.messages, totals.virtual_seconds), (200, 4, Some(3.0)));
    assert_eq!((totals.workers[0].bytes, totals.workers[1].bytes), (100, 100));
}

#[test]
fn frames_to_the_driver_take_no_time_and_count_apart() {
    let worker = scripted(|_, out| {
        out.send(Address::Driver, blank(1_000_000));
        out.send(Address::Coordinator, blank(0));
        out.is_done = true;
        Ok(())
    });
    let (mut coordinator, mut notes) = (clock(1, |_| {}), Notes::default());
    let totals = run(&mut coordinator, vec![worker], &slow_network(), &mut NoRespawn, &mut notes).unwrap();
    assert_eq!((totals.observed_bytes, totals.bytes, totals.messages), (1_000_000, 0, 1));
    assert_eq!((totals.virtual_seconds, notes.infos[0].observed_bytes), (Some(0.5), 1_000_000));
    assert_eq!(notes.frames.len(), 1);
}

#[test]
fn stragglers_take_longer_and_cores_are_shared() {
    let cost = Cost::PerRow { worker: 0.1, coordinator: 0.0 };
    let network = Simulation { latency: 0.0, bandwidth: f64::INFINITY, cost, ..Simulation::default() };
    let sweeping = || (0..3).map(|_| answering(vec![1], vec![], 10)).collect::<Vec<_>>();
    let straggler = Simulation { stragglers: vec![(0, 5.0)], ..network.clone() };
    assert_eq!(arrivals(clock(3, |_| {}), sweeping(), &straggler), [(1, 1.0), (2, 1.0), (0, 5.0)]);
    let two_cores = Simulation { cores: Some(2), ..network.clone() };
    assert_eq!(arrivals(clock(3, |_| {}), sweeping(), &two_cores), [(0, 1.0), (1, 1.0), (2, 2.0)]);
    let (mut coordinator, mut notes) = (clock(3, |_| {}), Notes::default());
    let totals = run(&mut coordinator, sweeping(), &straggler, &mut NoRespawn, &mut notes).unwrap();
    assert_eq!(totals.workers.iter().map(|worker| worker.seconds).collect::<Vec<_>>(), [5.0, 1.0, 1.0]);
    assert_eq!(notes.infos.iter().map(|info| info.sweep_seconds).collect::<Vec<_>>(), [1.0, 0.0, 5.0]);
}

#[test]
fn the_coordinator_handles_one_event_after_the_other() {
    let cost = Cost::PerRow { worker: 0.0, coordinator: 1.0 };
    let network = Simulation { latency: 0.25, bandwidth: f64::INFINITY, cost, ..Simulation::default() };
    let push = || answering(vec![1], vec![], 0);
    // the start takes until 1.0; both frames have come by then; no idle step, for something waits,
    // until the last
    let (mut coordinator, mut notes) = (clock(2, |_| {}), Notes::default());
    let totals = run(&mut coordinator, vec![push(), push()], &network, &mut NoRespawn, &mut notes).unwrap();
    let times: Vec<_> = notes.infos.iter().map(|info| info.virtual_seconds.unwrap()).collect();
    assert_eq!((times, totals.coordinator_seconds), (vec![2.0, 3.0], 3.0));
    assert_eq!(notes.infos[1].coordinator_seconds, 1.0);
}

#[test]
fn measured_cost_runs_on_the_processor_time_of_the_events() {
    let (_, notes, totals, _) = run_toys(ToyCoordinator::new(3, 5), &Simulation::default());
    // 5 cycles of 2 latencies and the greetings
    assert!(totals.virtual_seconds.unwrap() > 2e-3, "{totals:?}");
    assert!(notes.infos.iter().all(|info| info.sweep_seconds >= 0.0), "{notes:?}");
}

#[test]
fn in_step_the_simulation_tells_the_nodes_what_threads_tell_them() {
    let (simulated, notes, totals, _) = run_toys(ToyCoordinator::new(6, 12), &slow_network());
    let (mut coordinator, mut threaded) = (ToyCoordinator::new(6, 12), Notes::default());
    let workers = toy_workers(6).into_iter().map(|worker| Box::new(worker) as Box<dyn Node>).collect();
    let other = threads::run(&mut coordinator, workers, 2, &mut threaded).unwrap();
    assert_eq!(simulated.total, coordinator.total);
    assert_eq!((totals.bytes, totals.messages), (other.bytes, other.messages));
    let messages = |notes: &Notes| notes.infos.iter().map(|info| info.messages).collect::<Vec<_>>();
    assert_eq!(messages(&notes), messages(&threaded));
    assert_eq!(notes.frames_by_report, threaded.frames_by_report);
}

#[test]
fn a_rough_network_changes_nothing_in_step() {
    let (smooth, ..) = run_toys(ToyCoordinator::new(6, 30), &slow_network());
    let (rough, _, totals, _) = run_toys(ToyCoordinator::new(6, 30), &rough_network(3));
    assert_eq!(rough.total, smooth.total);
    assert!(totals.resent > 50 && totals.doubled > 50, "{totals:?}");
}

#[test]
fn the_same_seed_replays_and_another_does_not() {
    let play = |seed| {
        let coordinator = ToyCoordinator::out_of_step(5, 30);
        let (coordinator, notes, totals, _) = run_toys(coordinator, &rough_network(seed));
        assert!(coordinator.n_idle > 0 && coordinator.n_idle <= coordinator.n_frames, "{coordinator:?}");
        (coordinator.total, coordinator.n_idle, notes.timeless(), RunTotals { seconds: 0.0, ..totals })
    };
    let (first, again, other) = (play(1), play(1), play(2));
    assert_eq!(first, again);
    assert_ne!(first.0, other.0, "the order of arrival");
    assert_ne!(first.2, other.2);
}

#[test]
fn loss_gets_through_in_the_end_and_doubles_arrive() {
    let n_frames = 50;
    let push = || answering(vec![1; n_frames], vec![], 0);
    let lossy = Simulation { loss: 0.5, retry: 1.0, ..slow_network() };
    assert_eq!(arrivals(clock(n_frames as u64, |_| {}), vec![push()], &lossy).len(), n_frames);
    let doubling = Simulation { duplicate: 1.0, ..slow_network() };
    assert_eq!(arrivals(clock(2 * n_frames as u64, |_| {}), vec![push()], &doubling).len(), 2 * n_frames);
}

/// The lengths of the frames of one worker in the order of their arrival.
fn order_of_arrival(simulation: &Simulation) -> Vec<usize> {
    let n_frames = 40;
    let log: Arc<Mutex<Vec<usize>>> = Arc::default();
    let heard = Arc::clone(&log);
    let mut coordinator = scripted(move |event, out| {
        if let Event::Frame { frame, .. } = event {
            heard.lock().unwrap().push(frame.own.len());
            out.is_done = heard.lock().unwrap().len() == n_frames;
        }
        Ok(())
    });
    let workers = vec![answering((0..n_frames).collect(), vec![], 0)];
    run(&mut coordinator, workers, simulation, &mut NoRespawn, &mut Notes::default()).unwrap();
    log.lock().unwrap().clone()
}

#[test]
fn a_link_keeps_its_order_unless_frames_are_held_up() {
    let in_order: Vec<usize> = (0..40).collect();
    assert_eq!(order_of_arrival(&slow_network()), in_order);
    let shuffled = order_of_arrival(&Simulation { reorder: 0.5, bandwidth: 1e6, ..slow_network() });
    assert_ne!(shuffled, in_order);
    let sorted = shuffled.iter().copied().collect::<std::collections::BTreeSet<_>>();
    assert!(sorted.into_iter().eq(in_order), "{shuffled:?}");
}

#[test]
fn the_watcher_sees_every_event_and_nothing_in_flight_at_the_end() {
    let (mut coordinator, mut notes) = (ToyCoordinator::new(3, 4), Notes::default());
    let mut seen: Vec<(f64, u64, usize, usize)> = Vec::new();
    let mut watch = |moment: &Moment<'_, ToyCoordinator, ToyWorker>| {
        let n_there = moment.workers.iter().flatten().count();
        seen.push((moment.at, moment.coordinator.cycle, n_there, moment.in_flight));
    };
    run_watched(&mut coordinator, toy_workers(3), &slow_network(), &mut NoRespawn, &mut notes, &mut watch).unwrap();
    // starts; hellos and pushes; goes and finishes; idle steps
    assert_eq!(seen.len(), 4 + 3 + 12 + 12 + 3 + coordinator.n_idle);
    assert!(seen.iter().all(|(_, _, n_there, _)| *n_there == 3));
    assert!(seen.is_sorted_by(|a, b| a.0 <= b.0));
    let (_, cycle, _, in_flight) = *seen.last().unwrap();
    assert_eq!((cycle, in_flight), (5, 0));
    assert!(seen.iter().any(|(.., in_flight)| *in_flight == 3));
}

#[test]
fn boxed_nodes_run_too() {
    let mut coordinator: Box<dyn Node> = Box::new(ToyCoordinator::new(2, 3));
    let workers = toy_workers(2).into_iter().map(|worker| Box::new(worker) as Box<dyn Node>).collect();
    let mut notes = Notes { stop_after: Some(1), ..Notes::default() };
    let respawn: &mut dyn Respawn = &mut NoRespawn;
    run(&mut coordinator, workers, &slow_network(), respawn, &mut notes).unwrap();
    assert_eq!(notes.infos.len(), 2, "it was asked to stop after the first");
}

#[test]
fn errors_panics_and_deadlocks_name_the_node() {
    let complaint = |worker: Box<dyn Node>| {
        let mut coordinator: Box<dyn Node> = Box::new(ToyCoordinator::new(1, 3));
        let result = run(&mut coordinator, vec![worker], &slow_network(), &mut NoRespawn, &mut Notes::default());
        result.unwrap_err().to_string()
    };
    let error = complaint(scripted(|_, _| Err(InputError::new("no rows").into())));
    assert_eq!(error, "no rows (worker 0)");
    assert_eq!(complaint(scripted(|_, _| panic!("oh"))), "worker 0: panicked: oh");
    let error = complaint(scripted(|_, _| Ok(())));
    assert!(error.contains("the coordinator (last of 1 events: start); worker 0 (last of 1"), "{error}");
}

//! An engine of one's own: one thread, one queue.

use std::collections::VecDeque;

use dirigent::method::cgs::Observer;
use dirigent::method::distributed::{self, DistributedOptions, DrawsFrom, Engine};
use dirigent::model::{Alpha, ModelOptions};
use dirigent::node::{
    Address, Consolidation, Coordinator, CoordinatorOptions, CycleReport, Event, Node, Outbox, Schedule, Worker,
};
use dirigent::posterior::horizon::Cycles;
use dirigent::rng::{Role, Seed};
use dirigent::rows::{Shard, Table, worker_rows};
use dirigent::sweep::Kernel;
use dirigent::trace::CycleInfo;
use dirigent::{Error, Result};

// begin: engine
/// Runs the nodes to their end, event by event, and returns what the coordinator reported. A frame is only carried: what is in it is the nodes' business.
fn run(coordinator: &mut dyn Node, workers: &mut [Box<dyn Node>]) -> Result<Vec<CycleReport>> {
    let everybody = (0..workers.len()).map(|shard| Address::Worker(shard as u32)).chain([Address::Coordinator]);
    let mut events: VecDeque<(Address, Event)> = everybody.map(|node| (node, Event::Start)).collect();
    let (mut n_running, mut reports) = (workers.len() + 1, Vec::new());
    while let Some((to, event)) = events.pop_front() {
        let mut out = Outbox::default();
        match to {
            Address::Coordinator => coordinator.on(event, &mut out)?,
            Address::Worker(shard) => workers[shard as usize].on(event, &mut out)?,
            // labels and samples, to look at: nobody does here
            Address::Driver => {}
        }
        n_running -= usize::from(out.is_done);
        reports.extend(out.reports);
        events.extend(out.frames.into_iter().map(|(receiver, frame)| (receiver, Event::Frame { from: to, frame })));
        if to == Address::Coordinator && events.is_empty() {
            let mut out = Outbox::default();
            coordinator.idle(&mut out)?;
            events.extend(out.frames.into_iter().map(|(receiver, frame)| (receiver, Event::Frame { from: to, frame })));
        }
    }
    if n_running > 0 {
        let problem = format!("nothing is under way, and {n_running} nodes are not done");
        return Err(Error::Io { doing: "the run".to_owned(), source: std::io::Error::other(problem) });
    }
    Ok(reports)
}
// end: engine

/// Twelve heaps in the plane, for four workers.
fn shards() -> Vec<Shard> {
    let mut rng = Seed::new(4).stream(Role::Synthetic, 0, 0);
    let centres: Vec<f64> = (0..24).map(|_| 10.0 * rng.normal()).collect();
    let cells = (0..1200).flat_map(|row| [centres[row % 12], centres[12 + row % 12]]).map(|c| c + rng.normal());
    let rows = Shard::of_table(Table::from_f64(2, cells.collect()));
    (0..4).map(|worker| rows.part(worker_rows(worker, 4, rows.n_rows()))).collect()
}

fn options() -> CoordinatorOptions {
    CoordinatorOptions {
        n_workers: 4,
        model: ModelOptions { noise_sd: Some(1.0), mean_sd: Some(10.0), ..ModelOptions::default() },
        alpha: Alpha::Auto,
        consolidation: Consolidation::Progressive,
        splits: true,
        schedule: Schedule::Sync,
        cycles: Cycles::Fixed(15),
        n_kept: 0,
        seed: 3,
        chain: 0,
        sweeps_per_cycle: 1,
        shows_labels: false,
        kernel: Some(Kernel::best()),
        has_start: false,
    }
}

struct Lines(Vec<(u64, f64, usize)>);

impl Observer for Lines {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.0.push((info.cycle, info.log_joint, info.k));
        Ok(())
    }

    fn on_draw(&mut self, _state: &[u32]) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_queue_gives_the_same_run_as_threads_bit_for_bit() {
    let shards = shards();
    let mut coordinator = Coordinator::new(options());
    let worker =
        |(id, shard): (u32, &Shard)| -> Box<dyn Node> { Box::new(Worker::new(id, shard.clone(), Kernel::best())) };
    let mut workers: Vec<Box<dyn Node>> = (0..).zip(&shards).map(worker).collect();
    let reports = run(&mut coordinator, &mut workers).expect("the run ends");
    let queue: Vec<_> = reports.iter().map(|report| (report.cycle, report.log_joint, report.k)).collect();

    let options = DistributedOptions {
        coordinator: options(),
        draws: None,
        draws_from: DrawsFrom::Fast,
        engine: Engine::Threads(2),
        start: None,
        time_limit: None,
    };
    let mut threads = Lines(Vec::new());
    distributed::run(&shards, &options, None, &mut threads).expect("the run ends");
    assert_eq!(queue.len(), 15);
    assert_eq!(queue, threads.0);
    assert!(queue.last().is_some_and(|(_, _, k)| *k >= 10), "{queue:?}");
}

//! An engine of one's own: one thread and one queue; and a transport, which is all that an engine of other machines needs.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dirigent::internals::engine::remote::{Delivery, Host, Remote, RowSource};
use dirigent::internals::method::consolidated::{self, DistributedOptions, Engine};
use dirigent::internals::method::consolidated::{ConsolidatedCoordinator, ConsolidatedWorker};
use dirigent::internals::posterior::horizon::Cycles;
use dirigent::internals::protocol::CoordinatorOptions;
use dirigent::internals::protocol::{Address, CycleReport, Event, Node, Outbox};
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::{Shard, Table, worker_rows};
use dirigent::internals::survey::Survey;
use dirigent::{CycleInfo, Error, Kernel, Model, ModelOptions, Observer, Result, Transport};

// begin: engine
/// Runs the nodes to their end, event by event, and returns what the coordinator reported. A frame is only carried: what is in it is the nodes' business.
fn run(coordinator: &mut dyn Node, workers: &mut [Box<dyn Node>]) -> Result<Vec<CycleReport>> {
    let everybody = (0..workers.len()).map(|shard| Address::Worker(shard as u32)).chain([Address::Coordinator]);
    let mut events: VecDeque<(Address, Event)> = everybody.map(|node| (node, Event::Start)).collect();
    let (mut n_running, mut reports, mut may_idle) = (workers.len() + 1, Vec::new(), false);
    loop {
        let mut out = Outbox::default();
        let from = match events.pop_front() {
            Some((Address::Coordinator, event)) => {
                may_idle = true;
                coordinator.on(event, &mut out)?;
                Address::Coordinator
            }
            Some((Address::Worker(shard), event)) => {
                workers[shard as usize].on(event, &mut out)?;
                Address::Worker(shard)
            }
            // labels and samples, to look at: nobody does here
            Some((Address::Driver, _)) => continue,
            // it may have left answers for when nothing waits
            None if may_idle => {
                may_idle = coordinator.idle(&mut out)?;
                Address::Coordinator
            }
            None => break,
        };
        n_running -= usize::from(out.is_done);
        reports.extend(out.reports);
        events.extend(out.frames.into_iter().map(|(to, frame)| (to, Event::Frame { from, frame })));
    }
    if n_running > 0 {
        let problem = format!("nothing is under way, and {n_running} nodes are not done");
        return Err(Error::Io { doing: "the run".to_owned(), source: io::Error::other(problem) });
    }
    Ok(reports)
}
// end: engine

// begin: transport
/// What is sent to a host: a request, and the part of it that all hosts get.
type Sent = (Vec<u8>, Option<Arc<[u8]>>);

/// A thread for each worker's host and channels between them, where a cluster has machines and sockets.
struct Channels {
    requests: Vec<Sender<Sent>>,
    answers: Receiver<Delivery>,
}

impl Channels {
    fn new(n_workers: u32) -> Self {
        let (answer, answers) = channel();
        let host = |worker| {
            let (request, requests) = channel::<Sent>();
            let answer = answer.clone();
            thread::spawn(move || {
                let host = Host::new(format!("thread {worker}"));
                for (request, shared) in requests {
                    let answered = host.handle(&request, shared.as_deref());
                    // nobody listens once the run has ended
                    let _ = answer.send(Delivery::Answer(worker, answered));
                }
            });
            request
        };
        Self { requests: (0..n_workers).map(host).collect(), answers }
    }
}

impl Transport for Channels {
    fn post(&mut self, worker: u32, request: Vec<u8>, shared: Option<&Arc<[u8]>>) -> Result<()> {
        self.requests[worker as usize].send((request, shared.cloned())).map_err(|_| Error::Io {
            doing: format!("cannot reach worker {worker}"),
            source: io::Error::other("its thread has ended"),
        })
    }

    fn receive(&mut self, wait: Duration) -> Result<Vec<Delivery>> {
        Ok(self.answers.recv_timeout(wait).into_iter().chain(self.answers.try_iter()).collect())
    }
}
// end: transport

/// Twelve heaps in the plane, for four workers.
fn shards() -> Vec<Shard> {
    let mut rng = Seed::new(4).stream(Role::Synthetic, 0, 0);
    let centres: Vec<f64> = (0..24).map(|_| 10.0 * rng.normal()).collect();
    let cells = (0..1200).flat_map(|row| [centres[row % 12], centres[12 + row % 12]]).map(|c| c + rng.normal());
    let rows = Shard::of_table(Table::from_f64(2, cells.collect()));
    (0..4).map(|worker| rows.part(worker_rows(worker, 4, rows.n_rows()))).collect()
}

fn options() -> CoordinatorOptions {
    CoordinatorOptions { n_workers: 4, cycles: Cycles::Fixed(15), seed: 3, ..CoordinatorOptions::default() }
}

fn model(shards: &[Shard]) -> Model {
    let options = ModelOptions { sigma: Some(1.0), sigma0: Some(10.0), ..ModelOptions::default() };
    Model::resolve(&options, &Survey::of_all(shards)).expect("the options are right")
}

struct Lines(Vec<(u64, f64, usize)>);

impl Observer for Lines {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.0.push((info.cycle, info.log_joint, info.k));
        Ok(())
    }
}

/// The cycles of a run on one of the library's engines.
fn lines(shards: &[Shard], engine: Engine) -> Vec<(u64, f64, usize)> {
    let options = DistributedOptions { coordinator: options(), engine, ..DistributedOptions::default() };
    let mut lines = Lines(Vec::new());
    consolidated::run(shards, &model(shards), &options, None, &mut lines).expect("the run ends");
    lines.0
}

#[test]
fn a_queue_gives_the_same_run_as_threads_bit_for_bit() {
    let shards = shards();
    let mut coordinator = ConsolidatedCoordinator::new(options(), model(&shards));
    let worker = |(id, shard): (u32, &Shard)| -> Box<dyn Node> {
        Box::new(ConsolidatedWorker::new(id, shard.clone(), Kernel::best()))
    };
    let mut workers: Vec<Box<dyn Node>> = (0..).zip(&shards).map(worker).collect();
    let reports = run(&mut coordinator, &mut workers).expect("the run ends");
    let queue: Vec<_> = reports.iter().map(|report| (report.cycle, report.log_joint, report.k)).collect();
    assert_eq!(queue.len(), 15);
    assert_eq!(queue, lines(&shards, Engine::Threads(2)));
    assert!(queue.last().is_some_and(|(_, _, k)| *k >= 10), "{queue:?}");
}

#[test]
fn a_transport_gives_the_same_run_as_threads_bit_for_bit() {
    let shards = shards();
    // begin: remote
    let transport = Arc::new(Mutex::new(Channels::new(4)));
    let rows = shards.iter().map(RowSource::here).collect();
    let engine = Engine::Remote(Remote::new("channels", transport, rows, None));
    // end: remote
    assert_eq!(lines(&shards, engine), lines(&shards, Engine::Threads(2)));
}

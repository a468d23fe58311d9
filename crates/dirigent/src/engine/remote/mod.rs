//! The engine of other machines: workers on hosts that something outside this library reaches, such
//! as Ray or MPI.
//!
//! ```text
//! driver: Desk ─ RemoteWorkers ─ Transport ══ bytes ══ whatever there is ══ bytes ══ Host ─ Worker
//! ```
//!
//! A [`Transport`] moves bytes and says who is gone and who is back. All else is here, and the same
//! for all of them: a [`Host`] opens the rows of its workers itself, makes their nodes and puts
//! their labels away, so that a worker can be made again elsewhere.

mod host;
mod protocol;
mod row_source;

pub use self::host::Host;
pub use self::row_source::{FileRows, RowSource};

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use self::protocol::{Answer, AnswerBody, Begin, Request, What};
use super::desk::{Arrival, Border, Desk, Workers};
use super::{Driver, RunTotals, failed};
use crate::consolidate::ShardId;
use crate::error::{Error, Result};
use crate::protocol::{Address, Event, Frame, Node, WorkerSpec};

/// How long one look for arrivals takes at most: so often is it asked whether the run is
/// interrupted.
const LOOK: Duration = Duration::from_millis(100);

/// What moves bytes between this process and the hosts of workers.
pub trait Transport: Send {
    /// Takes a request to the host of a worker, without waiting for it. `shared` is the same for
    /// all workers that are sent the same in a row.
    fn post(&mut self, worker: ShardId, request: Vec<u8>, shared: Option<&Arc<[u8]>>) -> Result<()>;

    /// What has come, in the order of each worker's requests; it waits for something at most so
    /// long.
    fn receive(&mut self, wait: Duration) -> Result<Vec<Delivery>>;

    /// Whatever is being computed should break off, where that can be said.
    fn interrupt(&mut self) {}
}

/// Something that a transport brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// What a host has answered.
    Answer(ShardId, Vec<u8>),
    /// The host of a worker is gone, because of this: nothing that was asked of it will be
    /// answered.
    Lost(ShardId, String),
    /// There is a host for that worker again, in this place.
    Back(ShardId, String),
}

/// Workers that a transport reaches; clones are the same workers.
#[derive(Clone)]
pub struct Remote {
    name: &'static str,
    transport: Arc<Mutex<dyn Transport>>,
    rows: Arc<Vec<RowSource>>,
    labels: Option<PathBuf>,
    /// Which workers have hosts that have their rows.
    seated: Arc<Mutex<Vec<bool>>>,
}

impl Remote {
    /// Workers by number that are to open these rows. Each puts its labels into the folder
    /// `labels`, which all hosts see, if there is one.
    pub fn new(
        name: &'static str,
        transport: Arc<Mutex<dyn Transport>>,
        rows: Vec<RowSource>,
        labels: Option<PathBuf>,
    ) -> Self {
        let seated = Arc::new(Mutex::new(vec![false; rows.len()]));
        Self { name, transport, rows: Arc::new(rows), labels, seated }
    }

    /// What the engine is called.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs a coordinator here and workers there to their end; worker `w` is made as `specs[w]`
    /// says.
    pub(crate) fn run(
        &self,
        coordinator: &mut dyn Node,
        specs: Vec<WorkerSpec>,
        driver: &mut dyn Driver,
    ) -> Result<RunTotals> {
        let n_workers = specs.len();
        let mut transport = self.transport.lock().expect("a run that has failed is not run again");
        let mut seated = self.seated.lock().expect("a run that has failed is not run again");
        let mut workers = RemoteWorkers {
            transport: &mut *transport,
            rows: &self.rows,
            labels: self.labels.as_deref(),
            seated: &mut seated,
            lives: vec![0; n_workers],
            specs,
            arrivals: VecDeque::new(),
        };
        for worker in 0..n_workers as ShardId {
            workers.begin(worker, false)?;
        }
        Desk::new(coordinator, driver, &mut workers, n_workers).run()
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("name", &self.name).field("workers", &self.rows.len()).finish_non_exhaustive()
    }
}

impl PartialEq for Remote {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.seated, &other.seated)
    }
}

/// The workers of one run.
struct RemoteWorkers<'a> {
    transport: &'a mut dyn Transport,
    rows: &'a [RowSource],
    labels: Option<&'a Path>,
    seated: &'a mut [bool],
    /// How many nodes of each worker were made.
    lives: Vec<u32>,
    specs: Vec<WorkerSpec>,
    arrivals: VecDeque<Delivery>,
}

impl RemoteWorkers<'_> {
    /// Has the node of a worker made: for a run that begins, or from what its last life has save.
    fn begin(&mut self, worker: ShardId, is_again: bool) -> Result<()> {
        let ix = worker as usize;
        self.lives[ix] += 1;
        let rows = (!std::mem::replace(&mut self.seated[ix], true)).then(|| self.rows[ix].clone());
        let labels = self.labels.map(|folder| folder.join(format!("worker-{worker}.labels")));
        let begin = Begin { rows, spec: self.specs[ix].clone(), labels, is_again };
        self.ask(worker, What::Begin(Box::new(begin)), None)
    }

    fn ask(&mut self, worker: ShardId, what: What, shared: Option<&Arc<[u8]>>) -> Result<()> {
        self.transport.post(worker, Request { worker, life: self.lives[worker as usize], what }.encode(), shared)
    }

    /// What a worker's present node has said; nothing for one that was given up.
    fn said(&self, worker: ShardId, bytes: &[u8]) -> Option<Result<AnswerBody>> {
        match Answer::decode(bytes) {
            Ok(answer) if answer.life != self.lives[worker as usize] => None,
            Ok(answer) => Some(answer.result(worker)),
            Err(error) => Some(Err(Error::BadFrame { from: Address::Worker(worker), why: error.to_string() })),
        }
    }

    fn next_delivery(&mut self, wait: Duration) -> Result<Option<Delivery>> {
        if self.arrivals.is_empty() {
            self.arrivals.extend(self.transport.receive(wait)?);
        }
        let delivery = self.arrivals.pop_front();
        match &delivery {
            Some(Delivery::Answer(worker, _) | Delivery::Lost(worker, _) | Delivery::Back(worker, _))
                if *worker as usize >= self.specs.len() =>
            {
                Err(failed("the engine", format!("brought something of worker {worker}, whom nobody knows")))
            }
            Some(Delivery::Lost(worker, _)) => {
                self.seated[*worker as usize] = false;
                Ok(delivery)
            }
            _ => Ok(delivery),
        }
    }
}

impl Workers for RemoteWorkers<'_> {
    fn post(&mut self, worker: ShardId, event: Event) -> Result<()> {
        match event {
            Event::Start => self.ask(worker, What::Start, None),
            Event::Frame { from, frame: Frame { own, shared } } => {
                self.ask(worker, What::Frame { from, own: own.to_vec() }, shared.as_ref())
            }
            // for coordinators only
            Event::Lost(_) | Event::Stop => Ok(()),
        }
    }

    fn next(&mut self, may_wait: bool) -> Result<Option<Arrival>> {
        let wait = if may_wait { LOOK } else { Duration::ZERO };
        while let Some(delivery) = self.next_delivery(wait)? {
            match delivery {
                Delivery::Lost(worker, why) => return Ok(Some(Arrival::Lost(worker, why))),
                Delivery::Back(worker, _) => {
                    self.begin(worker, true)?;
                    return Ok(Some(Arrival::Back(worker)));
                }
                Delivery::Answer(worker, bytes) => match self.said(worker, &bytes) {
                    None | Some(Ok(AnswerBody::Ready)) => {}
                    Some(Ok(AnswerBody::Outcome(outcome))) => {
                        return Ok(Some(Arrival::Handled(worker, Ok(outcome.into()))));
                    }
                    Some(Ok(AnswerBody::State(_))) => return Err(out_of_turn(worker)),
                    Some(Err(error)) => return Ok(Some(Arrival::Handled(worker, Err(error)))),
                },
            }
        }
        Ok(None)
    }

    fn states(&mut self, at: Border) -> Result<Vec<Option<Vec<u8>>>> {
        let n_workers = self.specs.len();
        for worker in 0..n_workers as ShardId {
            self.ask(worker, What::State { before_answer: at == Border::BeforeAnswer }, None)?;
        }
        let mut states = vec![None; n_workers];
        let (mut n_waiting, mut others) = (n_workers, Vec::new());
        while n_waiting > 0 {
            match self.next_delivery(LOOK)? {
                Some(Delivery::Answer(worker, bytes)) => match self.said(worker, &bytes).transpose()? {
                    Some(AnswerBody::State(state)) => {
                        states[worker as usize] = state;
                        n_waiting -= 1;
                    }
                    Some(AnswerBody::Ready | AnswerBody::Outcome(_)) => return Err(out_of_turn(worker)),
                    None => {}
                },
                Some(lost @ Delivery::Lost(..)) => {
                    others.push(lost);
                    n_waiting -= 1;
                }
                Some(back @ Delivery::Back(..)) => others.push(back),
                None => {}
            }
        }
        self.arrivals.extend(others);
        Ok(states)
    }

    fn break_off(&mut self) {
        self.transport.interrupt();
    }

    fn expel(&mut self, worker: ShardId) -> Result<bool> {
        // where it lives it is made again, from what it has save itself
        self.arrivals.push_front(Delivery::Back(worker, String::new()));
        Ok(true)
    }
}

fn out_of_turn(worker: ShardId) -> Error {
    failed(&format!("worker {worker}"), "its host has answered what it was not asked")
}

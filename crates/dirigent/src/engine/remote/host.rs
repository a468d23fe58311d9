//! A host: the other end of a transport, with the workers that live there.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::protocol::{Answer, AnswerBody, Begin, Request, What};
use crate::consolidate::ShardId;
use crate::engine::call::{Stopwatch, tell};
use crate::engine::failed;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::protocol::{Address, Event, Frame, Node};
use crate::rows::Shard;
use crate::run_dir::write_file;

/// Labels are saved no more often than this.
const APART: Duration = Duration::from_secs(1);

/// Where workers live. It may be asked from one thread and interrupted from another.
pub struct Host {
    place: String,
    workers: Mutex<HashMap<ShardId, Seat>>,
    /// Raised once: the run has ended then, and the host with it.
    interrupt: Interrupt,
}

/// What a worker has here.
struct Seat {
    shard: Shard,
    node: Box<dyn Node>,
    labels: Option<PathBuf>,
    /// When they were saved last.
    kept: Option<Instant>,
}

impl Host {
    /// A host without workers; `place` is what messages call it.
    pub fn new(place: impl Into<String>) -> Self {
        Self { place: place.into(), workers: Mutex::default(), interrupt: Interrupt::new() }
    }

    /// Does what a request asks. Whatever goes wrong is in the answer.
    pub fn handle(&self, request: &[u8], shared: Option<&[u8]>) -> Vec<u8> {
        let (life, said) = match Request::decode(request) {
            Ok(request) => (request.life, self.answer(request, shared)),
            Err(error) => (0, Err(error)),
        };
        Answer { place: self.place.clone(), life, said: said.map_err(Into::into) }.encode()
    }

    /// The sweep that is going on breaks off.
    pub fn interrupt(&self) {
        self.interrupt.raise();
    }

    fn answer(&self, Request { worker, what, .. }: Request, shared: Option<&[u8]>) -> Result<AnswerBody> {
        let mut workers = lock(&self.workers);
        let event = match what {
            What::Begin(begin) => {
                let shard = workers.remove(&worker).map(|seat| seat.shard);
                workers.insert(worker, Seat::begin(worker, shard, *begin, self.interrupt.clone())?);
                return Ok(AnswerBody::Ready);
            }
            What::State { before_answer } => {
                let node = &seat(&mut workers, worker)?.node;
                let state = if before_answer { node.checkpoint_before_answer() } else { Some(node.checkpoint()) };
                return Ok(AnswerBody::State(state));
            }
            What::Start => Event::Start,
            What::Frame { from, own } => {
                Event::Frame { from, frame: Frame { own: own.into(), shared: shared.map(Arc::from) } }
            }
        };
        let seat = seat(&mut workers, worker)?;
        let outcome = tell(&mut *seat.node, Address::Worker(worker), event, Stopwatch::Wall)?;
        seat.keep()?;
        Ok(AnswerBody::Outcome(outcome.into()))
    }
}

impl Seat {
    fn begin(worker: ShardId, shard: Option<Shard>, begin: Begin, interrupt: Interrupt) -> Result<Self> {
        let shard = match (begin.rows, shard) {
            (Some(rows), _) => rows.open()?,
            (None, Some(shard)) => shard,
            (None, None) => return Err(failed(&format!("worker {worker}"), "has no rows")),
        };
        let spec = if begin.is_again {
            let checkpoint = begin.labels.as_deref().map(read).transpose()?.flatten();
            begin.spec.again(checkpoint)
        } else {
            // those of another run are not this one's
            begin.labels.as_deref().map(forget).transpose()?;
            begin.spec
        };
        let node = spec.make(worker, shard.clone(), interrupt)?;
        Ok(Self { shard, node, labels: begin.labels, kept: None })
    }

    /// Puts the labels away, where another host finds them.
    fn keep(&mut self) -> Result<()> {
        let Some(path) = &self.labels else { return Ok(()) };
        if self.kept.is_some_and(|kept| kept.elapsed() < APART) {
            return Ok(());
        }
        self.kept = Some(Instant::now());
        let bytes = self.node.checkpoint();
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|source| Error::io("cannot create", folder, source))?;
        }
        write_file(path, |file| io::Write::write_all(file, &bytes))
    }
}

/// What an earlier life has save, if it came to that.
fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("cannot read", path, error)),
    }
}

fn forget(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("cannot remove", path, error)),
        _ => Ok(()),
    }
}

fn seat(workers: &mut HashMap<ShardId, Seat>, worker: ShardId) -> Result<&mut Seat> {
    workers.get_mut(&worker).ok_or_else(|| failed(&format!("worker {worker}"), "does not live here"))
}

/// A panic of a node is caught before it gets here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

//! Ways to hosts that are in this process: a good one, one whose hosts die, one that spoils what is said.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use dirigent::internals::engine::remote::{Delivery, Host};
use dirigent::{Result, Transport};

/// Hosts in this process. What they are asked they answer at once; what they answer waits in a queue.
pub(crate) struct Loopback {
    hosts: Vec<Option<Host>>,
    queue: VecDeque<Delivery>,
    /// The worker whose host dies, after how many requests to it, and how many looks later there is another.
    death: Option<(u32, usize, usize)>,
    /// Looks until a host is there again.
    returns: Option<(u32, usize)>,
}

impl Loopback {
    pub(crate) fn new(n_workers: usize, death: Option<(u32, usize, usize)>) -> Self {
        let hosts = (0..n_workers).map(|worker| Some(Host::new(format!("host-{worker}")))).collect();
        Self { hosts, queue: VecDeque::new(), death, returns: None }
    }
}

impl Transport for Loopback {
    fn post(&mut self, worker: u32, request: Vec<u8>, shared: Option<&Arc<[u8]>>) -> Result<()> {
        if let Some((dies, requests, back_after)) = &mut self.death
            && *dies == worker
        {
            if *requests == 0 {
                self.hosts[worker as usize] = None;
                self.queue.retain(|delivery| !matches!(delivery, Delivery::Answer(from, _) if *from == worker));
                self.queue.push_back(Delivery::Lost(worker, "it was switched off".to_owned()));
                self.returns = Some((worker, *back_after));
                self.death = None;
                return Ok(());
            }
            *requests -= 1;
        }
        if let Some(host) = &self.hosts[worker as usize] {
            let answer = host.handle(&request, shared.map(|shared| &**shared));
            self.queue.push_back(Delivery::Answer(worker, answer));
        }
        Ok(())
    }

    fn receive(&mut self, _: Duration) -> Result<Vec<Delivery>> {
        if let Some((worker, looks)) = &mut self.returns {
            if *looks == 0 {
                let worker = *worker;
                self.hosts[worker as usize] = Some(Host::new("another host"));
                self.queue.push_back(Delivery::Back(worker, "another host".to_owned()));
                self.returns = None;
            } else {
                *looks -= 1;
            }
        }
        Ok(self.queue.pop_front().into_iter().collect())
    }
}

/// A transport that spoils what a worker says, for a while.
pub(crate) struct Spoiling {
    pub(crate) inner: Loopback,
    pub(crate) worker: u32,
    /// Answers of the worker that are left alone first.
    pub(crate) after: usize,
    pub(crate) times: usize,
}

impl Transport for Spoiling {
    fn post(&mut self, worker: u32, request: Vec<u8>, shared: Option<&Arc<[u8]>>) -> Result<()> {
        self.inner.post(worker, request, shared)
    }

    fn receive(&mut self, wait: Duration) -> Result<Vec<Delivery>> {
        let mut arrived = self.inner.receive(wait)?;
        for delivery in &mut arrived {
            if let Delivery::Answer(worker, bytes) = delivery
                && *worker == self.worker
                && self.times > 0
            {
                if self.after > 0 {
                    self.after -= 1;
                    continue;
                }
                self.times -= 1;
                let middle = bytes.len() / 2;
                bytes[middle..].iter_mut().for_each(|byte| *byte ^= 0x5a);
            }
        }
        Ok(arrived)
    }
}

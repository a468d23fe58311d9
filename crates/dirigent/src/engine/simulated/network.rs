//! The simulated network: one full-duplex link per node, and what goes wrong on the way.
//!
//! A frame leaves when its sender's uplink is free and occupies it for its bytes over the
//! bandwidth. Its head is there a latency later and its bytes stream on into the receiver's
//! downlink as soon as that is free (cut-through), for the same time again. The coordinator's link
//! is as wide as any other and all frames pass it: it is where a cluster's traffic queues.

use std::collections::BTreeMap;

use super::options::Simulation;
use crate::protocol::Address;
use crate::rng::{Role, Seed, Stream};

/// Held-up frames and doubles are late by up to this many latencies.
const LONGEST_DELAY: f64 = 10.0;

/// The links of all nodes and the luck of their frames.
#[derive(Debug)]
pub(super) struct Network {
    links: BTreeMap<Address, Link>,
    latency: f64,
    bandwidth: f64,
    reorder: f64,
    loss: f64,
    duplicate: f64,
    retry: f64,
    luck: Stream,
}

/// When the two directions of a link are free.
#[derive(Debug, Default)]
struct Link {
    up: f64,
    down: f64,
}

/// What becomes of a frame that was sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Passage {
    /// Nothing arrives; it is time to send it again at …
    Lost(f64),
    /// Its head reaches the receiver's link at …, and in some cases a second time at …
    Through(f64, Option<f64>),
}

impl Network {
    pub(super) fn new(simulation: &Simulation) -> Self {
        Self {
            links: BTreeMap::new(),
            latency: simulation.latency,
            bandwidth: simulation.bandwidth,
            reorder: simulation.reorder,
            loss: simulation.loss,
            duplicate: simulation.duplicate,
            retry: simulation.retry,
            luck: Seed::new(simulation.seed).stream(Role::Observer, u32::MAX, 0),
        }
    }

    /// A frame goes into its sender's uplink.
    pub(super) fn send(&mut self, now: f64, from: Address, n_bytes: u64) -> Passage {
        let seconds = self.transmission(n_bytes);
        let link = self.links.entry(from).or_default();
        let begin = link.up.max(now);
        link.up = begin + seconds;
        if self.luck.uniform() < self.loss {
            return Passage::Lost(begin + seconds + self.retry);
        }
        let is_held_up = self.luck.uniform() < self.reorder;
        let delay = if is_held_up { self.luck.uniform() * LONGEST_DELAY * self.latency } else { 0.0 };
        let reaches = begin + self.latency + delay;
        let is_doubled = self.luck.uniform() < self.duplicate;
        let longest = LONGEST_DELAY * self.latency + self.retry;
        let again = is_doubled.then(|| reaches + self.luck.uniform() * longest);
        Passage::Through(reaches, again)
    }

    /// A frame's head has reached its receiver's link: when all of it is there.
    pub(super) fn receive(&mut self, now: f64, to: Address, n_bytes: u64) -> f64 {
        let seconds = self.transmission(n_bytes);
        let link = self.links.entry(to).or_default();
        link.down = link.down.max(now) + seconds;
        link.down
    }

    /// A node was made again: its link is idle.
    pub(super) fn reset(&mut self, who: Address) {
        self.links.remove(&who);
    }

    fn transmission(&self, n_bytes: u64) -> f64 {
        n_bytes as f64 / self.bandwidth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: [Address; 3] = [Address::Coordinator, Address::Worker(0), Address::Worker(1)];

    fn network(simulation: Simulation) -> Network {
        Network::new(&Simulation { latency: 0.5, bandwidth: 100.0, ..simulation })
    }

    fn reaches(passage: Passage) -> f64 {
        let Passage::Through(at, None) = passage else { panic!("{passage:?}") };
        at
    }

    #[test]
    fn a_frame_alone_takes_latency_and_one_transmission() {
        let mut network = network(Simulation::default());
        let at = reaches(network.send(1.0, BASE[1], 200));
        assert_eq!(at, 1.5);
        // the head at 1.5, the tail, 200 bytes at 100 a second, 2 seconds later
        assert_eq!(network.receive(at, BASE[0], 200), 3.5);
    }

    #[test]
    fn frames_of_one_sender_queue_in_its_uplink_and_stream_through_a_free_downlink() {
        let mut network = network(Simulation::default());
        let heads: Vec<f64> = [100, 200, 300].map(|n| reaches(network.send(0.0, BASE[0], n))).into();
        assert_eq!(heads, [0.5, 1.5, 3.5]);
        let tails: Vec<f64> =
            [100, 200, 300].iter().zip(&heads).map(|(n, at)| network.receive(*at, BASE[1], *n)).collect();
        assert_eq!(tails, [1.5, 3.5, 6.5]);
    }

    #[test]
    fn the_two_directions_do_not_disturb_each_other() {
        let mut network = network(Simulation::default());
        assert_eq!(network.receive(0.0, BASE[0], 1000), 10.0);
        assert_eq!(reaches(network.send(0.0, BASE[0], 100)), 0.5);
    }

    #[test]
    fn an_infinite_bandwidth_leaves_the_latency() {
        let mut network = Network::new(&Simulation { latency: 0.5, bandwidth: f64::INFINITY, ..Simulation::default() });
        let at = reaches(network.send(0.0, BASE[1], u64::MAX));
        assert_eq!((at, network.receive(at, BASE[0], u64::MAX)), (0.5, 0.5));
    }

    #[test]
    fn luck_strikes_as_often_as_asked() {
        let faults = Simulation { loss: 0.2, reorder: 0.5, duplicate: 0.25, retry: 7.0, ..Simulation::default() };
        let mut network = Network::new(&Simulation { latency: 1.0, bandwidth: f64::INFINITY, ..faults });
        let n = 4000;
        let passages: Vec<Passage> = (0..n).map(|_| network.send(0.0, BASE[2], 1)).collect();
        let share = |test: &dyn Fn(&Passage) -> bool| passages.iter().filter(|p| test(p)).count() as f64 / f64::from(n);
        // 5 standard errors of a share of 4000: at most 0.04; false alarms below 2e-6
        let near = |share: f64, p: f64| assert!((share - p).abs() < 0.04, "{share}, expected {p}");
        near(share(&|passage| *passage == Passage::Lost(7.0)), 0.2);
        near(share(&|passage| matches!(passage, Passage::Through(at, _) if *at > 1.0 && *at <= 11.0)), 0.8 * 0.5);
        near(share(&|passage| matches!(passage, Passage::Through(at, Some(again)) if again > at)), 0.8 * 0.25);
    }
}

//! What is under way in a simulated cluster: frames between their sender and their receiver, and
//! events that are not yet over.

use super::cluster::{VirtualCluster, VirtualHost};
use super::network::Passage;
use crate::engine::call::CallOutcome;
use crate::protocol::{Address, Event, Frame, Node};

/// What can happen.
pub(super) enum Happening {
    /// A frame's head reaches its receiver's link.
    Reaches(Flight),
    /// All of a frame is there.
    Arrives(Flight),
    /// A lost frame is to be sent again.
    Resends(Flight),
    /// A node has computed.
    Completes { who: Address, life: u64, outcome: CallOutcome },
}

/// A frame on its way.
#[derive(Clone)]
pub(super) struct Flight {
    pub(super) from: Address,
    /// The sender's: a successor does not send its predecessor's frames again.
    pub(super) life: u64,
    pub(super) to: Address,
    pub(super) frame: Frame,
}

impl<C: Node, W: Node> VirtualCluster<'_, C, W> {
    pub(super) fn send(&mut self, flight: Flight) {
        match self.network.send(self.now, flight.from, flight.frame.n_bytes()) {
            Passage::Lost(again_at) => self.agenda.enter(again_at, Happening::Resends(flight)),
            Passage::Through(at, again) => {
                if let Some(again) = again {
                    self.meter.doubled();
                    self.agenda.enter(again, Happening::Reaches(flight.clone()));
                }
                self.agenda.enter(at, Happening::Reaches(flight));
            }
        }
    }

    pub(super) fn resend(&mut self, flight: Flight) {
        self.meter.resent();
        self.send(flight);
    }

    pub(super) fn reach(&mut self, flight: Flight) {
        let at = self.network.receive(self.now, flight.to, flight.frame.n_bytes());
        self.agenda.enter(at, Happening::Arrives(flight));
    }

    pub(super) fn arrive(&mut self, flight: Flight) {
        self.post(flight.to, Event::Frame { from: flight.from, frame: flight.frame });
    }

    /// What death has made void: the dead say nothing more and send nothing again, and frames to
    /// them vanish. (A frame to a predecessor reaches its successor.)
    pub(super) fn is_void(&self, happening: &Happening) -> bool {
        match happening {
            Happening::Completes { who, life, .. } => self.life(*who) != *life,
            Happening::Resends(flight) => self.life(flight.from) != flight.life || !self.is_there(flight.to),
            Happening::Reaches(flight) | Happening::Arrives(flight) => {
                !self.is_there(flight.to) || self.is_expelled(flight.from, flight.life)
            }
        }
    }

    /// Whether the node that lived here then was expelled: nobody listens to it any more.
    fn is_expelled(&self, who: Address, life: u64) -> bool {
        matches!(who, Address::Worker(shard) if life <= self.hosts[shard as usize].expelled)
    }

    fn life(&self, who: Address) -> u64 {
        match who {
            Address::Worker(shard) => self.hosts[shard as usize].life,
            Address::Coordinator | Address::Driver => self.desk.life,
        }
    }

    pub(super) fn is_there(&self, who: Address) -> bool {
        match who {
            Address::Worker(shard) => self.workers[shard as usize].is_some(),
            Address::Coordinator | Address::Driver => true,
        }
    }

    pub(super) fn n_in_flight(&self) -> usize {
        let to_come = self.agenda.iter().filter(|happening| !self.is_void(happening));
        let under_way = to_come.map(|happening| match happening {
            Happening::Reaches(_) | Happening::Arrives(_) | Happening::Resends(_) => 1,
            Happening::Completes { outcome, .. } => {
                outcome.out.frames.iter().filter(|(to, _)| *to != Address::Driver).count()
            }
        });
        let waiting = self.hosts.iter().chain([&self.desk]).map(VirtualHost::n_frames);
        under_way.chain(waiting).sum()
    }
}

impl VirtualHost {
    fn n_frames(&self) -> usize {
        self.inbox.iter().filter(|event| matches!(event, Event::Frame { .. })).count()
    }
}

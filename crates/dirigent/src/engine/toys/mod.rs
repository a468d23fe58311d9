//! Toy nodes and a driver that takes notes, for the tests of the engines.

mod method;

pub(super) use self::method::{ToyCoordinator, ToyRespawn, ToyWorker, toy_workers};

use super::Driver;
use crate::consolidate::ShardId;
use crate::error::Result;
use crate::protocol::{Event, Frame, Node, Outbox};
use crate::trace::CycleInfo;

/// A node that is a closure.
pub(super) struct Scripted<F>(F);

/// Makes a boxed node of a closure.
pub(super) fn scripted(on: impl FnMut(Event, &mut Outbox) -> Result<()> + Send + 'static) -> Box<dyn Node> {
    Box::new(Scripted(on))
}

impl<F: FnMut(Event, &mut Outbox) -> Result<()> + Send> Node for Scripted<F> {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        self.0(event, out)
    }

    fn checkpoint(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// A frame of this many bytes.
pub(super) fn blank(n_bytes: usize) -> Frame {
    Frame::new(vec![0; n_bytes])
}

/// A driver that takes notes and may want to stop after a cycle.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) infos: Vec<CycleInfo>,
    pub(super) frames: Vec<(ShardId, Frame)>,
    /// How many frames had arrived by each report.
    pub(super) frames_by_report: Vec<usize>,
    pub(super) stop_after: Option<u64>,
}

impl Notes {
    /// Everything but wall times.
    pub(super) fn timeless(&self) -> Vec<CycleInfo> {
        self.infos.iter().map(|info| CycleInfo { seconds: 0.0, ..info.clone() }).collect()
    }
}

impl Driver for Notes {
    fn on_report(&mut self, info: CycleInfo) -> Result<()> {
        self.infos.push(info);
        self.frames_by_report.push(self.frames.len());
        Ok(())
    }

    fn on_frame(&mut self, from: ShardId, frame: Frame) -> Result<()> {
        self.frames.push((from, frame));
        Ok(())
    }

    fn wants_stop(&mut self, _seconds: f64) -> bool {
        self.stop_after.is_some_and(|cycle| self.infos.len() as u64 >= cycle)
    }
}

//! Names of components, handed out by a coordinator.

use serde::{Deserialize, Serialize};

use super::message::Joining;
use super::{Decoded, check_ids};
use crate::consolidate::ComponentId;

/// Which coordinator hands out names, and the last of them.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct IdMint {
    /// Which coordinator this is; names and streams carry it.
    pub(crate) epoch: u32,
    last: u64,
}

impl IdMint {
    pub(crate) fn new(epoch: u32) -> Self {
        Self { epoch, last: 0 }
    }

    pub(crate) fn mint(&mut self) -> ComponentId {
        self.last += 1;
        ComponentId { epoch: self.epoch, number: self.last }
    }

    /// Notes names that a worker knows, so that none is handed out twice.
    pub(crate) fn note<'a>(&mut self, ids: impl Iterator<Item = &'a ComponentId>) {
        let own = ids.filter(|id| id.epoch == self.epoch).map(|id| id.number);
        self.last = own.fold(self.last, u64::max);
    }

    /// Names in a push: each once, and handed out. A worker that joins may know components by names
    /// that labels began with.
    pub(crate) fn check<'a>(
        &self,
        ids: impl Iterator<Item = &'a ComponentId>,
        joining: Option<&Joining>,
    ) -> Decoded<()> {
        check_ids(ids, self.epoch, if joining.is_some() { u64::MAX } else { self.last })
    }
}

//! Halves: every component keeps two, so that a component that should be two can be split into
//! them. Beyond the paper.
//!
//! A wrongly merged cluster is hard to undo row by row. So a row carries, beside its component, the
//! half of it that it is in, and statistics are kept for each half. Halves have a *generation*: it
//! begins with a [`HalfCut`] of the rows, which all workers make alike, and from then on the half
//! of each row is drawn again in every sweep, as the component is.

use serde::{Deserialize, Serialize};

use crate::stats::Stats;

/// One of the two halves of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Half {
    /// The first.
    Left,
    /// The second.
    Right,
}

impl Half {
    /// Both, in order.
    pub const BOTH: [Self; 2] = [Self::Left, Self::Right];

    /// Its place among the two.
    #[inline(always)]
    pub fn ix(self) -> usize {
        self as usize
    }
}

/// What is known of a component's halves.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub enum Halves {
    /// It keeps none for now: it was tried, and rests.
    #[default]
    Resting,
    /// A generation that no worker has sent yet: the next sweep cuts.
    Fresh {
        /// The generation.
        generation: u32,
    },
    /// What is known so far.
    Known {
        /// The generation.
        generation: u32,
        /// The statistics of both.
        stats: [Stats; 2],
    },
}

impl Halves {
    /// The generation, unless it rests.
    pub fn generation(&self) -> Option<u32> {
        match self {
            Self::Resting => None,
            Self::Fresh { generation } | Self::Known { generation, .. } => Some(*generation),
        }
    }
}

/// How the rows of a component are cut in two at the beginning of a generation.
#[derive(Debug, Clone, PartialEq)]
pub enum HalfCut {
    /// By a plane through the mean: a row is right if its product with the direction (about the
    /// offset) is above the threshold.
    Plane {
        /// The direction.
        direction: Vec<f64>,
        /// The product of the direction with the mean.
        threshold: f64,
    },
    /// By a fair coin for each row.
    Coin,
}

/// What a worker says of one component: the statistics of its rows in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// All of them.
    Whole(Stats),
    /// By half.
    Halved {
        /// The generation of the halves.
        generation: u32,
        /// Both halves.
        halves: [Stats; 2],
    },
}

impl Part {
    /// The statistics: of all, or of the left half and the right one.
    pub fn stats(&self) -> &[Stats] {
        match self {
            Self::Whole(stats) => std::slice::from_ref(stats),
            Self::Halved { halves, .. } => halves,
        }
    }

    /// The number of rows.
    pub fn count(&self) -> i64 {
        match self {
            Self::Whole(stats) => stats.count,
            Self::Halved { halves: [left, right], .. } => left.count + right.count,
        }
    }
}

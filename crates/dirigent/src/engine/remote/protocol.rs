//! What a driver asks of a host, and what the host answers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::row_source::RowSource;
use crate::consolidate::ShardId;
use crate::engine::call::CallOutcome;
use crate::engine::failed;
use crate::error::{Error, InputError, Result};
use crate::protocol::{Address, Frame, Outbox, WorkerSpec};

/// To a host.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) worker: ShardId,
    /// Of that worker's nodes the one that is meant.
    pub(super) life: u32,
    pub(super) what: What,
}

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum What {
    /// Make the worker's node.
    Begin(Box<Begin>),
    /// Tell it that it begins.
    Start,
    /// Tell it that a frame has arrived; what all workers are sent alike comes beside the request.
    Frame { from: Address, own: Vec<u8> },
    /// Say what it would resume from.
    State { before_answer: bool },
}

/// How a worker's node is made.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Begin {
    /// Its rows; without them it has them already.
    pub(super) rows: Option<RowSource>,
    pub(super) spec: WorkerSpec,
    /// The file that it puts its labels into.
    pub(super) labels: Option<PathBuf>,
    /// Whether it was lost: then it resumes from what lies in that file.
    pub(super) is_again: bool,
}

/// From a host.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    /// Where it is.
    pub(super) place: String,
    /// As in the request.
    pub(super) life: u32,
    pub(super) said: Result<AnswerBody, Failure>,
}

/// What came of a request.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum AnswerBody {
    /// The node is made.
    Ready,
    /// It received an event.
    Outcome(RemoteOutcome),
    /// What it would resume from.
    State(Option<Vec<u8>>),
}

/// What a worker wants said and done. Workers make no reports.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RemoteOutcome {
    frames: Vec<(Address, Vec<u8>, Option<Vec<u8>>)>,
    swept_rows: u64,
    is_done: bool,
    seconds: f64,
}

/// An error that travels.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Failure {
    Input { file: Option<PathBuf>, row: Option<String>, column: Option<String>, problem: String, hint: Option<String> },
    World { doing: String, problem: String },
    BadFrame { from: Address, why: String },
    Interrupted,
}

impl Request {
    pub(super) fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a request is plain data")
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        postcard::from_bytes(bytes).map_err(|error| failed("a request", format!("cannot be read: {error}")))
    }
}

impl Answer {
    pub(super) fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("an answer is plain data")
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        postcard::from_bytes(bytes).map_err(|error| failed("an answer", format!("cannot be read: {error}")))
    }

    /// What was said; an error names the worker and its place.
    pub(super) fn result(self, worker: ShardId) -> Result<AnswerBody> {
        let place = self.place;
        self.said.map_err(|failure| match failure {
            Failure::Input { file, row, column, problem, hint } => {
                let problem = format!("{problem} (worker {worker} at {place})");
                InputError { file, row, column, problem, hint }.into()
            }
            Failure::World { doing, problem } => failed(&format!("worker {worker} at {place}: {doing}"), problem),
            Failure::BadFrame { from, why } => Error::BadFrame { from, why },
            Failure::Interrupted => Error::Interrupted,
        })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Input(input) => {
                let InputError { file, row, column, problem, hint } = *input;
                Self::Input { file, row, column, problem, hint }
            }
            Error::Io { doing, source } => Self::World { doing, problem: source.to_string() },
            Error::BadFrame { from, why } => Self::BadFrame { from, why },
            Error::Interrupted => Self::Interrupted,
            Error::Hinted { error, .. } => (*error).into(),
        }
    }
}

impl From<CallOutcome> for RemoteOutcome {
    fn from(CallOutcome { out, seconds }: CallOutcome) -> Self {
        let parts =
            |(to, frame): (Address, Frame)| (to, frame.own.to_vec(), frame.shared.map(|shared| shared.to_vec()));
        let frames = out.frames.into_iter().map(parts).collect();
        Self { frames, swept_rows: out.swept_rows, is_done: out.is_done, seconds }
    }
}

impl From<RemoteOutcome> for CallOutcome {
    fn from(RemoteOutcome { frames, swept_rows, is_done, seconds }: RemoteOutcome) -> Self {
        let frame = |(to, own, shared): (Address, Vec<u8>, Option<Vec<u8>>)| {
            (to, Frame { own: own.into(), shared: shared.map(Into::into) })
        };
        let frames = frames.into_iter().map(frame).collect();
        Self { out: Outbox { frames, reports: Vec::new(), swept_rows, is_done }, seconds }
    }
}

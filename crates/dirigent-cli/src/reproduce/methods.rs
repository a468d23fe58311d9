//! The methods of the comparison.

/// A method, as the command and as the paper calls it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Method {
    /// As `--method` names it.
    pub(crate) name: &'static str,
    /// As the figures name it.
    pub(crate) title: &'static str,
    /// What it is, in a few words.
    pub(crate) what: &'static str,
    /// The column of the paper's communication table that it belongs to.
    pub(super) column: Option<Column>,
}

/// The columns of the paper's Table 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Ours,
    SliceMr,
}

/// All methods, in the order of the figures. The first is the serial reference that all others are measured against.
pub(crate) const METHODS: [Method; 7] = [
    Method { name: "cgs", title: "CGS", what: "collapsed Gibbs sampling, exact, on one worker", column: None },
    Method {
        name: "slicemr",
        title: "SliceMR",
        what: "a slice sampler as map and reduce, exact",
        column: Some(Column::SliceMr),
    },
    Method {
        name: "prog",
        title: "Prog",
        what: "progressive consolidation, workers in step",
        column: Some(Column::Ours),
    },
    Method {
        name: "pooled",
        title: "Pooled",
        what: "merge and split moves on the pool, workers in step",
        column: Some(Column::Ours),
    },
    Method {
        name: "async",
        title: "Async",
        what: "progressive consolidation, workers at their own pace",
        column: Some(Column::Ours),
    },
    Method {
        name: "hung",
        title: "Hung",
        what: "consolidation by the Hungarian algorithm, workers in step",
        column: Some(Column::Ours),
    },
    Method {
        name: "dirigent",
        title: "Dirigent",
        what: "beyond the paper: progressive consolidation with splits and merges",
        column: Some(Column::Ours),
    },
];

/// The reference: exact, on one worker and one thread.
pub(crate) const REFERENCE: &Method = &METHODS[0];

impl Method {
    /// Whether it runs on one worker only.
    pub(crate) fn is_serial(&self) -> bool {
        self == REFERENCE
    }
}

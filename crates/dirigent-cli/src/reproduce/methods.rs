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
    /// What makes it the paper's variant of the method, in addition to `--method`.
    pub(super) options: &'static [&'static str],
    /// The column of the paper's communication table that it belongs to.
    pub(super) column: Option<Column>,
}

/// The columns of the paper's Table 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Ours,
    SliceMr,
    Av,
    SubC,
}

/// All methods, in the order of the figures. The first is the serial reference that all others are measured against.
pub(crate) const METHODS: [Method; 9] = [
    method("cgs", "CGS", "collapsed Gibbs sampling, exact, on one worker", None),
    method("slicemr", "SliceMR", "a slice sampler as map and reduce, exact", Some(Column::SliceMr)),
    Method {
        options: &["--method-option", "av_merges=on"],
        ..method(
            "av",
            "AV",
            "clusters travel with their rows between workers, each of which merges its own, as in the paper's footnote",
            Some(Column::Av),
        )
    },
    method("subc", "SubC", "weights and parameters are drawn, components split into sub-clusters", Some(Column::SubC)),
    method("prog", "Prog", "progressive consolidation, workers in step", Some(Column::Ours)),
    method("pooled", "Pooled", "merge and split moves on the pool, workers in step", Some(Column::Ours)),
    method("async", "Async", "progressive consolidation, workers at their own pace", Some(Column::Ours)),
    Method {
        // by its defaults, but written out: finished runs from before it had them are not taken for these
        options: &["--method-option", "joins=births,first_alpha=shared"],
        ..method(
            "hung",
            "Hung",
            "consolidation by the Hungarian algorithm, workers in step, as in the authors' program",
            Some(Column::Ours),
        )
    },
    method(
        "dirigent",
        "Dirigent",
        "beyond the paper: progressive consolidation with splits and merges",
        Some(Column::Ours),
    ),
];

/// The reference: exact, on one worker and one thread.
pub(crate) const REFERENCE: &Method = &METHODS[0];

const fn method(name: &'static str, title: &'static str, what: &'static str, column: Option<Column>) -> Method {
    Method { name, title, what, options: &[], column }
}

impl Method {
    /// Whether it runs on one worker only.
    pub(crate) fn is_serial(&self) -> bool {
        self == REFERENCE
    }
}

//! How often each word occurs in each slot, and the logarithms of that where they are kept.

use super::document::Document;
use super::kernel::LANES;
use super::word_logs::WordLogs;
use super::word_table::WordTable;

/// The words of slots.
#[derive(Default)]
pub(super) struct Words {
    /// γ.
    smoothing: f64,
    n_vectors: usize,
    pub(super) table: WordTable,
    pub(super) logs: Option<WordLogs>,
}

impl Words {
    pub(super) fn new(smoothing: f64, n_words: usize, n_vectors: usize) -> Self {
        Self { smoothing, n_vectors, table: WordTable::new(n_words, n_vectors), logs: None }
    }

    /// Keeps logarithms from now on.
    pub(super) fn keep_logs(&mut self) {
        self.logs = Some(WordLogs::new(self.smoothing, &self.table, self.n_vectors * LANES));
    }

    /// The same with room for more slots.
    pub(super) fn resize(&mut self, n_vectors: usize) {
        self.n_vectors = n_vectors;
        self.table.resize(n_vectors);
        if self.logs.is_some() {
            self.keep_logs();
        }
    }

    /// ln Π (γ + n_w + j) of a document in a slot, or with the document taken out of it.
    #[inline(always)]
    pub(super) fn log_rise(&self, document: &Document, slot: usize, is_out: bool) -> f64 {
        match &self.logs {
            Some(logs) if is_out => logs.rise::<true>(document, &self.table, slot),
            Some(logs) => logs.rise::<false>(document, &self.table, slot),
            None => document.log_product(&self.table, slot, u32::from(is_out)),
        }
    }

    /// Adds a document to a slot (`sign` 1) or takes it out (−1).
    #[inline(always)]
    pub(super) fn change(&mut self, document: &Document, slot: usize, sign: i32) {
        document.change(&mut self.table, slot, sign);
        if let Some(logs) = &mut self.logs {
            logs.refresh(document, &self.table, slot);
        }
    }
}

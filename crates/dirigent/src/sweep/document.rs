//! The document that is being scored.

use super::rising::Rising;
use super::run::{self, Run};
use super::steps::Steps;
use super::word_table::WordTable;
use crate::rows::CountRow;

/// One occurrence of a word.
#[derive(Clone, Copy)]
pub(super) struct Token {
    pub(super) word: u32,
    /// γ + j at the j-th repeat.
    pub(super) addend: f32,
    /// j.
    repeat: u32,
    /// How often the word occurs in the document.
    count: u32,
}

/// The current row.
pub(super) struct Document {
    /// γ.
    smoothing: f64,
    pub(super) words: Vec<u32>,
    pub(super) counts: Vec<u32>,
    /// Words in all, repeats included.
    pub(super) length: usize,
    /// The largest of the counts.
    pub(super) longest_run: u32,
    /// First occurrences of words whose rows in the table are narrow.
    pub(super) narrow: Vec<Token>,
    /// Their further ones.
    pub(super) narrow_repeats: Vec<Token>,
    /// All occurrences of words whose rows are wide.
    pub(super) wide: Vec<Token>,
    /// Words that occur many times; they are in none of the lists above.
    pub(super) runs: Vec<Run>,
    /// ln Π (γ + j): the product in an empty component.
    pub(super) log_product_of_empty: f64,
    pub(super) rising: Rising,
    pub(super) steps: Steps,
}

impl Document {
    pub(super) fn new(smoothing: f64) -> Self {
        Self {
            smoothing,
            words: Vec::new(),
            counts: Vec::new(),
            length: 0,
            longest_run: 0,
            narrow: Vec::new(),
            narrow_repeats: Vec::new(),
            wide: Vec::new(),
            runs: Vec::new(),
            log_product_of_empty: 0.0,
            rising: Rising::new(smoothing),
            steps: Steps::default(),
        }
    }

    #[inline(always)]
    pub(super) fn smoothing(&self) -> f64 {
        self.smoothing
    }

    /// Makes a row the current one, without what is needed to multiply ([`Document::list_tokens`])
    /// or to sum ([`Document::prepare_steps`]).
    #[inline(always)]
    pub(super) fn read(&mut self, row: CountRow<'_>) {
        replace(&mut self.words, row.words);
        replace(&mut self.counts, row.counts);
        self.length = row.total() as usize;
        self.longest_run = row.counts.iter().copied().fold(0, u32::max);
        self.rising.prepare(self.longest_run);
        let mut log_product = 0.0;
        for &count in row.counts {
            log_product += self.rising.between(0, count);
        }
        self.log_product_of_empty = log_product;
    }

    /// Tabulates what its counts decide, which [`super::word_logs`] sums.
    #[inline(always)]
    pub(super) fn prepare_steps(&mut self) {
        self.steps.prepare(self.longest_run, &mut self.rising);
    }

    /// Lists the occurrences of its words, which [`super::word_products`] multiplies.
    #[inline(always)]
    pub(super) fn list_tokens(&mut self, row: CountRow<'_>, table: &WordTable) {
        let has_wide = table.has_wide();
        self.narrow.clear();
        self.narrow_repeats.clear();
        self.wide.clear();
        self.runs.clear();
        let addend = self.smoothing as f32;
        let has_runs = self.longest_run >= run::SHORTEST;
        if has_runs {
            self.runs.extend(row.iter().filter(|(_, count)| is_run(*count)).map(|(word, count)| Run::new(word, count)));
            self.rising.prepare(self.runs.iter().map(Run::reach).fold(0, u32::max));
        }
        if !has_wide {
            let short = row.iter().filter(|(_, count)| !is_run(*count));
            self.narrow.extend(short.map(|(word, count)| Token { word, addend, repeat: 0, count }));
        }
        for (word, count) in row.iter().filter(|(_, count)| !is_run(*count)) {
            let is_wide = has_wide && table.is_wide(word);
            for repeat in u32::from(!has_wide)..count {
                let addend = (self.smoothing + f64::from(repeat)) as f32;
                let token = Token { word, addend, repeat, count };
                match repeat {
                    _ if is_wide => self.wide.push(token),
                    0 => self.narrow.push(token),
                    _ => self.narrow_repeats.push(token),
                }
            }
        }
    }

    /// Adds the document to a slot of a table (`sign` 1) or takes it out (−1).
    pub(super) fn change(&self, table: &mut WordTable, slot: usize, sign: i32) {
        for (&word, &count) in self.words.iter().zip(&self.counts) {
            let before = table.get(word, slot);
            table.set(word, slot, before.wrapping_add_signed(sign * count as i32));
        }
    }

    /// ln Π (γ + n_w + j) of a slot in double precision, less `taken_out` times the document
    /// itself.
    pub(super) fn log_product(&self, table: &WordTable, slot: usize, taken_out: u32) -> f64 {
        let (mut log, mut product) = (0.0, 1.0f64);
        for tokens in [&self.narrow, &self.narrow_repeats, &self.wide] {
            // four factors are multiplied on their own before they join the rest: a short chain,
            // and few questions about the range
            for tokens in tokens.chunks(4) {
                let mut factors = [1.0f64; 4];
                for (factor, token) in factors.iter_mut().zip(tokens) {
                    let others = table.get(token.word, slot) - taken_out * token.count;
                    *factor = self.smoothing + f64::from(others + token.repeat);
                }
                product *= (factors[0] * factors[1]) * (factors[2] * factors[3]);
                if !(1e-150..1e150).contains(&product) {
                    log += libm::log(product);
                    product = 1.0;
                }
            }
        }
        log += libm::log(product);
        for run in &self.runs {
            let others = table.get(run.word, slot) - taken_out * run.count;
            log += run.log_rise(&self.rising, others);
        }
        log
    }
}

#[inline(always)]
fn is_run(count: u32) -> bool {
    count >= run::SHORTEST
}

fn replace(target: &mut Vec<u32>, source: &[u32]) {
    target.clear();
    target.extend_from_slice(source);
}

//! log ρ of all pairs of components, kept up to date as components come and go.
//!
//! A component has a slot. Pairs lie in rows: slot i with all slots before it; a pair with a free
//! slot is −∞. Each row knows its largest entry, so a sum over millions of pairs only looks at the
//! few rows near the top.

use crate::rng::Stream;

/// Pairs this far below the largest are left out of sums: even 10⁸ of them would not show in a
/// double.
const NEGLIGIBLE: f64 = 60.0;

/// log ρ of all pairs of slots.
#[derive(Debug, Default)]
pub(super) struct PairTable {
    rows: Vec<PairRow>,
}

#[derive(Debug)]
struct PairRow {
    /// log ρ with slots 0, 1, …
    logs: Vec<f64>,
    /// Where the largest is.
    largest_ix: usize,
}

impl PairRow {
    fn new(logs: Vec<f64>) -> Self {
        let mut row = Self { logs, largest_ix: 0 };
        row.find_largest();
        row
    }

    fn find_largest(&mut self) {
        self.largest_ix = largest_without(&self.logs, None).0;
    }

    fn largest(&self) -> f64 {
        self.logs.get(self.largest_ix).copied().unwrap_or(f64::NEG_INFINITY)
    }

    fn set(&mut self, ix: usize, log: f64) {
        let was_largest = ix == self.largest_ix;
        let above = log > self.largest();
        self.logs[ix] = log;
        if above {
            self.largest_ix = ix;
        } else if was_largest {
            self.find_largest();
        }
    }
}

/// Index and value of the largest entry; index 0 and −∞ if there is none.
fn largest_without(logs: &[f64], left_out: Option<usize>) -> (usize, f64) {
    let mut largest = (0, f64::NEG_INFINITY);
    for (ix, &log) in logs.iter().enumerate() {
        if log > largest.1 && Some(ix) != left_out {
            largest = (ix, log);
        }
    }
    largest
}

impl PairTable {
    /// Adds a slot with its log ρ to all slots before it.
    pub(super) fn push(&mut self, logs: Vec<f64>) {
        assert_eq!(logs.len(), self.rows.len(), "one entry for every slot before");
        self.rows.push(PairRow::new(logs));
    }

    /// Replaces all pairs of a slot; its entry with itself is not looked at.
    pub(super) fn set(&mut self, slot: usize, logs: &[f64]) {
        self.rows[slot] = PairRow::new(logs[..slot].to_vec());
        for (row, &log) in self.rows.iter_mut().zip(logs).skip(slot + 1) {
            row.set(slot, log);
        }
    }

    /// log ρ of two slots.
    pub(super) fn get(&self, a: usize, b: usize) -> f64 {
        self.rows[a.max(b)].logs[a.min(b)]
    }

    /// log Σρ over all pairs, or over those without one slot; −∞ if there is none.
    pub(super) fn log_total(&self, without: Option<usize>) -> f64 {
        let largest_of = |(slot, row): (usize, &PairRow)| match without {
            Some(left_out) if left_out == slot => f64::NEG_INFINITY,
            Some(left_out) if left_out == row.largest_ix => largest_without(&row.logs, without).1,
            _ => row.largest(),
        };
        let largest: Vec<f64> = self.rows.iter().enumerate().map(largest_of).collect();
        let top = largest.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if top == f64::NEG_INFINITY {
            return top;
        }
        let near = self.rows.iter().zip(&largest).filter(|(_, largest)| **largest > top - NEGLIGIBLE);
        top + libm::log(near.map(|(row, _)| sum_without(&row.logs, top, without)).sum())
    }

    /// A pair with probability ∝ ρ, the larger slot first.
    pub(super) fn draw(&self, rng: &mut Stream) -> Option<(usize, usize)> {
        let top = self.rows.iter().map(PairRow::largest).fold(f64::NEG_INFINITY, f64::max);
        if top == f64::NEG_INFINITY {
            return None;
        }
        let near = self.rows.iter().enumerate().filter(|(_, row)| row.largest() > top - NEGLIGIBLE);
        let (slots, log_sums): (Vec<_>, Vec<_>) =
            near.map(|(slot, row)| (slot, libm::log(sum_without(&row.logs, top, None)))).unzip();
        let slot = slots[rng.categorical(&log_sums)];
        Some((slot, rng.categorical(&self.rows[slot].logs)))
    }
}

/// Σ exp(log − top) without one entry.
fn sum_without(logs: &[f64], top: f64, left_out: Option<usize>) -> f64 {
    let near = logs.iter().enumerate().filter(|(ix, log)| **log > top - NEGLIGIBLE && Some(*ix) != left_out);
    near.map(|(_, log)| libm::exp(log - top)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, Seed};
    use crate::special::log_sum_exp;

    fn stream() -> Stream {
        Seed::new(5).stream(Role::Observer, 0, 0)
    }

    /// A table after many changes, and the same as a full square.
    fn changed_table(n_slots: usize, rng: &mut Stream) -> (PairTable, Vec<Vec<f64>>) {
        let mut log = || if rng.uniform() < 0.2 { f64::NEG_INFINITY } else { 100.0 * rng.normal() };
        let mut square = vec![vec![f64::NEG_INFINITY; n_slots]; n_slots];
        let mut table = PairTable::default();
        for slot in 0..n_slots {
            (0..slot).for_each(|other| square[slot][other] = log());
            table.push(square[slot][..slot].to_vec());
        }
        for step in 0..50 {
            let slot = step * 7 % n_slots;
            let logs: Vec<f64> = (0..n_slots).map(|_| log()).collect();
            table.set(slot, &logs);
            (0..n_slots)
                .filter(|&other| other != slot)
                .for_each(|other| square[slot.max(other)][slot.min(other)] = logs[other]);
        }
        (table, square)
    }

    #[test]
    fn totals_are_those_of_the_bare_list_after_any_change() {
        let mut rng = stream();
        for _ in 0..20 {
            let (table, square) = changed_table(9, &mut rng);
            for without in [None, Some(0), Some(4), Some(8)] {
                let pairs = (0..9).flat_map(|a| (0..a).map(move |b| (a, b)));
                let kept = pairs.filter(|&(a, b)| Some(a) != without && Some(b) != without);
                let logs: Vec<f64> = kept.map(|(a, b)| square[a][b]).collect();
                assert!((table.log_total(without) - log_sum_exp(&logs)).abs() < 1e-9);
            }
            assert_eq!(table.get(3, 7), square[7][3]);
        }
        assert_eq!(PairTable::default().log_total(None), f64::NEG_INFINITY);
    }

    #[test]
    fn pairs_are_drawn_in_proportion() {
        let mut rng = stream();
        let mut table = PairTable::default();
        [vec![], vec![-700.0], vec![-700.0 + libm::log(2.0), f64::NEG_INFINITY]]
            .into_iter()
            .for_each(|row| table.push(row));
        let n = 30_000;
        let first = (0..n).filter(|_| table.draw(&mut rng) == Some((1, 0))).count() as f64;
        // 5 standard errors: false alarm 6e-7
        assert!((first / f64::from(n) - 1.0 / 3.0).abs() < 5.0 * (2.0 / 9.0 / f64::from(n)).sqrt());
        assert_eq!(PairTable::default().draw(&mut rng), None);
    }
}

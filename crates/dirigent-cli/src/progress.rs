//! How far a run is: a bar on a terminal, plain lines elsewhere.

use std::cell::Cell;
use std::time::{Duration, Instant};

use dirigent::CycleInfo;
use dirigent::internals::posterior::horizon::Cycles;
use indicatif::{ProgressBar, ProgressStyle};

use crate::console::{Console, Talk, scaled};

/// Reports cycles as they end.
#[derive(Debug)]
pub(crate) struct Progress {
    console: Console,
    bar: Option<ProgressBar>,
    n_chains: u16,
    /// When a plain line about the start was last printed.
    last_line: Cell<Instant>,
}

/// Time between two plain lines about the start.
const BETWEEN_LINES: Duration = Duration::from_secs(1);

impl Progress {
    pub(crate) fn new(console: Console, cycles: Cycles, n_chains: u16) -> Self {
        let bar = console.draws_bar().then(|| match cycles {
            Cycles::Fixed(cycles) => bar(cycles),
            Cycles::Auto { .. } => spinner("{spinner} cycle {pos} {msg}"),
        });
        Self { console, bar, n_chains, last_line: Cell::new(Instant::now()) }
    }

    /// What the search for a start is doing. Without a bar at most a line per second is printed, so that short fits stay silent.
    pub(crate) fn on_start(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("start: {text}"));
            bar.tick();
        } else if self.console.talk == Talk::Verbose || self.last_line.get().elapsed() >= BETWEEN_LINES {
            self.last_line.set(Instant::now());
            self.console.say(format_args!("start: {text}"));
        }
    }

    /// A cycle has ended.
    pub(crate) fn on_cycle(&self, info: &CycleInfo) {
        if let Some(bar) = &self.bar {
            bar.set_position(info.cycle);
            bar.set_message(self.describe(info));
        } else if self.console.talk == Talk::Verbose || is_due(info) {
            let of = last_cycle(info).map(|cycles| format!("/{cycles}")).unwrap_or_default();
            self.console.say(format_args!("cycle {}{of}  {}", info.cycle, self.describe(info)));
        }
    }

    /// Prints another line without disturbing the bar.
    pub(crate) fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => self.console.say(line),
        }
    }

    /// The last cycle has ended, or the run has failed: the bar makes way for what comes next.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn describe(&self, info: &CycleInfo) -> String {
        let vi = info.vi.map(|vi| format!("  VI {vi:.3}")).unwrap_or_default();
        let speed = scaled(info.n_rows as f64 / info.sweep_seconds.max(1e-9), &["", "k", "M", "G"]);
        let left = last_cycle(info).map(|cycles| {
            let seconds = info.seconds / info.cycle as f64 * (cycles.saturating_sub(info.cycle)) as f64;
            format!("  {} left", duration(seconds))
        });
        let chain = if self.n_chains > 1 { format!("chain {}/{}  ", info.chain, self.n_chains) } else { String::new() };
        let left = left.unwrap_or_default();
        format!("{chain}K {}  log-joint {:.1}{vi}  {speed} rows/s{left}", info.k, info.log_joint)
    }
}

fn bar(cycles: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("cycle {pos}/{len} {bar:24} {msg}").expect("a valid template");
    let bar = ProgressBar::new(cycles).with_style(style);
    bar.tick();
    bar
}

/// For a run whose end is not known.
fn spinner(template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("a valid template");
    let bar = ProgressBar::new_spinner().with_style(style);
    bar.tick();
    bar
}

/// The last cycle, once it is known.
fn last_cycle(info: &CycleInfo) -> Option<u64> {
    info.ending.map(|ending| ending.last_cycle)
}

/// Whether a plain line is due: as long as the end is not known, after the first and every tenth cycle.
fn is_due(info: &CycleInfo) -> bool {
    match last_cycle(info) {
        Some(cycles) => is_tenth(info.cycle, cycles),
        None => info.cycle == 1 || info.cycle.is_multiple_of(10),
    }
}

/// Whether a plain line is due in a run of known length: after the first cycle, and whenever another tenth of the run is done.
fn is_tenth(cycle: u64, cycles: u64) -> bool {
    let tenths = |cycle: u64| u128::from(cycle) * 10 / u128::from(cycles);
    cycle == 1 || tenths(cycle) > tenths(cycle - 1)
}

fn duration(seconds: f64) -> String {
    // a first cycle can promise longer than a Duration holds
    let whole = Duration::try_from_secs_f64(seconds.round()).map_or(u64::MAX, |time| time.as_secs());
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dirigent::StoppedBecause;
    use dirigent::internals::posterior::horizon::Ending;

    fn due(cycles: u64) -> Vec<u64> {
        (1..=cycles).filter(|&cycle| is_tenth(cycle, cycles)).collect()
    }

    #[test]
    fn lines_come_at_the_first_the_last_and_every_tenth_cycle() {
        assert_eq!(due(1), [1]);
        assert_eq!(due(4), [1, 2, 3, 4]);
        assert_eq!(due(50), [1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50]);
        assert_eq!(due(1001).last(), Some(&1001));
        assert_eq!(due(1001).len(), 11);
    }

    #[test]
    fn a_line_says_where_the_run_stands() {
        let progress =
            Progress { console: Console::default(), bar: None, n_chains: 1, last_line: Cell::new(Instant::now()) };
        let info = CycleInfo {
            cycle: 10,
            seconds: 20.0,
            sweep_seconds: 0.002,
            n_rows: 3000,
            log_joint: -12.34,
            k: 7,
            vi: Some(0.5),
            chain: 1,
            ending: Some(Ending { last_cycle: 50, because: StoppedBecause::Cycles }),
            ..CycleInfo::default()
        };
        let line = progress.describe(&info);
        assert_eq!(line, "K 7  log-joint -12.3  VI 0.500  1.5 M rows/s  1 min 20 s left");
        let open = Progress { n_chains: 3, ..progress }.describe(&CycleInfo { ending: None, ..info });
        assert_eq!(open, "chain 1/3  K 7  log-joint -12.3  VI 0.500  1.5 M rows/s");
        assert_eq!(duration(7300.0), "2 h 1 min");
    }
}

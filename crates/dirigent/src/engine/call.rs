//! One call of a node: what it said, how long it took, and whose mistake it was if it failed.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::failed;
use crate::error::{Error, Result};
use crate::protocol::{Address, Event, Node, Outbox};

/// What one call led to.
#[derive(Debug)]
pub(super) struct CallOutcome {
    pub(super) out: Outbox,
    /// As the [`Stopwatch`] saw it.
    pub(super) seconds: f64,
}

/// Tells a node an event.
pub(super) fn tell(node: &mut dyn Node, who: Address, event: Event, stopwatch: Stopwatch) -> Result<CallOutcome> {
    call(who, stopwatch, |out| node.on(event, out))
}

/// Offers a node one idle step; whether it would take another.
pub(super) fn idle(node: &mut dyn Node, who: Address, stopwatch: Stopwatch) -> Result<(CallOutcome, bool)> {
    let mut wants_more = false;
    let outcome = call(who, stopwatch, |out| {
        wants_more = node.idle(out)?;
        Ok(())
    })?;
    Ok((outcome, wants_more))
}

/// The name of a node, for messages.
pub(super) fn name(who: Address) -> String {
    who.to_string()
}

/// What measures a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopwatch {
    /// Wall time.
    Wall,
    /// Time that the calling thread was on a processor: others on the machine do not disturb it.
    ThreadCpu,
}

impl Stopwatch {
    /// Does the work, and says how long it took.
    pub(crate) fn time<T>(self, work: impl FnOnce() -> T) -> (T, f64) {
        let cpu_before = (self == Self::ThreadCpu).then(thread_cpu_seconds).flatten();
        let began = Instant::now();
        let result = work();
        let wall = began.elapsed().as_secs_f64();
        let cpu = cpu_before.and_then(|before| Some(thread_cpu_seconds()? - before));
        (result, cpu.unwrap_or(wall))
    }
}

/// The processor time of this thread so far, where the system reports it.
#[cfg(target_os = "linux")]
fn thread_cpu_seconds() -> Option<f64> {
    use rustix::time::{ClockId, clock_gettime};

    let time = clock_gettime(ClockId::ThreadCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

#[cfg(not(target_os = "linux"))]
fn thread_cpu_seconds() -> Option<f64> {
    None
}

/// A panic must not take a thread of the engine with it: the others would wait for ever.
fn call(who: Address, stopwatch: Stopwatch, work: impl FnOnce(&mut Outbox) -> Result<()>) -> Result<CallOutcome> {
    let mut out = Outbox::default();
    let (result, seconds) = stopwatch.time(|| catch_unwind(AssertUnwindSafe(|| work(&mut out))));
    match result {
        Ok(Ok(())) => Ok(CallOutcome { out, seconds }),
        Ok(Err(error)) => Err(named(who, error)),
        Err(panic) => Err(failed(&name(who), format!("panicked: {}", panic_message(&*panic)))),
    }
}

fn named(who: Address, error: Error) -> Error {
    match error {
        Error::Input(mut input) => {
            input.problem = format!("{} ({})", input.problem, name(who));
            Error::Input(input)
        }
        Error::Io { doing, source } => Error::Io { doing: format!("{}: {doing}", name(who)), source },
        // the sender is named, and it was its mistake
        Error::BadFrame { .. } | Error::Interrupted => error,
        Error::Hinted { error, hint } => named(who, *error).with_hint(hint),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_leaves_out_what_the_thread_slept() {
        if thread_cpu_seconds().is_none() {
            return;
        }
        let nap = std::time::Duration::from_millis(60);
        let ((), slept) = Stopwatch::ThreadCpu.time(|| std::thread::sleep(nap));
        assert!(slept < 0.03, "{slept}");
        let ((), wall) = Stopwatch::Wall.time(|| std::thread::sleep(nap));
        assert!(wall >= 0.06, "{wall}");
    }

    #[test]
    fn cpu_time_sees_work_far_below_a_tick() {
        if thread_cpu_seconds().is_none() {
            return;
        }
        let spin = || {
            let began = Instant::now();
            while began.elapsed().as_micros() < 500 {}
        };
        // the smallest of many: a loaded machine may pre-empt any single one
        let seconds = (0..20).map(|_| Stopwatch::ThreadCpu.time(spin).1).fold(f64::INFINITY, f64::min);
        assert!(seconds > 0.0 && seconds < 0.002, "{seconds}");
    }
}

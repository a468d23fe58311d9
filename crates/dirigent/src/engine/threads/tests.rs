use std::collections::HashSet;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use super::*;
use crate::engine::failed;
use crate::engine::toys::{Notes, ToyCoordinator, blank, scripted, toy_workers};
use crate::error::InputError;
use crate::protocol::{Address, CycleReport, Frame, Outbox};

/// How long a test waits for another thread before it fails: for a machine that is very busy, not
/// for one that is slow.
const PATIENCE: Duration = Duration::from_secs(120);

fn boxed(n_workers: usize) -> Vec<Box<dyn Node>> {
    toy_workers(n_workers).into_iter().map(|worker| Box::new(worker) as Box<dyn Node>).collect()
}

/// A worker that is done from the start.
fn done() -> Box<dyn Node> {
    scripted(|_, out| {
        out.is_done = true;
        Ok(())
    })
}

#[test]
fn the_number_of_threads_changes_nothing_in_step() {
    let result = |n_threads| {
        let (mut coordinator, mut notes) = (ToyCoordinator::new(7, 20), Notes::default());
        let totals = run(&mut coordinator, boxed(7), n_threads, &mut notes).unwrap();
        assert_eq!((notes.infos.len(), totals.messages), (20, 7 + 7 * 40 + 7));
        assert_eq!(totals.workers.iter().map(|worker| worker.swept_rows).collect::<Vec<_>>(), [200; 7]);
        // hello, go and push a cycle, finish: all of 24 bytes
        assert_eq!(totals.workers[3].bytes, 24 * (1 + 2 * 20 + 1));
        assert_eq!(totals.observed_bytes, 7 * 20 * 8);
        coordinator.total
    };
    let one = result(1);
    assert_eq!(result(2), one);
    assert_eq!(result(8), one);
    assert_eq!(result(0), one, "no threads are one");
}

#[test]
fn the_bytes_of_a_report_are_those_since_the_last_one() {
    let (mut coordinator, mut notes) = (ToyCoordinator::new(3, 4), Notes::default());
    let totals = run(&mut coordinator, boxed(3), 2, &mut notes).unwrap();
    let messages: Vec<u64> = notes.infos.iter().map(|info| info.messages).collect();
    // a cycle's pushes and the replies to them; before the first one the hellos and their replies,
    // too
    assert_eq!(messages, [12, 6, 6, 6]);
    assert!(notes.infos.iter().all(|info| info.bytes == 24 * info.messages && info.observed_bytes == 24));
    assert_eq!(totals.messages, messages.iter().sum::<u64>());
    assert!(notes.infos.iter().all(|info| info.virtual_seconds.is_none() && info.vi.is_none()));
    // what a worker showed the driver was there by the report
    assert_eq!(notes.frames_by_report, [3, 6, 9, 12]);
}

#[test]
fn a_toy_out_of_step_ends_and_idles_at_most_once_a_frame() {
    let mut coordinator = ToyCoordinator::out_of_step(5, 30);
    run(&mut coordinator, boxed(5), 3, &mut Notes::default()).unwrap();
    assert!(coordinator.n_idle <= coordinator.n_frames, "{coordinator:?}");
}

/// A coordinator that is done when it has had two idle steps, the second because it asked for it,
/// and lets the worker know.
struct Idler {
    n_idle: usize,
    told: Sender<()>,
}

impl Node for Idler {
    fn on(&mut self, _: Event, _: &mut Outbox) -> Result<()> {
        Ok(())
    }

    fn idle(&mut self, out: &mut Outbox) -> Result<bool> {
        self.n_idle += 1;
        if self.n_idle == 2 {
            out.is_done = true;
            self.told.send(()).unwrap();
        }
        Ok(self.n_idle < 2)
    }

    fn checkpoint(&self) -> Vec<u8> {
        Vec::new()
    }
}

#[test]
fn a_coordinator_idles_after_a_frame_as_often_as_it_asks_while_its_workers_are_busy() {
    let (told, idled) = channel();
    let idled = Mutex::new(idled);
    let workers = vec![
        scripted(|_, out| {
            out.send(Address::Coordinator, blank(1));
            out.is_done = true;
            Ok(())
        }),
        // busy until the coordinator has been idle
        scripted(move |_, out| {
            out.is_done = true;
            idled.lock().unwrap().recv_timeout(PATIENCE).map_err(|_| failed("coordinator", "was never idle"))
        }),
    ];
    run(&mut Idler { n_idle: 0, told }, workers, 2, &mut Notes::default()).unwrap();
}

#[test]
fn frames_arrive_once_and_in_the_order_of_their_link() {
    let n_frames = 200;
    let log = Arc::new(Mutex::new(vec![Vec::new(); 4]));
    let workers: Vec<_> = (0..4)
        .map(|shard: usize| {
            let log = Arc::clone(&log);
            scripted(move |event, out| {
                if let Event::Frame { frame, .. } = event {
                    log.lock().unwrap()[shard].push(frame.own.len());
                    out.send(Address::Coordinator, frame.clone());
                    out.is_done = frame.own.len() == n_frames;
                }
                Ok(())
            })
        })
        .collect();
    let echoes = Arc::new(Mutex::new(vec![Vec::new(); 4]));
    let heard = Arc::clone(&echoes);
    let mut coordinator = scripted(move |event, out| {
        match event {
            Event::Frame { from: Address::Worker(shard), frame } => {
                heard.lock().unwrap()[shard as usize].push(frame.own.len());
            }
            _ => (1..=n_frames).for_each(|n| (0..4).for_each(|shard| out.send(Address::Worker(shard), blank(n)))),
        }
        out.is_done = true;
        Ok(())
    });
    run(&mut *coordinator, workers, 3, &mut Notes::default()).unwrap();
    let expected = vec![(1..=n_frames).collect::<Vec<_>>(); 4];
    assert_eq!(*log.lock().unwrap(), expected);
    assert_eq!(*echoes.lock().unwrap(), expected);
}

#[test]
fn start_comes_first_for_every_node() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let logged = Arc::clone(&log);
    let worker = scripted(move |event, out| {
        logged.lock().unwrap().push(matches!(event, Event::Start));
        out.is_done = matches!(event, Event::Frame { .. });
        Ok(())
    });
    let mut coordinator = scripted(|_, out| {
        out.send(Address::Worker(0), blank(1));
        out.is_done = true;
        Ok(())
    });
    run(&mut *coordinator, vec![worker], 1, &mut Notes::default()).unwrap();
    assert_eq!(*log.lock().unwrap(), [true, false]);
}

#[test]
fn workers_share_the_threads() {
    let seen: Arc<(Mutex<HashSet<ThreadId>>, Condvar)> = Arc::default();
    let workers = (0..6)
        .map(|_| {
            let seen = Arc::clone(&seen);
            scripted(move |_, out| {
                let (threads, changed) = &*seen;
                let mut threads = threads.lock().unwrap();
                threads.insert(thread::current().id());
                changed.notify_all();
                // nobody goes on before both threads have a worker
                let (_threads, wait) = changed.wait_timeout_while(threads, PATIENCE, |seen| seen.len() < 2).unwrap();
                out.is_done = true;
                if wait.timed_out() { Err(failed("second thread", "never came")) } else { Ok(()) }
            })
        })
        .collect();
    run(&mut *done(), workers, 2, &mut Notes::default()).unwrap();
    assert_eq!(seen.0.lock().unwrap().len(), 2);
}

#[test]
fn a_wish_to_stop_is_told_once_and_ends_the_run() {
    let (mut coordinator, mut notes) =
        (ToyCoordinator::new(3, 1000), Notes { stop_after: Some(5), ..Notes::default() });
    run(&mut coordinator, boxed(3), 2, &mut notes).unwrap();
    assert_eq!(notes.infos.len(), 6, "the cycle under way is completed");
}

#[test]
fn a_workers_error_ends_the_run_with_its_name() {
    let mut workers = boxed(2);
    workers.push(scripted(|_, _| Err(InputError::new("row 7 is empty").hint("take it out").into())));
    let error = run(&mut ToyCoordinator::new(3, 5), workers, 2, &mut Notes::default()).unwrap_err();
    assert_eq!(error.to_string(), "row 7 is empty (worker 2)");
    assert_eq!(error.hint(), Some("take it out"));
}

#[test]
fn a_workers_panic_ends_the_run_with_its_name() {
    let mut workers = boxed(2);
    workers.push(scripted(|event, _| match event {
        Event::Start => panic!("a {} of ours", "mistake"),
        _ => Ok(()),
    }));
    let error = run(&mut ToyCoordinator::new(3, 5), workers, 2, &mut Notes::default()).unwrap_err();
    assert_eq!(error.to_string(), "worker 2: panicked: a mistake of ours");
}

#[test]
fn an_error_of_coordinator_or_driver_ends_the_run() {
    let mut coordinator = scripted(|_, _| Err(failed("pool", "does not add up")));
    let error = run(&mut *coordinator, boxed(2), 2, &mut Notes::default()).unwrap_err();
    assert_eq!(error.to_string(), "the coordinator: pool: does not add up");

    struct Full;
    impl Driver for Full {
        fn on_report(&mut self, _: crate::trace::CycleInfo) -> Result<()> {
            Err(failed("disk", "full"))
        }
        fn on_frame(&mut self, _: ShardId, _: Frame) -> Result<()> {
            Ok(())
        }
    }
    let error = run(&mut ToyCoordinator::new(2, 5), boxed(2), 2, &mut Full).unwrap_err();
    assert_eq!(error.to_string(), "disk: full");
}

#[test]
fn a_deadlock_names_who_waits_after_what() {
    let mut coordinator = scripted(|event, out| {
        if let Event::Frame { .. } = event {
            out.is_done = true;
        } else {
            out.send(Address::Worker(1), blank(12));
        }
        Ok(())
    });
    let workers = vec![done(), scripted(|_, _| Ok(()))];
    let error = run(&mut *coordinator, workers, 2, &mut Notes::default()).unwrap_err().to_string();
    assert!(error.contains("the coordinator (last of 1 events: start)"), "{error}");
    assert!(error.contains("worker 1 (last of 2 events: a frame of 12 bytes from the coordinator)"), "{error}");
    assert!(!error.contains("worker 0"), "{error}");
}

#[test]
fn a_frame_to_nobody_is_an_error() {
    let mut coordinator = scripted(|_, out| {
        out.send(Address::Worker(7), blank(1));
        Ok(())
    });
    let error = run(&mut *coordinator, vec![done()], 1, &mut Notes::default()).unwrap_err();
    assert_eq!(error.to_string(), "the coordinator: knows no worker 7");
}

#[test]
fn a_coordinator_without_workers_runs_too() {
    let mut coordinator = scripted(|_, out: &mut Outbox| {
        out.reports.push(CycleReport { cycle: 1, ..CycleReport::default() });
        out.is_done = true;
        Ok(())
    });
    let mut notes = Notes::default();
    run(&mut *coordinator, Vec::new(), 4, &mut notes).unwrap();
    assert_eq!(notes.infos.len(), 1);
}

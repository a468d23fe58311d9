//! `--watch`: serves the report of a running fit to a browser on this machine.
//!
//! Whoever has the address, with its token, can look, and do nothing else. The server knows the run folder alone: the fit does not wait for it, and it ends with the fit.

mod http;

use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dirigent::{InputError, Result};

use self::http::{Refused, Request};
use crate::report;

/// Requests answered at once; further ones are turned away.
const MOST_ANSWERS: usize = 16;
/// How long a browser may take to ask or to read.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the server looks whether somebody asks, or whether the run has ended.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a browser that looks on is given to see the end: it may be busy drawing.
const FAREWELL: Duration = Duration::from_secs(10);

/// A server on a thread of its own; it ends when this is dropped.
pub(crate) struct Watch {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

/// What the threads of the server share.
struct State {
    run: PathBuf,
    address: SocketAddr,
    token: String,
    is_over: AtomicBool,
    n_answers: AtomicUsize,
    /// Whether anybody has ever asked for the page.
    has_guests: AtomicBool,
    /// Whether the page of the finished run has been fetched.
    has_shown_end: AtomicBool,
}

impl Watch {
    /// Serves the run in a folder on an address; port 0 is any that is free.
    pub(crate) fn start(address: &str, run: &Path) -> Result<Self> {
        let (listener, address) = listen(address)?;
        let state = Arc::new(State {
            run: run.to_path_buf(),
            address,
            token: token(),
            is_over: AtomicBool::new(false),
            n_answers: AtomicUsize::new(0),
            has_guests: AtomicBool::new(false),
            has_shown_end: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        let thread = thread::spawn(move || serve(&listener, &shared));
        Ok(Self { state, thread: Some(thread) })
    }

    /// Refuses, before any data is read, an address that cannot be listened on.
    pub(crate) fn check(address: Option<&str>) -> Result<()> {
        address.map_or(Ok(()), |address| listen(address).map(|_| ()))
    }

    /// What to open.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/{}/", self.state.address, self.state.token)
    }

    /// The run folder is complete: a browser that has looked on may see the end, then the server ends.
    pub(crate) fn finish(self) {
        let start = Instant::now();
        let is_awaited =
            || self.state.has_guests.load(Ordering::Relaxed) && !self.state.has_shown_end.load(Ordering::Relaxed);
        while is_awaited() && start.elapsed() < FAREWELL {
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // a panic of the server is no reason to lose the fit
            let _ = thread.join();
        }
    }
}

fn listen(address: &str) -> Result<(TcpListener, SocketAddr)> {
    let listening = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    listening.map_err(|error| {
        let error = InputError::new(format!("--watch cannot listen on {address}: {error}"));
        let hint = "give an address of this machine and a free port, such as --watch=127.0.0.1:8080, or --watch alone";
        error.hint(hint).into()
    })
}

/// 128 bits that cannot be guessed: the system seeds the standard library's hash maps.
fn token() -> String {
    let keyed = RandomState::new();
    format!("{:016x}{:016x}", keyed.hash_one(1), keyed.hash_one(2))
}

fn serve(listener: &TcpListener, state: &Arc<State>) {
    while !state.is_over.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => hand_over(stream, state),
            Err(_) => thread::sleep(PAUSE),
        }
    }
    let start = Instant::now();
    while state.n_answers.load(Ordering::Relaxed) > 0 && start.elapsed() < PATIENCE {
        thread::sleep(PAUSE);
    }
}

/// Answers on another thread: a browser that says nothing must not keep others waiting.
fn hand_over(stream: TcpStream, state: &Arc<State>) {
    if state.n_answers.load(Ordering::Relaxed) >= MOST_ANSWERS {
        return;
    }
    state.n_answers.fetch_add(1, Ordering::Relaxed);
    let shared = Arc::clone(state);
    let spawned = thread::Builder::new().spawn(move || {
        // a browser may hang up early
        let _ = talk(stream, &shared);
        shared.n_answers.fetch_sub(1, Ordering::Relaxed);
    });
    if spawned.is_err() {
        state.n_answers.fetch_sub(1, Ordering::Relaxed);
    }
}

fn talk(mut stream: TcpStream, state: &State) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (status, kind, body) = match http::read(&mut stream, state.address)? {
        Ok(request) => state.answer(&request),
        Err(Refused(status)) => (status, "text/plain", status.to_owned()),
    };
    http::answer(&mut stream, status, kind, body.as_bytes())?;
    stream.flush()
}

impl State {
    fn answer(&self, Request { path }: &Request) -> (&'static str, &'static str, String) {
        let nothing = ("404 Not Found", "text/plain", "404 Not Found".to_owned());
        let Some((token, name)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else { return nothing };
        if !is_same(token, &self.token) {
            return nothing;
        }
        self.has_guests.store(true, Ordering::Relaxed);
        let text = match name {
            "" => report::live_page(&self.run),
            "main" => report::live_main(&self.run).map(|(main, is_finished)| {
                self.has_shown_end.fetch_or(is_finished, Ordering::Relaxed);
                main
            }),
            "version" => return ("200 OK", "text/plain", report::version(&self.run)),
            _ => return nothing,
        };
        match text {
            Ok(text) => ("200 OK", "text/html", text),
            // between two files of the run folder
            Err(_) => ("503 Service Unavailable", "text/plain", "not yet".to_owned()),
        }
    }
}

/// Compares every letter, so that the time says nothing of the first that differs.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Read as _;

    fn ask(watch: &Watch, path: &str) -> String {
        let mut stream = TcpStream::connect(watch.state.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", watch.state.address).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn running() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let record = serde_json::json!({"status": "running", "data": {"name": "<data>", "n_rows": 10, "n_columns": 2}});
        fs::write(folder.path().join("run.json"), record.to_string()).unwrap();
        fs::write(folder.path().join("trace.csv"), format!("{}\n", dirigent::internals::trace::HEADER)).unwrap();
        folder
    }

    #[test]
    fn the_page_grows_with_the_trace_and_only_its_token_opens_it() {
        let folder = running();
        let watch = Watch::start("127.0.0.1:0", folder.path()).unwrap();
        let token = watch.state.token.clone();
        assert_eq!(token.len(), 32);
        let page = ask(&watch, &format!("/{token}/"));
        assert!(
            page.starts_with("HTTP/1.1 200 OK\r\n")
                && page.contains("connect-src 'self'")
                && page.contains("&lt;data&gt;")
        );
        assert!(ask(&watch, &format!("/{token}/version")).ends_with("running 0"));
        let mut trace = fs::OpenOptions::new().append(true).open(folder.path().join("trace.csv")).unwrap();
        writeln!(trace, "1,0.5,,0.1,0.1,-12.5,,3,1,,5,0,0,0,0,0,0,0,10,1").unwrap();
        assert!(ask(&watch, &format!("/{token}/version")).ends_with("running 1"));
        let main = ask(&watch, &format!("/{token}/main"));
        assert!(main.contains("Log-joint") && !main.contains("<script>"), "{main}");
        let wrong = format!("{}x", &token[1..]);
        for path in ["/", "/favicon.ico", &format!("/{wrong}/"), &format!("/{token}"), &format!("/{token}/../run.json")]
        {
            assert!(ask(&watch, path).starts_with("HTTP/1.1 404"), "{path}");
        }
    }

    #[test]
    fn the_server_ends_with_the_run_even_while_somebody_says_nothing() {
        let folder = running();
        let watch = Watch::start("127.0.0.1:0", folder.path()).unwrap();
        let address = watch.state.address;
        assert!(Watch::check(Some(&address.to_string())).is_err());
        let silent = TcpStream::connect(address).unwrap();
        drop(silent);
        watch.finish();
        assert!(TcpStream::connect(address).is_err());
        assert!(Watch::start("not an address", folder.path()).is_err());
    }
}

//! Fetching from a folder and over HTTP, from servers that behave and servers that do not.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use super::*;
use crate::io::{DataSet, Selection};

const CSV: &str = "x,y\n1,2\n3,4\n5,6\n";

/// How the server answers.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// As it should, with a tag.
    Well {
        tag: &'static str,
    },
    /// Without anything that tells versions apart.
    Undated,
    NotFound,
    Forbidden,
    /// Promises the whole and hangs up in the middle.
    CutOff,
    /// Does not say how long it is.
    WithoutLength,
}

struct Server {
    address: String,
    manner: Arc<Mutex<Manner>>,
}

impl Server {
    fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { address, manner: Arc::new(Mutex::new(manner)) };
        let manner = Arc::clone(&server.manner);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let manner = *manner.lock().unwrap();
                // who hangs up early is of no interest
                let _ = answer(stream.unwrap(), manner);
            }
        });
        server
    }

    fn behave(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }
}

/// One request a connection.
fn answer(stream: TcpStream, manner: Manner) -> std::io::Result<()> {
    let mut request = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    while request.read_line(&mut line)? > 2 {
        line.clear();
    }
    let mut stream = stream;
    let length = CSV.len();
    let (status, headers, body) = match manner {
        Manner::Well { tag } => ("200 OK", format!("Content-Length: {length}\r\nETag: \"{tag}\"\r\n"), CSV),
        Manner::Undated => ("200 OK", format!("Content-Length: {length}\r\n"), CSV),
        Manner::NotFound => ("404 Not Found", "Content-Length: 0\r\n".into(), ""),
        Manner::Forbidden => ("403 Forbidden", "Content-Length: 0\r\n".into(), ""),
        Manner::CutOff => ("200 OK", format!("Content-Length: {length}\r\n"), &CSV[..length / 2]),
        Manner::WithoutLength => ("200 OK", String::new(), CSV),
    };
    write!(stream, "HTTP/1.1 {status}\r\n{headers}Connection: close\r\n\r\n{body}")
}

fn open(address: &str, cache: &Path) -> Result<DataSet> {
    let storage = Storage { cache_dir: Some(cache.into()), ..Storage::default() };
    DataSet::open_with(&[address.into()], &Selection::default(), &storage)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn rows_from_the_web_are_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    fs::write(&file, CSV).unwrap();
    let here = DataSet::open(&[file], &Selection::default()).unwrap();
    let server = Server::start(Manner::Well { tag: "1" });
    let address = format!("{}/a/t.csv", server.address);
    let there = open(&format!("{address}?signature=secret"), folder.path()).unwrap();
    assert_eq!((there.fingerprint(), there.name()), (here.fingerprint(), "t"));
    assert_eq!(there.files()[0].path, PathBuf::from(address), "a signature is not written down");
}

#[test]
fn an_object_is_fetched_once_and_again_when_it_has_changed() {
    let cache = tempfile::tempdir().unwrap();
    let server = Server::start(Manner::Well { tag: "1" });
    let address = format!("{}/t.csv", server.address);
    let fetched = || {
        let storage = Storage { cache_dir: Some(cache.path().into()), ..Storage::default() };
        fetch(ObjectAddress::of(Path::new(&address)).unwrap(), &storage).unwrap().remove(0).file
    };
    let first = fetched();
    let written = fs::metadata(&first).unwrap().modified().unwrap();
    assert_eq!(fetched(), first);
    assert_eq!(fs::metadata(&first).unwrap().modified().unwrap(), written, "it was not written again");
    server.behave(Manner::Well { tag: "2" });
    let second = fetched();
    assert!(second != first && !first.exists(), "only the new version is kept");
    server.behave(Manner::Undated);
    let undated = fetched();
    fs::write(&undated, CSV.replace('1', "7")).unwrap();
    assert_eq!(fs::read_to_string(fetched()).unwrap(), CSV, "what may be old is fetched again");
}

#[test]
fn a_failing_server_is_named_with_the_cause_and_leaves_nothing_behind() {
    let cache = tempfile::tempdir().unwrap();
    let server = Server::start(Manner::NotFound);
    let address = format!("{}/t.csv", server.address);
    let failed = |manner| {
        server.behave(manner);
        let error = open(&format!("{address}?key=secret"), cache.path()).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{address}: cannot be fetched")), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        error
    };
    let error = failed(Manner::NotFound);
    assert!(matches!(error, Error::Input(_)) && error.hint().unwrap().contains("no such object"), "{error}");
    let error = failed(Manner::Forbidden);
    assert!(matches!(error, Error::Input(_)) && error.hint().unwrap().contains("credentials"), "{error}");
    assert!(matches!(failed(Manner::CutOff), Error::Io { .. }));
    let error = failed(Manner::WithoutLength);
    assert!(error.to_string().contains("Content-Length"), "{error}");
    assert!(files_below(cache.path()).is_empty(), "no half of a file");
}

#[test]
fn a_mistake_in_an_object_is_told_of_its_address() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), "x,y\n1,2\n3\n").unwrap();
    let address = format!("file://{}/t.csv", folder.path().display());
    let error = open(&address, &folder.path().join("cache")).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{address}, line 3")), "{error}");
}

#[test]
fn a_folder_and_a_pattern_are_the_objects_that_files_would_be() {
    let folder = tempfile::tempdir().unwrap();
    let shards = folder.path().join("shards");
    fs::create_dir_all(shards.join("deeper")).unwrap();
    for (number, name) in
        ["b.csv", "a.csv", "part-10.csv", "part-9.csv", ".hidden.csv", "read.me", "deeper/c.csv"].iter().enumerate()
    {
        fs::write(shards.join(name), format!("x,y\n{number},1\n")).unwrap();
    }
    let cache = folder.path().join("cache");
    let same = |remote: &str, local: &str| {
        let here = DataSet::open(&[shards.join(local)], &Selection::default()).unwrap();
        let there = open(&format!("file://{}/{remote}", shards.display()), &cache).unwrap();
        assert_eq!(
            (there.n_rows(), there.fingerprint(), there.name()),
            (here.n_rows(), here.fingerprint(), here.name())
        );
        let name = |data: &DataSet| {
            data.files().iter().map(|file| file.path.file_name().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(name(&there), name(&here));
    };
    same("", "");
    same("part-*.csv", "part-*.csv");
    same("*/c.csv", "*/c.csv");
    same("part-?.csv", "part-?.csv");
    let error = open(&format!("file://{}/none-*.csv", shards.display()), &cache).unwrap_err();
    assert!(error.to_string().contains("no object") && error.hint().is_some(), "{error}");
}

#[test]
fn a_store_that_this_build_does_not_know_is_refused() {
    let cache = tempfile::tempdir().unwrap();
    let error = open("ftp://host/t.csv", cache.path()).unwrap_err();
    assert!(error.to_string().contains("found a ftp:// address, expected s3://"), "{error}");
}

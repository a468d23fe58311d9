//! As much of HTTP as one page needs: a bounded request in, one answer out.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};

/// Bytes that a request may have before its empty line.
const MOST_BYTES: usize = 8 << 10;

/// A request that can be answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The path, without what follows a `?`.
    pub(super) path: String,
}

/// Why a request is turned away: the status line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused(pub(super) &'static str);

/// Reads the head of a request that came to `address`. Nothing is read behind it: only GET is answered, which has no body.
pub(super) fn read(stream: &mut impl Read, address: SocketAddr) -> io::Result<Result<Request, Refused>> {
    let (mut head, mut part) = (Vec::new(), [0; 1024]);
    while !ends(&head) {
        let n = stream.read(&mut part)?;
        if n == 0 {
            return Ok(Err(Refused("400 Bad Request")));
        }
        head.extend_from_slice(&part[..n]);
        if head.len() > MOST_BYTES {
            return Ok(Err(Refused("431 Request Header Fields Too Large")));
        }
    }
    Ok(parse(&String::from_utf8_lossy(&head), address))
}

fn ends(head: &[u8]) -> bool {
    head.windows(4).any(|bytes| bytes == b"\r\n\r\n")
}

fn parse(head: &str, address: SocketAddr) -> Result<Request, Refused> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0")) = (method, target, version) else {
        return Err(Refused("400 Bad Request"));
    };
    if method != "GET" {
        return Err(Refused("405 Method Not Allowed"));
    }
    let mut hosts = lines.filter_map(|line| line.split_once(':')).filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    match (hosts.next(), hosts.next()) {
        (Some((_, host)), None) if is_ours(host.trim(), address) => {}
        _ => return Err(Refused("404 Not Found")),
    }
    Ok(Request { path: target.split('?').next().unwrap_or_default().to_owned() })
}

/// Whether a request was meant for us. A name that somebody made lead here is none of ours: only addresses are, and `localhost`.
fn is_ours(host: &str, address: SocketAddr) -> bool {
    let Some((name, port)) = host.rsplit_once(':') else { return false };
    let ip = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    port == address.port().to_string()
        && match ip {
            Ok(ip) => address.ip().is_unspecified() || ip == address.ip(),
            Err(_) => name == "localhost" && (address.ip().is_loopback() || address.ip().is_unspecified()),
        }
}

/// Writes an answer and says that no other will come.
pub(super) fn answer(stream: &mut impl Write, status: &str, kind: &str, body: &[u8]) -> io::Result<()> {
    write!(stream, "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\n", body.len())?;
    stream
        .write_all(b"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n")?;
    stream.write_all(b"X-Frame-Options: DENY\r\nConnection: close\r\n\r\n")?;
    stream.write_all(body)?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str, address: &str) -> Result<Request, Refused> {
        read(&mut text.as_bytes(), address.parse().unwrap()).unwrap()
    }

    #[test]
    fn only_a_get_for_our_address_is_answered() {
        let get = |host: &str| asked(&format!("GET /abc/?x=1 HTTP/1.1\r\nHost: {host}\r\n\r\n"), "127.0.0.1:8000");
        assert_eq!(get("127.0.0.1:8000"), Ok(Request { path: "/abc/".into() }));
        assert!(get("localhost:8000").is_ok());
        for host in ["evil.example:8000", "127.0.0.1:8001", "127.0.0.1", "127.0.0.2:8000", ""] {
            assert_eq!(get(host), Err(Refused("404 Not Found")), "{host}");
        }
        let everywhere = |host: &str| asked(&format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n"), "0.0.0.0:80");
        assert!(everywhere("192.0.2.7:80").is_ok() && everywhere("[::1]:80").is_ok());
        assert!(everywhere("rebound.example:80").is_err());
        let twice = "GET / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nHost: evil.example\r\n\r\n";
        assert!(asked(twice, "127.0.0.1:8000").is_err());
    }

    #[test]
    fn what_is_no_request_is_turned_away() {
        let refused = |text: &str| asked(text, "127.0.0.1:1").unwrap_err().0.split(' ').next().unwrap().to_owned();
        assert_eq!(refused("POST / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n"), "405");
        assert_eq!(refused("GET / HTTP/1.1\r\n\r\n"), "404");
        assert_eq!(refused("GET /\r\n\r\n"), "400");
        assert_eq!(refused("nothing"), "400");
        assert_eq!(refused(&format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(9000))), "431");
    }
}

//! The head of a request.

use super::Response;
use crate::query::{self, Query};

/// Maximum number of header fields.
const FIELDS: usize = 64;

/// The relevant parts of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The method, such as `GET` or `HEAD`.
    pub method: String,
    /// The path, decoded.
    pub path: String,
    /// The query string.
    pub query: Query,
    /// The host in the request; `None` unless there is exactly one.
    pub host: Option<String>,
    /// All cookies.
    pub cookies: String,
    /// `Authorization`.
    pub authorization: Option<String>,
    /// Whether another page requests this as a resource (Fetch Metadata); following a link from another page
    /// does not count.
    pub is_part_of_another: bool,
    /// The version of the page that the browser has cached.
    pub if_none_match: Option<String>,
}

impl Request {
    /// Parses a head; `None` if it is incomplete, and an error response if it is invalid.
    pub fn parse(head: &[u8]) -> Result<Option<Request>, Response> {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut parsed = httparse::Request::new(&mut fields);
        match parsed.parse(head) {
            Ok(httparse::Status::Partial) => return Ok(None),
            Ok(httparse::Status::Complete(_)) => {}
            Err(httparse::Error::TooManyHeaders) => {
                return Err(Response::plain(431, "The request has too many header fields."));
            }
            Err(_) => return Err(Response::plain(400, "This is not an HTTP request.")),
        }
        let target = parsed.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Some(path) = query::decode(path).filter(|path| path.starts_with('/')) else {
            return Err(Response::plain(400, "The path of the request is invalid."));
        };
        let all = |name: &str| {
            let named = parsed.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
            named.filter_map(|field| std::str::from_utf8(field.value).ok()).collect::<Vec<&str>>()
        };
        let only = |name: &str| match all(name)[..] {
            [value] => Some(value.trim().to_owned()),
            _ => None,
        };
        // A page on another port of this machine is same-site, but still another page.
        let elsewhere = matches!(only("sec-fetch-site").as_deref(), Some("cross-site" | "same-site"));
        let followed = only("sec-fetch-dest").as_deref() == Some("document");
        Ok(Some(Request {
            method: parsed.method.unwrap_or_default().to_owned(),
            path,
            query: Query::parse(query),
            host: only("host"),
            cookies: all("cookie").join("; "),
            authorization: only("authorization"),
            is_part_of_another: elsewhere && !followed,
            if_none_match: only("if-none-match"),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = "GET /run/1/7?name=a%20b&sort=-at HTTP/1.1\r\nHost: localhost:80\r\nCookie: a=b\r\nIf-None-Match: \"x\"\r\n\r\n";

    #[test]
    fn head_is_parsed() {
        let request = Request::parse(HEAD.as_bytes()).unwrap().unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/run/1/7"));
        assert_eq!((request.query.get("name"), request.query.get("sort")), (Some("a b"), Some("-at")));
        assert_eq!((request.host.as_deref(), request.cookies.as_str()), (Some("localhost:80"), "a=b"));
        let twice = HEAD.replace("Cookie", "Host");
        assert_eq!(Request::parse(twice.as_bytes()).unwrap().unwrap().host, None);
    }

    #[test]
    fn cross_site_requests_differ_from_links() {
        let asked = |fields: &str| {
            let head = HEAD.replace("Cookie: a=b\r\n", fields);
            Request::parse(head.as_bytes()).unwrap().unwrap().is_part_of_another
        };
        assert!(asked("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: image\r\n"));
        assert!(asked("Sec-Fetch-Site: same-site\r\nSec-Fetch-Dest: iframe\r\n"));
        assert!(!asked("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: document\r\n"));
        assert!(!asked("Sec-Fetch-Site: same-origin\r\nSec-Fetch-Dest: empty\r\n"));
        assert!(!asked("") && !asked("Sec-Fetch-Site: none\r\nSec-Fetch-Dest: document\r\n"));
    }

    #[test]
    fn invalid_heads_are_rejected() {
        let status = |head: &str| Request::parse(head.as_bytes()).unwrap_err().status;
        assert_eq!(status("hello there\r\n\r\n"), 400);
        assert_eq!(status("GET http://elsewhere/ HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status("GET /%ff HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(FIELDS + 1))), 431);
    }

    proptest! {
        #[test]
        fn damaged_heads_are_read_or_rejected(at in 0..HEAD.len(), byte in any::<u8>(), end in 0..HEAD.len()) {
            let mut head = HEAD.as_bytes().to_vec();
            head[at] = byte;
            let _ = Request::parse(&head);
            // Insert a byte, or drop one.
            head.insert(at, byte);
            let _ = Request::parse(&head);
            let _ = Request::parse(&[&HEAD.as_bytes()[..at], &HEAD.as_bytes()[at + 1..]].concat());
            prop_assert!(!matches!(Request::parse(&HEAD.as_bytes()[..end]), Ok(Some(_))));
        }
    }
}

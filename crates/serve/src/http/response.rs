//! Responses.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Headers of every response: no content from other sites, no frames, no type sniffing, no referrer.
const ALWAYS: &str = "X-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Connection: close\r\n";

/// Figures have inline style attributes and elements; the only scripts are the two that are served, and
/// nothing is loaded from other sites.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A response.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The type of the body.
    kind: &'static str,
    body: String,
    /// Additional header fields, each with its line end.
    fields: String,
    /// Whether the response has an entity tag, so that a browser can reuse its cached version.
    tagged: bool,
}

impl Response {
    /// A response of one line of text.
    pub fn plain(status: u16, text: &str) -> Response {
        Response {
            status,
            kind: "text/plain",
            body: format!("{text}\n"),
            fields: String::new(),
            tagged: false,
        }
    }

    /// A response with an HTML page.
    pub fn page(status: u16, html: String) -> Response {
        Response { kind: "text/html", body: html, tagged: status == 200, ..Response::plain(status, "") }
    }

    /// A static part of the program: a style or a script.
    pub fn part(kind: &'static str, text: &str) -> Response {
        Response { kind, body: text.to_owned(), tagged: true, ..Response::plain(200, "") }
    }

    /// Redirects the browser.
    pub fn redirect(to: &str) -> Response {
        Response::plain(303, "See the new location.").with("Location", to)
    }

    /// Adds a header field. A value with a line end is left out.
    pub fn with(mut self, name: &str, value: &str) -> Response {
        if value.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            self.fields += &format!("{name}: {value}\r\n");
        }
        self
    }

    /// The serialized response; without a body for a HEAD request or if the browser has this version cached.
    pub fn bytes(&self, head_only: bool, if_none_match: Option<&str>) -> Vec<u8> {
        let tag = self.tagged.then(|| tag(&self.body));
        let known = tag
            .as_deref()
            .is_some_and(|tag| if_none_match.is_some_and(|tags| tags.split(", ").any(|one| one == tag)));
        let status = if known { 304 } else { self.status };
        let mut head = format!(
            "HTTP/1.1 {status} {}\r\n{ALWAYS}Content-Security-Policy: {POLICY}\r\n{}",
            reason(status),
            self.fields
        );
        head += &match tag {
            Some(tag) => format!("ETag: {tag}\r\nCache-Control: private, no-cache\r\n"),
            None => "Cache-Control: no-store\r\n".to_owned(),
        };
        if !known {
            head += &format!(
                "Content-Type: {}; charset=utf-8\r\nContent-Length: {}\r\n",
                self.kind,
                self.body.len()
            );
        }
        let body = if head_only || known { "" } else { &self.body };
        [head.as_bytes(), b"\r\n", body.as_bytes()].concat()
    }
}

/// An entity tag: different versions of a page have different tags, for all practical purposes.
fn tag(body: &str) -> String {
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    format!("\"{:016x}-{:x}\"", hasher.finish(), body.len())
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        303 => "See Other",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(response: &Response, head_only: bool, if_none_match: Option<&str>) -> String {
        String::from_utf8(response.bytes(head_only, if_none_match)).unwrap()
    }

    #[test]
    fn unchanged_page_is_not_sent_again() {
        let page = Response::page(200, "<p>hello".to_owned());
        let whole = sent(&page, false, None);
        assert!(
            whole.starts_with("HTTP/1.1 200 OK\r\n") && whole.ends_with("Content-Length: 8\r\n\r\n<p>hello")
        );
        let tag = whole.split_once("ETag: ").unwrap().1.split_once("\r\n").unwrap().0;
        let again = sent(&page, false, Some(tag));
        assert!(
            again.starts_with("HTTP/1.1 304")
                && again.ends_with("\r\n\r\n")
                && !again.contains("Content-Length")
        );
        assert!(sent(&page, false, Some("\"other\"")).starts_with("HTTP/1.1 200"));
        assert!(sent(&page, true, None).ends_with("Content-Length: 8\r\n\r\n"));
    }

    #[test]
    fn header_values_cannot_add_lines() {
        let sent = sent(&Response::redirect("/\r\nSet-Cookie: a=b"), false, None);
        assert!(!sent.contains("Set-Cookie"), "{sent}");
    }
}

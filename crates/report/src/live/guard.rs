//! Access control.

use super::query::Query;
use super::token::Token;
use axum::extract::Request;
use axum::http::header::{ALLOW, COOKIE, HOST, SET_COOKIE, WWW_AUTHENTICATE};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use std::net::{IpAddr, SocketAddr};

/// Admits requests for a known host name, and with the token if there is one.
pub struct Guard {
    /// Accepted host names, besides plain addresses.
    hosts: Vec<String>,
    port: u16,
    /// Whether the server listens only on the loopback address.
    local: bool,
    token: Option<Token>,
}

impl Guard {
    pub fn new(address: SocketAddr, token: Option<Token>) -> Guard {
        let local = address.ip().is_loopback();
        let this = rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase();
        let mut hosts = vec!["localhost".to_owned()];
        if !local {
            hosts.push(this);
        }
        Guard { hosts, port: address.port(), local, token }
    }

    /// The URL of the page, with the token.
    pub fn url(&self, address: SocketAddr) -> String {
        let host = match address.ip() {
            ip if ip.is_unspecified() => self.hosts.last().expect("the host list is not empty").clone(),
            IpAddr::V6(ip) => format!("[{ip}]"),
            ip => ip.to_string(),
        };
        let token =
            self.token.as_ref().map_or_else(String::new, |token| format!("?token={}", token.as_str()));
        format!("http://{host}:{}/{token}", self.port)
    }

    /// The response that rejects a request; `None` if the guard admits it.
    pub fn refusal(&self, request: &Request) -> Option<Response> {
        // Another site may point its name to this machine and then read the responses (DNS rebinding).
        if !host(request).is_some_and(|host| self.is_ours(host)) {
            let port = self.port;
            let text = format!(
                "This page is not served under that name. Use http://{}:{port}/ or the IP address.\n",
                self.hosts.join(&format!(":{port}/ or http://"))
            );
            return Some((StatusCode::MISDIRECTED_REQUEST, text).into_response());
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let allowed = [(ALLOW, "GET, HEAD")];
            let text = "This server is read-only.\n";
            return Some((StatusCode::METHOD_NOT_ALLOWED, allowed, text).into_response());
        }
        // Another site cannot read the response, but could infer the contents from its time or size.
        if is_part_of_another(request) {
            let text = "Cross-site request refused. Open the address directly.\n";
            return Some((StatusCode::FORBIDDEN, text).into_response());
        }
        // Without a token, everyone is admitted.
        let token = self.token.as_ref()?;
        let query = Query::of(request.uri());
        if let Some(said) = query.get("token") {
            if !token.is(said) {
                return Some(unknown());
            }
            // Remove the token from the URL, which is visible and stored in histories. A second slash would
            // begin the name of another host.
            let path = format!("/{}", request.uri().path().trim_start_matches(['/', '\\']));
            let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie(), token.as_str());
            let there = Redirect::to(&query.with("token", None).at(&path));
            return Some(([(SET_COOKIE, cookie)], there).into_response());
        }
        let bearer = field(request, "authorization").and_then(|said| said.strip_prefix("Bearer "));
        let name = self.cookie();
        let fields = request.headers().get_all(COOKIE).iter();
        let cookies = fields.filter_map(|field| std::str::from_utf8(field.as_bytes()).ok());
        let pairs = cookies.flat_map(|all| all.split(';')).filter_map(|one| one.trim().split_once('='));
        let mut said = pairs.filter(|(one, _)| *one == name).map(|(_, value)| value).chain(bearer);
        match said.any(|said| token.is(said.trim())) {
            true => None,
            false => Some(unknown()),
        }
    }

    /// The name of the cookie contains the port, because cookies are shared between ports.
    fn cookie(&self) -> String {
        format!("senesce-{}", self.port)
    }

    /// Whether no other site can use this host name: a plain address, or a name of this machine.
    fn is_ours(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !name.ends_with(':') && !port.contains(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        let name = name.to_ascii_lowercase();
        let plain = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
        let is_address = plain.parse::<IpAddr>().is_ok_and(|ip| !self.local || ip.is_loopback());
        port == Some(self.port) && (is_address || self.hosts.contains(&name))
    }
}

/// The host in the request; `None` unless there is exactly one.
fn host(request: &Request) -> Option<&str> {
    if let Some(authority) = request.uri().authority() {
        return Some(authority.as_str());
    }
    let mut hosts = request.headers().get_all(HOST).iter();
    hosts.next().filter(|_| hosts.next().is_none())?.to_str().ok()
}

/// Whether another page requests this as a resource (Fetch Metadata); following a link from another page
/// does not count.
fn is_part_of_another(request: &Request) -> bool {
    // A page on another port of this machine is same-site, but still another page.
    let elsewhere = matches!(field(request, "sec-fetch-site"), Some("cross-site" | "same-site"));
    elsewhere && field(request, "sec-fetch-dest") != Some("document")
}

/// The value of a header field.
fn field<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    request.headers().get(name)?.to_str().ok()
}

fn unknown() -> Response {
    let text = "This page requires a token. Open the address that `senesce serve` printed, or send \
                `Authorization: Bearer TOKEN`.\n";
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::http::request::Builder;

    fn asked(host: &str) -> Builder {
        Request::builder().uri("/run/1/2").header(HOST, host)
    }

    fn refusal(guard: &Guard, request: Builder) -> Option<Response> {
        guard.refusal(&request.body(Body::empty()).unwrap())
    }

    fn status(guard: &Guard, request: Builder) -> u16 {
        refusal(guard, request).map_or(200, |refusal| refusal.status().as_u16())
    }

    #[test]
    fn only_own_host_names_are_admitted() {
        let guard = Guard::new("127.0.0.1:8080".parse().unwrap(), None);
        for host in ["localhost:8080", "LocalHost:8080", "127.0.0.1:8080", "[::1]:8080"] {
            assert_eq!(status(&guard, asked(host)), 200, "{host}");
            // A second host, or another one in the address.
            assert_eq!(status(&guard, asked(host).header(HOST, host)), 421, "{host}");
            assert_eq!(status(&guard, asked(host).uri("http://elsewhere.example:8080/")), 421, "{host}");
        }
        for host in [
            "elsewhere.example:8080",
            "localhost",
            "localhost:80",
            "localhost:8080:8080",
            "10.0.0.1:8080",
            "",
            "[::1]",
            "localhost.evil:8080",
        ] {
            assert_eq!(status(&guard, asked(host)), 421, "{host}");
        }
        assert_eq!(status(&guard, Request::builder()), 421);
        let open = Guard::new("0.0.0.0:80".parse().unwrap(), None);
        assert_eq!((status(&open, asked("10.0.0.1")), status(&open, asked("elsewhere.example"))), (200, 421));
    }

    #[test]
    fn only_read_requests_are_admitted() {
        let guard = Guard::new("127.0.0.1:80".parse().unwrap(), None);
        let by = |method: &str| status(&guard, asked("localhost:80").method(method));
        assert_eq!((by("GET"), by("HEAD"), by("POST"), by("DELETE")), (200, 200, 405, 405));
        assert_eq!((by("get"), by("head")), (405, 405));
    }

    #[test]
    fn cross_site_requests_differ_from_links() {
        let guard = Guard::new("127.0.0.1:80".parse().unwrap(), None);
        let from = |site: &str, dest: &str| {
            let request = asked("localhost:80").header("Sec-Fetch-Site", site);
            status(&guard, request.header("Sec-Fetch-Dest", dest))
        };
        assert_eq!((from("cross-site", "image"), from("same-site", "iframe")), (403, 403));
        assert_eq!((from("cross-site", "document"), from("none", "document")), (200, 200));
        assert_eq!(from("same-origin", "empty"), 200);
    }

    #[test]
    fn token_is_required_and_removed_from_url() {
        let token = Token::random().unwrap();
        let secret = token.as_str();
        let guard = Guard::new("0.0.0.0:80".parse().unwrap(), Some(token.clone()));
        let url = guard.url("10.0.0.1:80".parse().unwrap());
        assert!(url.ends_with(&format!("http://10.0.0.1:80/?token={secret}")));
        assert_eq!(status(&guard, asked("10.0.0.1:80")), 401);
        let by = |name: &str, said: &str| status(&guard, asked("10.0.0.1:80").header(name, said));
        assert_eq!(by("Authorization", &format!("Bearer {secret}")), 200);
        assert_eq!((by("Authorization", "Bearer x"), by("Authorization", secret)), (401, 401));
        assert_eq!(by("Cookie", &format!("a=b; senesce-80={secret}")), 200);
        assert_eq!((by("Cookie", &format!("senesce-81={secret}")), by("Cookie", "senesce-80=")), (401, 401));
        for start in ["/", "//", "/\\", "/\\/"] {
            let entered = asked("10.0.0.1:80").uri(format!("{start}evil.example/x?q=a&token={secret}"));
            let entered = refusal(&guard, entered).unwrap();
            assert_eq!(entered.status(), StatusCode::SEE_OTHER, "{start}");
            assert_eq!(entered.headers()["location"], "/evil.example/x?q=a", "{start}");
            let cookie = entered.headers()["set-cookie"].to_str().unwrap();
            assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
        }
        assert_eq!(status(&guard, asked("10.0.0.1:80").uri("/?token=x")), 401);
    }
}

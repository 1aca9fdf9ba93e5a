//! Access control.

use crate::http::{Request, Response};
use crate::token::Token;
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

    /// Admits a request, or returns the response that rejects it.
    pub fn admit(&self, request: &Request) -> Result<(), Response> {
        // Another site may point its name to this machine and then read the responses (DNS rebinding).
        if !request.host.as_deref().is_some_and(|host| self.is_ours(host)) {
            let port = self.port;
            return Err(Response::plain(
                421,
                &format!(
                    "This page is not served under that name. Use http://{}:{port}/ or the IP address.",
                    self.hosts.join(&format!(":{port}/ or http://"))
                ),
            ));
        }
        if request.method != "GET" && request.method != "HEAD" {
            return Err(Response::plain(405, "This server is read-only.").with("Allow", "GET, HEAD"));
        }
        // Another site cannot read the response, but could infer the contents from its time or size.
        if request.is_part_of_another {
            return Err(Response::plain(403, "Cross-site request refused. Open the address directly."));
        }
        let Some(token) = &self.token else { return Ok(()) };
        if let Some(said) = request.query.get("token") {
            return Err(match token.is(said) {
                true => {
                    // Remove the token from the URL, which is visible and stored in histories.
                    let there = request.query.with("token", None).at(&path_of(request));
                    let cookie =
                        format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie(), token.as_str());
                    Response::redirect(&there).with("Set-Cookie", &cookie)
                }
                false => unknown(),
            });
        }
        let bearer = request.authorization.as_deref().and_then(|said| said.strip_prefix("Bearer "));
        let name = self.cookie();
        let cookies = request.cookies.split(';').filter_map(|cookie| cookie.trim().split_once('='));
        let mut said = cookies.filter(|(one, _)| *one == name).map(|(_, value)| value).chain(bearer);
        match said.any(|said| token.is(said.trim())) {
            true => Ok(()),
            false => Err(unknown()),
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

/// The path, encoded again, without a leading double slash, which would name another host.
fn path_of(request: &Request) -> String {
    format!("/{}", crate::query::encode(request.path.trim_start_matches('/')))
}

fn unknown() -> Response {
    let text = "This page requires a token. Open the address that `senesce serve` printed, or send \
                `Authorization: Bearer TOKEN`.";
    Response::plain(401, text).with("WWW-Authenticate", "Bearer")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Query;

    fn asked(host: &str) -> Request {
        Request {
            method: "GET".to_owned(),
            path: "/run/1/2".to_owned(),
            host: Some(host.to_owned()),
            ..Request::default()
        }
    }

    fn status(guard: &Guard, request: &Request) -> u16 {
        guard.admit(request).err().map_or(200, |refusal| refusal.status)
    }

    #[test]
    fn only_own_host_names_are_admitted() {
        let guard = Guard::new("127.0.0.1:8080".parse().unwrap(), None);
        for host in ["localhost:8080", "LocalHost:8080", "127.0.0.1:8080", "[::1]:8080"] {
            assert_eq!(status(&guard, &asked(host)), 200, "{host}");
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
            assert_eq!(status(&guard, &asked(host)), 421, "{host}");
        }
        assert_eq!(status(&guard, &Request { host: None, ..asked("") }), 421);
        let open = Guard::new("0.0.0.0:80".parse().unwrap(), None);
        assert_eq!(
            (status(&open, &asked("10.0.0.1")), status(&open, &asked("elsewhere.example"))),
            (200, 421)
        );
    }

    #[test]
    fn only_read_requests_are_admitted() {
        let guard = Guard::new("127.0.0.1:80".parse().unwrap(), None);
        let by =
            |method: &str| status(&guard, &Request { method: method.to_owned(), ..asked("localhost:80") });
        let part = Request { is_part_of_another: true, ..asked("localhost:80") };
        assert_eq!((status(&guard, &part), by("head")), (403, 405));
        assert_eq!((by("GET"), by("HEAD"), by("POST"), by("DELETE"), by("get")), (200, 200, 405, 405, 405));
    }

    #[test]
    fn token_is_required_and_removed_from_url() {
        let token = Token::random().unwrap();
        let guard = Guard::new("0.0.0.0:80".parse().unwrap(), Some(token.clone()));
        assert!(
            guard
                .url("10.0.0.1:80".parse().unwrap())
                .ends_with(&format!("http://10.0.0.1:80/?token={}", token.as_str()))
        );
        let plain = asked("10.0.0.1:80");
        assert_eq!(status(&guard, &plain), 401);
        let by_header =
            |said: String| status(&guard, &Request { authorization: Some(said), ..plain.clone() });
        assert_eq!(by_header(format!("Bearer {}", token.as_str())), 200);
        assert_eq!((by_header("Bearer x".to_owned()), by_header(token.as_str().to_owned())), (401, 401));
        let by_cookie = |said: String| status(&guard, &Request { cookies: said, ..plain.clone() });
        assert_eq!(by_cookie(format!("a=b; senesce-80={}", token.as_str())), 200);
        assert_eq!(
            (by_cookie(format!("senesce-81={}", token.as_str())), by_cookie("senesce-80=".to_owned())),
            (401, 401)
        );
        let query = Query::parse(&format!("q=a&token={}", token.as_str()));
        let refusal = guard
            .admit(&Request { query, path: "//evil.example/x".to_owned(), ..plain.clone() })
            .unwrap_err();
        let sent = String::from_utf8(refusal.bytes(false, None)).unwrap();
        assert!(
            sent.starts_with("HTTP/1.1 303") && sent.contains("Location: /evil.example/x?q=a\r\n"),
            "{sent}"
        );
        assert!(sent.contains("; HttpOnly; SameSite=Strict; Path=/\r\n"));
        let wrong = Request { query: Query::parse("token=x"), ..plain };
        assert_eq!(status(&guard, &wrong), 401);
    }
}

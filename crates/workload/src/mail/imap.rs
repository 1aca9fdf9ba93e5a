//! The subset of IMAP (RFC 3501; UIDPLUS, RFC 4315; non-synchronizing literals, RFC 7888) that inserts and
//! deletes messages.
//!
//! Each command waits for its response, like the commands of a mail client. Pipelined commands would be
//! faster but change the workload: Dovecot then combines its writes, and never renames a message that is
//! marked and expunged.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// A server that is silent for this long is stuck; syncing a message to a slow disk takes less.
const PATIENCE: Duration = Duration::from_secs(120);
/// Upper limit of a response line.
const LONGEST_LINE_BYTES: u64 = 64 << 10;

/// A response of the server.
#[derive(Debug, PartialEq, Eq)]
enum Response {
    /// A command has completed, successfully if `ok`.
    Done { tag: u32, ok: bool, text: String },
    /// A message was removed from the open mailbox.
    Expunged,
    /// Any other response.
    Other,
}

/// The connection of a logged-in user.
pub(super) struct Session {
    stream: BufReader<TcpStream>,
    /// The command being sent.
    out: Vec<u8>,
    /// The number of commands sent; the number of a command is its tag.
    tag: u32,
}

/// The effects of a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Removed messages.
    pub expunged: u32,
    /// The UID assigned to the message.
    pub uid: Option<u32>,
}

impl Session {
    /// Connects to a server on the loopback device.
    pub fn connect(port: u16) -> io::Result<Session> {
        let stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let mut session = Session { stream: BufReader::new(stream), out: Vec::new(), tag: 0 };
        let greeting = session.line()?;
        match greeting.starts_with(b"* OK") {
            true => Ok(session),
            false => Err(io::Error::other("the server on this port does not greet as an IMAP server")),
        }
    }

    /// Executes a command without a message. A command that the server rejects is an error.
    pub fn command(&mut self, command: &str) -> io::Result<Done> {
        self.run(format_args!("{command}\r\n"), b"", command)
    }

    /// Appends a message, with CRLF line ends, to a mailbox.
    pub fn append(&mut self, mailbox: &str, message: &[u8]) -> io::Result<Done> {
        let command = format!("APPEND {mailbox}");
        self.run(format_args!("{command} {{{}+}}\r\n", message.len()), message, &command)
    }

    /// Sends a command and reads all responses to it. Errors refer to the command as `name`.
    fn run(&mut self, line: fmt::Arguments, literal: &[u8], name: &str) -> io::Result<Done> {
        self.tag += 1;
        self.out.clear();
        write!(self.out, "{} {line}", self.tag)?;
        if !literal.is_empty() {
            self.out.extend_from_slice(literal);
            self.out.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&self.out)?;
        let mut done = Done::default();
        loop {
            match parse(&self.line()?) {
                Response::Expunged => done.expunged += 1,
                Response::Other => {}
                Response::Done { tag, ok: true, text } if tag == self.tag => {
                    done.uid = appended_uid(&text);
                    return Ok(done);
                }
                Response::Done { text, .. } => return Err(io::Error::other(format!("{name}: {text}"))),
            }
        }
    }

    /// Logs out, and waits until the server has closed the connection.
    pub fn log_out(&mut self) -> io::Result<()> {
        self.command("LOGOUT")?;
        io::copy(&mut self.stream, &mut io::sink()).map(|_| ())
    }

    /// The next line of the server, without the contents of literals and without its line end.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            let left = LONGEST_LINE_BYTES.saturating_sub(line.len() as u64);
            (&mut self.stream).take(left).read_until(b'\n', &mut line)?;
            if !line.ends_with(b"\n") {
                return Err(io::Error::other(
                    "the server closed the connection or sent an unterminated line",
                ));
            }
            while line.ends_with(b"\n") || line.ends_with(b"\r") {
                line.pop();
            }
            let Some(literal_bytes) = literal_bytes(&line) else { return Ok(line) };
            io::copy(&mut (&mut self.stream).take(literal_bytes), &mut io::sink())?;
        }
    }
}

/// The byte count of a line that ends with `{count}`.
fn literal_bytes(line: &[u8]) -> Option<u64> {
    let inner = line.strip_suffix(b"}")?;
    let digits = &inner[inner.iter().rposition(|&byte| byte == b'{')? + 1..];
    // Rejects signs, and counts larger than any memory.
    if digits.is_empty() || digits.len() > 10 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn parse(line: &[u8]) -> Response {
    let text = String::from_utf8_lossy(line);
    let mut words = text.splitn(3, ' ');
    let (Some(tag), Some(second)) = (words.next(), words.next()) else { return Response::Other };
    let third = words.next().unwrap_or_default();
    if tag == "*" {
        let expunged = third.eq_ignore_ascii_case("EXPUNGE") && second.parse::<u32>().is_ok();
        return if expunged { Response::Expunged } else { Response::Other };
    }
    match tag.parse() {
        Ok(tag) => Response::Done {
            tag,
            ok: second.eq_ignore_ascii_case("OK"),
            text: format!("{second} {third}").trim_end().to_owned(),
        },
        Err(_) => Response::Other,
    }
}

/// The UID in `OK [APPENDUID validity uid]`.
fn appended_uid(text: &str) -> Option<u32> {
    let code = text.split_once("[APPENDUID ")?.1.split_once(']')?.0;
    code.split_once(' ')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::TcpListener;

    /// Sends `answer` once the client has sent a line, then closes the connection.
    fn session_with(answer: &'static [u8]) -> Session {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"* OK ready\r\n").unwrap();
            BufReader::new(&stream).read_until(b'\n', &mut Vec::new()).unwrap();
            stream.write_all(answer).unwrap();
        });
        Session::connect(port).unwrap()
    }

    #[test]
    fn responses_are_read_completely() {
        let answer = b"* 3 EXISTS\r\n* OK note {7}\r\n1 NO\r\n! and more\r\n* 2 EXPUNGE\r\n1 OK done\r\n";
        let done = session_with(answer).command("UID EXPUNGE 7").unwrap();
        assert_eq!(done, Done { expunged: 1, uid: None }, "the literal belongs to the untagged response");
        let done = session_with(b"1 OK [APPENDUID 5 31]\r\n").append("m0", b"text").unwrap();
        assert_eq!(done, Done { expunged: 0, uid: Some(31) });
    }

    #[test]
    fn error_names_failed_command() {
        let error =
            session_with(b"* 2 EXPUNGE\r\n1 NO [OVERQUOTA] full\r\n").append("m1", b"text").unwrap_err();
        assert_eq!(error.to_string(), "APPEND m1: NO [OVERQUOTA] full");
        let error = session_with(b"1 OK").command("NOOP").unwrap_err();
        assert!(error.to_string().contains("closed the connection"), "{error}");
    }

    #[test]
    fn appended_uid_is_parsed() {
        assert_eq!(appended_uid("OK [APPENDUID 1795273880 31] done (0.1 secs)."), Some(31));
        for wrong in
            ["OK", "OK [APPENDUID 1]", "OK [APPENDUID 1 ]", "OK [APPENDUID 1 x] ", "OK [APPENDUID 1 2"]
        {
            assert_eq!(appended_uid(wrong), None);
        }
    }

    proptest! {
        #[test]
        fn parser_accepts_any_line(line: Vec<u8>, text: String) {
            parse(&line);
            literal_bytes(&line);
            appended_uid(&text);
        }

        #[test]
        fn valid_responses_are_parsed(tag: u32, uid: u32, ok: bool, text in "[ -~]*[!-~]") {
            let status = if ok { "OK" } else { "NO" };
            let parsed = parse(format!("{tag} {status} {text}").as_bytes());
            prop_assert_eq!(parsed, Response::Done { tag, ok, text: format!("{status} {text}") });
            prop_assert_eq!(parse(format!("* {tag} EXPUNGE").as_bytes()), Response::Expunged);
            prop_assert_eq!(appended_uid(&format!("OK [APPENDUID {tag} {uid}] {text}")), Some(uid));
            prop_assert_eq!(literal_bytes(format!("{text} {{{uid}}}").as_bytes()), Some(uid.into()));
        }
    }
}

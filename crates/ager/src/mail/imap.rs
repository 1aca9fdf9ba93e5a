//! What is needed of IMAP (RFC 3501; UIDPLUS, RFC 4315; non-synchronizing literals, RFC 7888) to put messages into
//! mailboxes and to take them out.
//!
//! The commands of one [`Session::run`] go to the server together, without waiting for an answer between them.

use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// A server that says nothing for so long does not work; forcing a message to a slow disk takes less.
const PATIENCE: Duration = Duration::from_secs(120);
/// No line of an answer is as long.
const LONGEST_LINE_BYTES: u64 = 64 << 10;

/// What came back from the server.
#[derive(Debug, PartialEq, Eq)]
enum Response {
    /// A command is done, well if `ok`.
    Done { tag: u32, ok: bool, text: String },
    /// A message is gone from the open mailbox.
    Expunged,
    /// Anything else that the server finds worth saying.
    Other,
}

/// A connection of a user who has logged in.
pub(super) struct Session {
    stream: BufReader<TcpStream>,
    /// Commands that have not been sent yet.
    out: Vec<u8>,
    tags: u32,
    /// Which commands were not answered yet, as they are named in errors; the last one has the tag `tags`.
    names: Vec<String>,
}

/// What the commands of one [`Session::run`] did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Messages that are gone.
    pub expunged: u32,
    /// The number that a message got.
    pub uid: Option<u32>,
}

impl Session {
    /// Connects to a server on this machine.
    pub fn connect(port: u16) -> io::Result<Session> {
        let stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let mut session =
            Session { stream: BufReader::new(stream), out: Vec::new(), tags: 0, names: Vec::new() };
        let greeting = session.line()?;
        match greeting.starts_with(b"* OK") {
            true => Ok(session),
            false => Err(io::Error::other("what listens there does not greet as an IMAP server does")),
        }
    }

    /// Adds a command without a message.
    pub fn command(&mut self, command: &str) -> &mut Session {
        self.begin(command.to_owned());
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// Adds the command that puts a message, with the line ends of the wire, into a mailbox.
    pub fn append(&mut self, mailbox: &str, message: &[u8]) -> &mut Session {
        self.begin(format!("APPEND {mailbox}"));
        write!(self.out, " {{{}+}}\r\n", message.len()).expect("writing to memory does not fail");
        self.out.extend_from_slice(message);
        self.out.extend_from_slice(b"\r\n");
        self
    }

    fn begin(&mut self, command: String) {
        self.tags += 1;
        write!(self.out, "{} {command}", self.tags).expect("writing to memory does not fail");
        self.names.push(command);
    }

    /// Sends the commands that were added and waits until all are done. The first that fails is an error.
    pub fn run(&mut self) -> io::Result<Done> {
        self.stream.get_mut().write_all(&self.out)?;
        self.out.clear();
        let first = self.tags + 1 - self.names.len() as u32;
        let mut done = Done::default();
        for (tag, name) in (first..).zip(std::mem::take(&mut self.names)) {
            loop {
                match parse(&self.line()?) {
                    Response::Expunged => done.expunged += 1,
                    Response::Other => {}
                    Response::Done { tag: answered, ok: true, text } if answered == tag => {
                        done.uid = done.uid.or(appended_uid(&text));
                        break;
                    }
                    Response::Done { text, .. } => return Err(io::Error::other(format!("{name}: {text}"))),
                }
            }
        }
        Ok(done)
    }

    /// Says goodbye, and waits until the server has let go of everything.
    pub fn log_out(&mut self) -> io::Result<()> {
        self.command("LOGOUT").run()?;
        io::copy(&mut self.stream, &mut io::sink()).map(|_| ())
    }

    /// The next line of the server, without literals that it may contain, and without its end.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            let left = LONGEST_LINE_BYTES.saturating_sub(line.len() as u64);
            (&mut self.stream).take(left).read_until(b'\n', &mut line)?;
            if !line.ends_with(b"\n") {
                return Err(io::Error::other("the server closed the connection or sent a line without end"));
            }
            while line.ends_with(b"\n") || line.ends_with(b"\r") {
                line.pop();
            }
            let Some(literal_bytes) = literal_bytes(&line) else { return Ok(line) };
            io::copy(&mut (&mut self.stream).take(literal_bytes), &mut io::sink())?;
        }
    }
}

/// How many bytes follow a line that ends with `{count}`.
fn literal_bytes(line: &[u8]) -> Option<u64> {
    let inner = line.strip_suffix(b"}")?;
    let digits = &inner[inner.iter().rposition(|&byte| byte == b'{')? + 1..];
    // A count that no memory has is no count, and neither is one with a sign.
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

/// The number in `OK [APPENDUID validity number]`.
fn appended_uid(text: &str) -> Option<u32> {
    let code = text.split_once("[APPENDUID ")?.1.split_once(']')?.0;
    code.split_once(' ')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::TcpListener;

    /// Answers all that a client sends with `answer`, once it has sent a line, then hangs up.
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
    fn commands_that_were_sent_together_are_waited_for() {
        let mut session = session_with(
            b"* 3 EXISTS\r\n1 OK [READ-WRITE] open\r\n* OK note {5}\r\n9 NO!* 2 EXPUNGE\r\n2 OK done\r\n",
        );
        let done = session.command("SELECT m0").command("UID EXPUNGE 7").run().unwrap();
        assert_eq!(done, Done { expunged: 0, uid: None }, "the literal belongs to the note");
    }

    #[test]
    fn a_command_that_fails_is_named() {
        let mut session = session_with(b"1 OK\r\n* 2 EXPUNGE\r\n2 NO [OVERQUOTA] full\r\n");
        let error = session.command("SELECT m0").append("m1", b"text").run().unwrap_err();
        assert_eq!(error.to_string(), "APPEND m1: NO [OVERQUOTA] full");
        let error = session_with(b"1 OK").command("NOOP").run().unwrap_err();
        assert!(error.to_string().contains("closed the connection"), "{error}");
    }

    #[test]
    fn the_number_of_a_message_is_read() {
        assert_eq!(appended_uid("OK [APPENDUID 1795273880 31] done (0.1 secs)."), Some(31));
        for wrong in
            ["OK", "OK [APPENDUID 1]", "OK [APPENDUID 1 ]", "OK [APPENDUID 1 x] ", "OK [APPENDUID 1 2"]
        {
            assert_eq!(appended_uid(wrong), None);
        }
    }

    proptest! {
        #[test]
        fn no_line_breaks_the_parser(line: Vec<u8>, text: String) {
            parse(&line);
            literal_bytes(&line);
            appended_uid(&text);
        }

        #[test]
        fn what_servers_say_is_understood(tag: u32, uid: u32, ok: bool, text in "[ -~]*[!-~]") {
            let status = if ok { "OK" } else { "NO" };
            let parsed = parse(format!("{tag} {status} {text}").as_bytes());
            prop_assert_eq!(parsed, Response::Done { tag, ok, text: format!("{status} {text}") });
            prop_assert_eq!(parse(format!("* {tag} EXPUNGE").as_bytes()), Response::Expunged);
            prop_assert_eq!(appended_uid(&format!("OK [APPENDUID {tag} {uid}] {text}")), Some(uid));
            prop_assert_eq!(literal_bytes(format!("{text} {{{uid}}}").as_bytes()), Some(uid.into()));
        }
    }
}

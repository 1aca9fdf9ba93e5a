//! The plan executed by a real mail server: Dovecot, driven over IMAP.

use super::imap::Session;
use super::message;
use super::plan::Plan;
use super::script::{Event, Script};
use super::server::{Installation, Server};
use crate::Error;
use crate::random::Random;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Users who insert and delete messages on the file system to age.
pub struct Live {
    // The order of the fields is the order of the cleanup.
    running: Option<Running>,
    home: Installation,
    root: PathBuf,
    script: Script,
    users: u32,
    days: u32,
    texts: Random,
    text: Vec<u8>,
    appended: u64,
    next_day: u32,
}

/// A server and a session for each user.
struct Running {
    sessions: Vec<User>,
    _server: Server,
}

struct User {
    session: Session,
    open: Option<u32>,
}

impl Live {
    /// Starts a server with the mail of its users in `root`, a new or empty directory. Without a `port` a
    /// free one is used. The server ends when this value is dropped, or when the thread that started it ends.
    pub fn begin(
        plan: &Plan,
        root: &Path,
        port: Option<u16>,
        session: &Arc<disk::Session>,
    ) -> Result<Live, Error> {
        let root = fresh_root(root)?;
        let home = Installation::make(&root, port, session)?;
        let mut live = Live {
            running: None,
            home,
            root,
            script: plan.script(),
            users: plan.parameters().users,
            days: plan.parameters().days,
            texts: Random::new(plan.seed(), 1),
            text: Vec::new(),
            appended: 0,
            next_day: 0,
        };
        live.resume()?;
        Ok(live)
    }

    /// Executes a day of the plan; restarts a paused server first. Day 0 is the filling; the others follow in
    /// order, each once. After an error the mail no longer matches the plan.
    pub fn run_day(&mut self, day: u32) -> Result<(), Error> {
        if day != self.next_day || day > self.days {
            let why = format!("the next day is {}, of {} and the filling", self.next_day, self.days);
            return Err(Error::MailServer { doing: format!("running day {day} of the mail workload"), why });
        }
        self.resume()?;
        self.next_day += 1;
        while let Some(event) = self.script.next() {
            if disk::interrupted() {
                return Err(Error::Interrupted);
            }
            if let Event::DayEnds { .. } = event {
                break;
            }
            self.play(event)?;
        }
        Ok(())
    }

    /// Stops the server, so that the file system can be unmounted.
    pub fn pause(&mut self) -> Result<(), Error> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        let parting = running.sessions.iter_mut().try_for_each(|user| user.session.log_out());
        drop(running);
        parting.map_err(|error| self.failed("logging out", &error))
    }

    /// Restarts the server unless it is running.
    pub fn resume(&mut self) -> Result<(), Error> {
        if self.running.is_none() {
            let server = self.home.start(&self.root)?;
            let log_in = |user| {
                let session = self.home.log_in(&server, &user_name(user))?;
                Ok::<User, Error>(User { session, open: None })
            };
            let sessions = (0..self.users).map(log_in).collect::<Result<_, _>>()?;
            self.running = Some(Running { sessions, _server: server });
        }
        Ok(())
    }

    /// Stops the server permanently.
    pub fn end(mut self) -> Result<(), Error> {
        self.pause()
    }

    fn play(&mut self, event: Event) -> Result<(), Error> {
        let running = self.running.as_mut().expect("the server runs during a day");
        let done = match event {
            Event::Create { user, mailbox } => running.sessions[user as usize]
                .session
                .command(&format!("CREATE {}", mailbox_name(mailbox)))
                .map(drop),
            Event::Insert { user, mailbox, uid, size_bytes } => {
                message::write(self.appended, size_bytes, &mut self.texts, &mut self.text);
                self.appended += 1;
                running.sessions[user as usize].insert(mailbox, uid, &self.text)
            }
            Event::Delete { user, mailbox, uid } => running.sessions[user as usize].delete(mailbox, uid),
            Event::DayEnds { .. } => Ok(()),
        };
        done.map_err(|error| self.failed(&describe(event), &error))
    }

    fn failed(&self, doing: &str, error: &io::Error) -> Error {
        let complaint = self.home.complaint().map(|said| format!("; {said}")).unwrap_or_default();
        Error::MailServer { doing: doing.to_owned(), why: format!("{error}{complaint}") }
    }
}

impl User {
    fn insert(&mut self, mailbox: u32, uid: u32, text: &[u8]) -> io::Result<()> {
        match self.session.append(&mailbox_name(mailbox), text)?.uid {
            Some(given) if given == uid => Ok(()),
            given => Err(io::Error::other(format!("the message got UID {given:?} instead of {uid}"))),
        }
    }

    fn delete(&mut self, mailbox: u32, uid: u32) -> io::Result<()> {
        if self.open != Some(mailbox) {
            self.session.command(&format!("SELECT {}", mailbox_name(mailbox)))?;
            self.open = Some(mailbox);
        }
        self.session.command(&format!("UID STORE {uid} +FLAGS.SILENT (\\Deleted)"))?;
        match self.session.command(&format!("UID EXPUNGE {uid}"))?.expunged {
            1 => Ok(()),
            gone => Err(io::Error::other(format!("{gone} messages were expunged instead of 1"))),
        }
    }
}

fn user_name(user: u32) -> String {
    format!("u{user}")
}

fn mailbox_name(mailbox: u32) -> String {
    format!("m{mailbox}")
}

fn describe(event: Event) -> String {
    match event {
        Event::Create { user, mailbox } => format!("creating mailbox m{mailbox} of u{user}"),
        Event::Insert { user, mailbox, uid, size_bytes } => {
            format!("putting message {uid} of {size_bytes} bytes into mailbox m{mailbox} of u{user}")
        }
        Event::Delete { user, mailbox, uid } => {
            format!("deleting message {uid} of mailbox m{mailbox} of u{user}")
        }
        Event::DayEnds { day } => format!("ending day {day}"),
    }
}

/// The directory of all mail. The server's configuration contains its name, so characters with a special
/// meaning there are refused.
fn fresh_root(root: &Path) -> Result<PathBuf, Error> {
    use disk::IoContext as _;
    match std::fs::create_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.context("creating the mail directory", root)?,
    }
    let root = std::fs::canonicalize(root).context("checking", root)?;
    if std::fs::read_dir(&root).context("reading", &root)?.next().is_some() {
        let why = "it is not empty; give a new directory".to_owned();
        return Err(Error::MailServer { doing: format!("storing mail in {}", root.display()), why });
    }
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@=".contains(byte);
    match root.as_os_str().as_encoded_bytes().iter().all(plain) {
        true => Ok(root),
        false => Err(Error::MailServer {
            doing: format!("storing mail in {}", root.display()),
            why: "Dovecot supports names of letters, digits and ._-+@= only; use another directory"
                .to_owned(),
        }),
    }
}

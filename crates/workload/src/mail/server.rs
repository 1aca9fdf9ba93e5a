//! A private Dovecot: its own configuration and directories, an unprivileged port of the loopback device, an
//! ordinary user, and a random password. It ends with the process that started it, in whatever way that
//! process ends.
//!
//! The configuration follows Dovecot's "rootless installation": all its processes run as one user. Root
//! starts it as `nobody`, because Dovecot serves no mail to root, with the capability `dac_override`, because
//! mount points belong to root.

use super::imap::Session;
use crate::Error;
use disk::IoContext as _;
use disk::Scratch;
use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{OpenOptionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Debian's package of the server.
const PACKAGE: &str = "dovecot-imapd";
/// Starting and stopping take a second or two.
const PATIENCE: Duration = Duration::from_secs(20);
/// Number of attempts to start the server on a free port: another program may take the port first.
const TRIES: usize = 5;
/// Dovecot's message if it cannot listen.
const CANNOT_LISTEN: &str = "Failed to start listeners";

/// The parts of a server that survive a restart.
pub(super) struct Installation {
    program: PathBuf,
    dir: Scratch,
    user: User,
    password: String,
    port: Option<u16>,
}

/// The user that the server runs as.
struct User {
    name: String,
    group: String,
    uid: u32,
    gid: u32,
}

impl Installation {
    /// Looks for Dovecot and creates the server's files; `mail` becomes owned by its user. Without a port,
    /// each start finds a free one.
    pub fn make(mail: &Path, port: Option<u16>, session: &Arc<disk::Session>) -> Result<Installation, Error> {
        let program = find_dovecot()?;
        disk::require_tool("setpriv", "util-linux")?;
        let user = User::of_server()?;
        let dir = Scratch::make(session, session.dir(), "mail")?;
        let home = Installation { program, dir, user, password: password()?, port };
        for part in ["base", "state"] {
            home.give(&home.dir.path().join(part), |path| fs::create_dir(path))?;
        }
        home.give(home.dir.path(), |_| Ok(()))?;
        home.give(mail, |_| Ok(()))?;
        Ok(home)
    }

    /// Creates a file or directory and gives it to the server's user.
    fn give(&self, path: &Path, make: impl Fn(&Path) -> io::Result<()>) -> Result<(), Error> {
        make(path)
            .and_then(|()| match geteuid().is_root() {
                true => chown(path, Some(self.user.uid), Some(self.user.gid)),
                false => Ok(()),
            })
            .context("giving the mail server", path)?;
        Ok(())
    }

    /// Starts the server for the Maildirs in `mail` and waits until it answers. The server also ends when the
    /// calling thread ends.
    pub fn start(&self, mail: &Path) -> Result<Server, Error> {
        // Port 0 selects a free one.
        let port = self.port.unwrap_or(0);
        let mut started = self.start_on(bind(port)?, mail);
        for _ in 1..TRIES {
            match &started {
                Err(error) if port == 0 && error.to_string().contains(CANNOT_LISTEN) => {}
                _ => break,
            }
            started = self.start_on(bind(port)?, mail);
        }
        started
    }

    fn start_on(&self, port: u16, mail: &Path) -> Result<Server, Error> {
        let configuration = self.dir.path().join("dovecot.conf");
        let doing = "configuring the mail server in";
        let _ = fs::remove_file(&configuration);
        let open = File::options().write(true).create_new(true).mode(0o600).open(&configuration);
        let written =
            open.and_then(|mut file| io::Write::write_all(&mut file, self.configure(mail, port).as_bytes()));
        written.context(doing, &configuration)?;
        self.give(&configuration, |_| Ok(()))?;
        let said = self.dir.path().join("said");
        let mut command = disk::command("setpriv");
        // The server gets a signal when this process ends; Dovecot's master process ends all others.
        command.args(["--pdeathsig", "TERM"]);
        if geteuid().is_root() {
            command.args(["--clear-groups", "--reuid", &self.user.uid.to_string()]);
            command.args(["--regid", &self.user.gid.to_string(), "--securebits", "+no_setuid_fixup"]);
            command.args(["--inh-caps", "+dac_override", "--ambient-caps", "+dac_override"]);
        }
        command.arg("--").arg(&self.program).arg("-F").arg("-c").arg(&configuration);
        // Ctrl-C goes to this process, which stops the server when it is safe to do so.
        command.process_group(0).current_dir("/");
        let said_file = File::create(&said).context(doing, &said)?;
        let child = command.stdout(Stdio::null()).stderr(said_file).spawn();
        let child = child.context("starting", &self.program)?;
        let mut server = Server { child, port };
        match server.wait_until_ready() {
            Ok(()) => Ok(server),
            Err(why) => {
                drop(server);
                let why = self.complaint().unwrap_or(why);
                Err(Error::MailServer { doing: format!("starting Dovecot on port {port} of 127.0.0.1"), why })
            }
        }
    }

    /// Opens a session of a user.
    pub fn log_in(&self, server: &Server, user: &str) -> Result<Session, Error> {
        let session = Session::connect(server.port).and_then(|mut session| {
            session.command(&format!("LOGIN {user} {}", self.password))?;
            Ok(session)
        });
        session.map_err(|error| {
            let why = self.complaint().unwrap_or_else(|| error.to_string().replace(&self.password, "…"));
            Error::MailServer { doing: format!("logging in as {user}"), why }
        })
    }

    /// The last error in the server's log. The server logs an error slightly after it answers, so this waits
    /// for it.
    pub fn complaint(&self) -> Option<String> {
        let begun = Instant::now();
        loop {
            let written = self.written_complaint();
            if written.is_some() || begun.elapsed() > Duration::from_secs(1) {
                return written;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn written_complaint(&self) -> Option<String> {
        let is_complaint =
            |line: &&str| ["Error: ", "Fatal: ", "Panic: "].iter().any(|word| line.contains(word));
        ["log", "said"].iter().find_map(|name| {
            let text = fs::read_to_string(self.dir.path().join(name)).ok()?;
            Some(format!("Dovecot: {}", text.lines().rfind(is_complaint)?.trim()))
        })
    }

    fn configure(&self, mail: &Path, port: u16) -> String {
        let User { name, group, uid, gid } = &self.user;
        let (dir, mail, password) = (self.dir.path().display(), mail.display(), &self.password);
        format!(
            "protocols = imap\n\
             listen = 127.0.0.1\n\
             base_dir = {dir}/base\n\
             state_dir = {dir}/state\n\
             log_path = {dir}/log\n\
             ssl = no\n\
             disable_plaintext_auth = no\n\
             auth_mechanisms = plain\n\
             default_internal_user = {name}\n\
             default_internal_group = {group}\n\
             default_login_user = {name}\n\
             first_valid_uid = 1\n\
             mail_privileged_group =\n\
             mail_location = maildir:{mail}/%u\n\
             passdb {{\n  driver = static\n  args = password={password}\n}}\n\
             userdb {{\n  driver = static\n  args = uid={uid} gid={gid} home={mail}/%u\n}}\n\
             service imap-login {{\n  chroot =\n  inet_listener imap {{\n    port = {port}\n  }}\n  \
             inet_listener imaps {{\n    port = 0\n  }}\n}}\n\
             service anvil {{\n  chroot =\n}}\n"
        )
    }
}

/// A running server.
pub(super) struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn wait_until_ready(&mut self) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            let answer = Session::connect(self.port);
            match (answer, self.child.try_wait()) {
                (Ok(_), _) => return Ok(()),
                (Err(_), Ok(Some(status))) => return Err(format!("it exited at once, {status}")),
                (Err(error), _) if begun.elapsed() > PATIENCE => return Err(error.to_string()),
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

impl Drop for Server {
    /// Ends all processes of the server. Sessions that must end cleanly have been logged out before.
    fn drop(&mut self) {
        let group = Pid::from_child(&self.child);
        let _ = kill_process_group(group, Signal::TERM);
        let _ = disk::wait_timeout(&mut self.child, PATIENCE);
        // The master waits for its children, so this signal only reaches stuck processes.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

impl User {
    fn of_server() -> Result<User, Error> {
        let named: &[&str] = if geteuid().is_root() { &["nobody"] } else { &[] };
        let id = |flags: &str| {
            let output = disk::run_tool(disk::command("id").arg(flags).args(named), "coreutils")?;
            let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            match output.status.success() && !text.is_empty() {
                true => Ok(text),
                false => Err(Error::MailServer {
                    doing: "finding a user account for the mail server".to_owned(),
                    why: format!("id {flags}: {}", String::from_utf8_lossy(&output.stderr).trim()),
                }),
            }
        };
        let number = |flags| id(flags).map(|text| text.parse().expect("id prints a number"));
        Ok(User { name: id("-un")?, group: id("-gn")?, uid: number("-u")?, gid: number("-g")? })
    }
}

/// Finds Dovecot in a supported version; the error says how to install it.
pub fn find_dovecot() -> Result<PathBuf, Error> {
    let program = find(&[])?;
    check_version(&program)?;
    Ok(program)
}

/// Whether a server can start: Dovecot is installed, and the port, if given, is free.
pub fn ready(port: Option<u16>) -> Result<(), Error> {
    find_dovecot()?;
    bind(port.unwrap_or(0)).map(drop)
}

/// Looks for Dovecot on the PATH, then where Debian installs it, which is only on root's PATH.
fn find(instead: &[PathBuf]) -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual =
        std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")]);
    let dirs: Vec<PathBuf> = if instead.is_empty() { usual.collect() } else { instead.to_vec() };
    let found = dirs
        .iter()
        .map(|dir| dir.join("dovecot"))
        .find(|program| rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok());
    Ok(found.ok_or(disk::Error::MissingTool { tool: "dovecot".to_owned(), package: PACKAGE })?)
}

/// Dovecot 2.4 uses a different configuration syntax.
fn check_version(program: &Path) -> Result<(), Error> {
    let name = program.to_str().expect("the path is valid UTF-8");
    let output = disk::run_tool(disk::command(name).arg("--version"), PACKAGE)?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match version.starts_with("2.3.") && output.status.success() {
        true => Ok(()),
        false => Err(Error::MailServer {
            doing: format!("reading the version of {name}"),
            why: format!("it is \"{version}\", but 2.3 is needed; leave out --live"),
        }),
    }
}

/// Checks that a port is free; port 0 selects one.
fn bind(port: u16) -> Result<u16, Error> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(|error| Error::MailServer {
        doing: format!("binding port {port} of 127.0.0.1 for the mail server"),
        why: format!("{error}; choose another port from 1024 on, or none to pick a free one"),
    })
}

fn password() -> Result<String, Error> {
    let mut bytes = [0; 16];
    let source = Path::new("/dev/urandom");
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("drawing a password from", source)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_server_error_names_package() {
        let empty = tempfile::tempdir().unwrap();
        let error = find(&[empty.path().to_owned()]).unwrap_err().to_string();
        assert!(error.contains("dovecot is not") && error.contains("apt install dovecot-imapd"), "{error}");
        assert!(!error.contains('\n'));
    }

    #[test]
    fn used_port_is_rejected() {
        let holder = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = holder.local_addr().unwrap().port();
        let error = bind(port).unwrap_err().to_string();
        assert!(error.contains(&port.to_string()) && error.contains("in use"), "{error}");
        assert_ne!(bind(0).unwrap(), 0);
    }
}

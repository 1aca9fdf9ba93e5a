//! Repositories that are named by URL: cloned once, with the user's git, settings and credentials, and then
//! read like any other repository.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use super::command::die_with_parent;
use super::repository::Repository;
use crate::Error;

/// What git can clone without running commands that a URL names.
const SCHEMES: [&str; 5] = ["https", "http", "ssh", "git", "file"];

/// The path of the repository that the user named by path or URL. A URL is cloned unless there is a clone
/// already; `note` gets a sentence about it.
pub fn local(repository: &Path, note: impl Fn(&str)) -> Result<PathBuf, Error> {
    match repository.to_str().and_then(Url::parse) {
        Some(url) if !repository.exists() => url.cloned(&note),
        _ => std::path::absolute(repository).map_err(Error::io("finding", repository)),
    }
}

struct Url<'a> {
    scheme: &'a str,
    whole: &'a str,
    /// The name and password before the host.
    user: Option<&'a str>,
    /// The URL without its secrets: name, password and parameters.
    shown: String,
}

impl<'a> Url<'a> {
    fn parse(text: &'a str) -> Option<Url<'a>> {
        let (scheme, rest) = text.split_once("://")?;
        let host = rest.split('/').next()?;
        Some(Url {
            scheme,
            whole: text,
            user: host.rsplit_once('@').map(|(user, _)| user),
            shown: input::without_secrets(text).trim_end_matches('/').to_owned(),
        })
    }

    /// The clone of this URL.
    fn cloned(&self, note: &dyn Fn(&str)) -> Result<PathBuf, Error> {
        if !SCHEMES.contains(&self.scheme) {
            return Err(self.fail(format!(
                "git cannot clone that; give a path, or a URL that begins with {}://",
                SCHEMES.join("://, ")
            )));
        }
        let dir = disk::cache_dir("repositories");
        let path = dir.join(self.name());
        if path.exists() {
            note(&format!(
                "using the clone of {} in {}; remove that directory to clone it anew",
                self.shown,
                path.display()
            ));
            return Ok(path);
        }
        let unusable = |error: io::Error| {
            self.fail(format!(
                "cannot write to {} ({error}); set XDG_CACHE_HOME to another directory, or clone it yourself \
                 and give the path",
                dir.display()
            ))
        };
        fs::create_dir_all(&dir).map_err(unusable)?;
        let lock = File::create(path.with_extension("lock")).map_err(unusable)?;
        let _lock = match disk::FileLock::try_take(lock).map_err(unusable)? {
            Ok(lock) => lock,
            Err(held) => {
                note(&format!("waiting for another run that clones {}", self.shown));
                disk::FileLock::take(held).map_err(unusable)?
            }
        };
        // The other run may have cloned it.
        if path.exists() {
            return Ok(path);
        }
        let part = path.with_extension("part");
        if part.exists() {
            // Of a run that was killed.
            fs::remove_dir_all(&part).map_err(unusable)?;
        }
        note(&format!("cloning {} to {}", self.shown, path.display()));
        let made = self.clone_to(&part).and_then(|()| fs::rename(&part, &path).map_err(unusable));
        if made.is_err() {
            let _ = fs::remove_dir_all(&part);
        }
        made.map(|()| path)
    }

    fn clone_to(&self, part: &Path) -> Result<(), Error> {
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", "--bare", "--", self.whole]).arg(part);
        self.run(clone)?;
        // The clone must not keep the secrets.
        let mut forget = Command::new("git");
        forget.arg("--git-dir").arg(part).args(["config", "remote.origin.url", &self.shown]);
        self.run(forget)?;
        let opened = Repository::open(part);
        opened.map(drop).map_err(|error| match error {
            Error::Git { why, .. } => self.fail(why),
            error => error,
        })
    }

    /// Runs git to its end, or to the interrupt of this run.
    fn run(&self, mut git: Command) -> Result<(), Error> {
        let fail = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => self.fail("git is not on the PATH: apt install git".into()),
            _ => self.fail(format!("cannot run git ({error})")),
        };
        // Fail instead of a question that nobody answers.
        git.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        if std::env::var_os("GIT_SSH_COMMAND").is_none() {
            git.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
        }
        let mut said = tempfile::tempfile().map_err(fail)?;
        let stderr = said.try_clone().map_err(fail)?;
        git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        let mut child = die_with_parent(&mut git).spawn().map_err(fail)?;
        let status: ExitStatus = loop {
            if let Some(status) = disk::wait_timeout(&mut child, Duration::from_millis(50)).map_err(fail)? {
                break status;
            }
            if disk::interrupted() {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Error::Interrupted);
            }
        };
        if status.success() {
            return Ok(());
        }
        if disk::interrupted() {
            return Err(Error::Interrupted);
        }
        let mut text = String::new();
        let _ = io::Seek::rewind(&mut said).and_then(|()| said.read_to_string(&mut text));
        let line = text.lines().find(|line| line.starts_with("fatal:")).or(text.lines().last());
        Err(self.fail(format!(
            "{}; check the URL, the network and your access, or clone it yourself and give the path",
            self.without_secrets(line.unwrap_or("git gave no reason"))
        )))
    }

    /// A message of git without the secrets of the URL.
    fn without_secrets(&self, message: &str) -> String {
        let message = message.replace(self.whole, &self.shown);
        let hidden =
            self.user.filter(|user| !user.is_empty()).map(|user| message.replace(&format!("{user}@"), ""));
        hidden.unwrap_or(message)
    }

    /// The directory of the clone: the end of the URL for people, and a digest of all of it.
    fn name(&self) -> String {
        let end = self.shown.rsplit('/').next().unwrap_or_default().trim_end_matches(".git");
        let plain: String =
            end.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_').take(40).collect();
        let digest = disk::Digest::of(self.shown.as_bytes()).to_string();
        format!("{plain}-{}.git", &digest[..16])
    }

    fn fail(&self, why: String) -> Error {
        Error::Git { action: "cloning", path: self.shown.clone().into(), why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_a_url_are_neither_shown_nor_part_of_the_name() {
        let url = Url::parse("https://me:geheim@example.org/a/linux.git/?token=geheim").unwrap();
        assert_eq!(url.shown, "https://example.org/a/linux.git");
        let plain = Url::parse("https://example.org/a/linux.git").unwrap();
        assert_eq!(url.name(), plain.name());
        assert!(url.name().starts_with("linux-"), "{}", url.name());
        for said in [
            "fatal: unable to access 'https://me:geheim@example.org/a/linux.git/?token=geheim': no",
            "fatal: no password for 'https://me:geheim@example.org'",
        ] {
            assert!(!url.without_secrets(said).contains("geheim"), "{}", url.without_secrets(said));
        }
        let other = Url::parse("https://example.org/b/linux.git").unwrap();
        assert_ne!(other.name(), plain.name());
        assert!(Url::parse("src/linux").is_none());
    }
}

//! Shared parts of the clients: a runtime, timeouts, and error messages of one line without secrets.

use crate::{Error, Variables};
use std::future::Future;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Timeouts of a service.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// How long to wait for an answer; default 8 s.
    pub answer: Duration,
    /// After a client has waited this long without an answer, it sends no more requests, so that a run against a lost server ends soon; default 4 s.
    pub give_up: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { answer: Duration::from_secs(8), give_up: Duration::from_secs(4) }
    }
}

/// The client of one thread for a service.
pub struct Client {
    /// Present until the drop.
    runtime: Option<Runtime>,
    secrets: Vec<String>,
    timeouts: Timeouts,
    given_up: bool,
}

impl Client {
    /// A client, and the variables of the environment and of the file `credentials`. No message of the client contains one of their secrets.
    pub fn open(credentials: Option<&Path>, timeouts: Timeouts) -> Result<(Client, Variables), Error> {
        // The cryptography provider of encrypted connections serves all of them; an installed one is kept.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let variables = Variables::load(credentials)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = Some(runtime.map_err(|error| Error(error.to_string()))?);
        Ok((Client { runtime, secrets: variables.secrets(), timeouts, given_up: false }, variables))
    }

    /// The timeout of an answer.
    pub fn answer_timeout(&self) -> Duration {
        self.timeouts.answer
    }

    /// Runs a task in the background, while the client waits for answers.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime().spawn(task);
    }

    /// Adds a secret to hide from messages.
    pub fn hide(&mut self, secret: &str) {
        self.secrets.push(secret.to_owned());
    }

    /// Whether the client sends no more requests.
    pub fn has_given_up(&self) -> bool {
        self.given_up
    }

    /// Waits for an answer.
    pub fn wait<T, E: std::error::Error + 'static>(
        &mut self,
        request: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Error> {
        if self.given_up {
            return Err(Error("skipped: the service did not answer an earlier request".to_owned()));
        }
        let (begun, timeout) = (Instant::now(), self.timeouts.answer);
        let answered = self.runtime().block_on(async { tokio::time::timeout(timeout, request).await });
        let result = match answered {
            Ok(answer) => answer.map_err(|error| self.redacted_error(&error)),
            Err(_) => Err(Error(format!("no answer from the service for {} s", timeout.as_secs()))),
        };
        self.given_up = result.is_err() && begun.elapsed() > self.timeouts.give_up;
        result
    }

    /// An error and its causes in one line. Text of a cause that its parent has already included is omitted.
    pub fn redacted_error(&self, error: &(dyn std::error::Error + 'static)) -> Error {
        let mut said = String::new();
        let mut next = Some(error);
        while let Some(error) = next {
            let words = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            if !said.contains(&words) {
                said = if said.is_empty() { words } else { format!("{said}: {words}") };
            }
            next = error.source();
        }
        for secret in self.secrets.iter().filter(|secret| !secret.is_empty()) {
            said = said.replace(secret.as_str(), "[secret]");
        }
        Error(said)
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("the runtime exists until the drop")
    }
}

impl Drop for Client {
    /// Ends without waiting for a name service or a server that may never answer.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

//! What the clients have in common: a runtime, an end to waiting, and messages of one line without secrets.

use bench::metadata::Failure;
use std::error::Error;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// How long services may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How long an answer is waited for: 8 s.
    pub answer: Duration,
    /// A service that has let a rank wait so long for nothing is not asked by it again, so that a run against one that is gone ends soon: 4 s.
    pub futile: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { answer: Duration::from_secs(8), futile: Duration::from_secs(4) }
    }
}

/// What a rank asks a service with.
pub struct Client {
    /// There until the end.
    runtime: Option<Runtime>,
    secrets: Vec<String>,
    patience: Patience,
    given_up: bool,
}

impl Client {
    /// A client whose messages hold none of `secrets`.
    pub fn new(secrets: Vec<String>, patience: Patience) -> Result<Client, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Client { runtime: Some(runtime), secrets, patience, given_up: false })
    }

    /// How long it waits for an answer.
    pub fn patience(&self) -> Duration {
        self.patience.answer
    }

    /// Lets a task go on whenever something is waited for.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime().spawn(task);
    }

    /// Adds a secret that was not known at first.
    pub fn hide(&mut self, secret: &str) {
        self.secrets.push(secret.to_owned());
    }

    /// Whether the service is asked no more.
    pub fn has_given_up(&self) -> bool {
        self.given_up
    }

    /// Waits for an answer.
    pub fn wait<T, E: Error + 'static>(
        &mut self,
        request: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Failure> {
        if self.given_up {
            return Err(Failure("skipped: the service did not answer an earlier request".to_owned()));
        }
        let (begun, patience) = (Instant::now(), self.patience.answer);
        let answered = self.runtime().block_on(async { tokio::time::timeout(patience, request).await });
        let result = match answered {
            Ok(answer) => answer.map_err(|error| self.failure(&error)),
            Err(_) => Err(Failure(format!("no answer from the service for {} s", patience.as_secs()))),
        };
        self.given_up = result.is_err() && begun.elapsed() > self.patience.futile;
        result
    }

    /// An error and its causes in one line. What a cause says that the error in front of it has said already is left out.
    pub fn failure(&self, error: &(dyn Error + 'static)) -> Failure {
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
        Failure(said)
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("there until the end")
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

//! A mail server as a workload. A round is a day; day 0 is the initial filling.

use super::Driver;
use super::traced::Traced;
use crate::Error;
use disk::Session;
use results::Watch;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use workload::mail::{Extracted, Live, Parameters, Plan};

/// A mail server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mail {
    /// Whether a real Dovecot serves the mail; otherwise its recorded operations are replayed.
    pub live: bool,
    /// The port of the real server; by default a free port.
    pub port: Option<u16>,
    /// The amount of mail and its changes.
    pub mail: Parameters,
}

impl Mail {
    /// Refuses impossible parameters, and a server that cannot run.
    pub(super) fn check(&self, seed: u64, last: u64) -> Result<(), Error> {
        self.plan(seed, last)?;
        if self.live {
            workload::mail::ready(self.port)?;
        }
        Ok(())
    }

    fn plan(&self, seed: u64, last: u64) -> Result<Plan, Error> {
        let days = u32::try_from(last).map_err(|_| Error::Refused(format!("{last} days are too many")))?;
        Ok(Plan::new(Parameters { days, ..self.mail }, seed)?)
    }

    pub(super) fn driver(
        &self,
        seed: u64,
        last: u64,
        session: &Arc<Session>,
    ) -> Result<Box<dyn Driver>, Error> {
        let plan = self.plan(seed, last)?;
        if self.live {
            let session = session.clone();
            return Ok(Box::new(Server { plan, port: self.port, session, live: None, next_day: 0 }));
        }
        Ok(Box::new(Traced::new(Box::new(Extracted::new(&plan)), seed, None)))
    }
}

/// A real server.
struct Server {
    plan: Plan,
    port: Option<u16>,
    session: Arc<Session>,
    live: Option<Live>,
    next_day: u32,
}

impl Driver for Server {
    fn is_fresh(&self) -> bool {
        false
    }

    fn advance(&mut self, root: &Path, round: u64, watch: &mut dyn Watch) -> Result<(), Error> {
        let live = match &mut self.live {
            Some(live) => {
                live.resume()?;
                live
            }
            none => none.insert(Live::begin(&self.plan, &root.join("mail"), self.port, &self.session)?),
        };
        while u64::from(self.next_day) <= round {
            watch.at(self.next_day.into());
            live.run_day(self.next_day)?;
            self.next_day += 1;
        }
        // A file system in use by a server cannot be unmounted.
        Ok(live.pause()?)
    }
}

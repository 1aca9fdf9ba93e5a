//! A mail server as a workload. A round is a day; day 0 is the initial filling.

use super::{Extracted, Live, Parameters, Plan};
use crate::interface::last_of;
use crate::traced::Traced;
use crate::{Driver, Error, Site, Start, Workload};
use disk::Session;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
    fn plan(&self, seed: u64, last: u64) -> Result<Plan, Error> {
        let days = u32::try_from(last).map_err(|_| Error::Refused(format!("{last} days are too many")))?;
        Plan::new(Parameters { days, ..self.mail }, seed)
    }
}

#[typetag::serde(name = "mail")]
impl Workload for Mail {
    /// Refuses impossible parameters, and a server that cannot run.
    fn check(&self, seed: u64, rounds: &[u64]) -> Result<(), Error> {
        self.plan(seed, last_of(rounds))?;
        if self.live {
            super::ready(self.port)?;
        }
        Ok(())
    }

    fn start(&self, start: &Start) -> Result<Box<dyn Driver>, Error> {
        let plan = self.plan(start.seed, start.last_round)?;
        if self.live {
            let session = start.session.clone();
            return Ok(Box::new(Server { plan, port: self.port, session, live: None, next_day: 0 }));
        }
        Ok(Box::new(Traced::new(Box::new(Extracted::new(&plan)), start.seed, None)))
    }

    /// As published.
    fn default_last_round(&self) -> Option<u64> {
        Some(self.mail.days.into())
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
    fn advance(&mut self, site: &mut Site, round: u64) -> Result<(), Error> {
        let live = match &mut self.live {
            Some(live) => {
                live.resume()?;
                live
            }
            none => none.insert(Live::begin(
                &self.plan,
                &site.target.root().join("mail"),
                self.port,
                &self.session,
            )?),
        };
        while u64::from(self.next_day) <= round {
            site.observer.at(self.next_day.into());
            live.run_day(self.next_day)?;
            self.next_day += 1;
        }
        // A file system in use by a server cannot be unmounted.
        live.pause()
    }
}

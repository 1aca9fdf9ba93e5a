//! The plan of a mail workload: its parameters and a seed determine all events.

use super::script::Script;
use crate::Error;
use serde::{Deserialize, Serialize};

/// Each user has a connection, and Dovecot's default limit is 100.
const MAX_USERS: u32 = 100;
/// IMAP numbers messages with 32 bits; all events are visited one by one.
const MAX_EVENTS: u64 = 1 << 32;
/// Each mailbox has four directories.
const MAX_MAILBOXES: u64 = 1 << 20;
/// A message is held in memory.
const MAX_BYTES: u32 = 64 << 20;

/// The amount of mail and its changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Number of users.
    pub users: u32,
    /// Mailboxes per user, without the inbox, which stays empty.
    pub mailboxes: u32,
    /// Initial messages per mailbox.
    pub messages: u32,
    /// Size of the smallest message in bytes.
    pub least_bytes: u32,
    /// Size of the largest message in bytes; sizes are uniformly distributed.
    pub most_bytes: u32,
    /// Insertions and deletions per day, in all mailboxes together.
    pub operations: u32,
    /// Days after the filling.
    pub days: u32,
    /// The probability that an operation is an insertion, from 0 to 1; otherwise it is a deletion.
    pub insert_share: f64,
}

impl Default for Parameters {
    /// The published parameters.
    fn default() -> Parameters {
        Parameters {
            users: 2,
            mailboxes: 80,
            messages: 1000,
            least_bytes: 1,
            most_bytes: 32 << 10,
            operations: 8000,
            days: 100,
            insert_share: 0.5,
        }
    }
}

/// The events of all mailboxes. The same parameters and seed give the same events on every machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    pub(super) parameters: Parameters,
    pub(super) seed: u64,
}

impl Plan {
    /// Checks the parameters; an error names the invalid one.
    pub fn new(parameters: Parameters, seed: u64) -> Result<Plan, Error> {
        let p = &parameters;
        let all_mailboxes = u64::from(p.users) * u64::from(p.mailboxes);
        let refuse = |why: String| Err(Error::Conditions(why));
        if p.users == 0 || p.mailboxes == 0 {
            return refuse(format!(
                "{} users with {} mailboxes each get no mail; at least one of each is required",
                p.users, p.mailboxes
            ));
        }
        if p.users > MAX_USERS || all_mailboxes > MAX_MAILBOXES {
            return refuse(format!(
                "{} users with {} mailboxes each are too many: the limits are {MAX_USERS} users and \
                 {MAX_MAILBOXES} mailboxes in total",
                p.users, p.mailboxes
            ));
        }
        if p.least_bytes == 0 || p.least_bytes > p.most_bytes || p.most_bytes > MAX_BYTES {
            return refuse(format!(
                "messages of {} to {} bytes: the range must ascend, from 1 or more to \
                 {MAX_BYTES} or less",
                p.least_bytes, p.most_bytes
            ));
        }
        if !(0.0..=1.0).contains(&p.insert_share) {
            return refuse(format!("{} is not a share of insertions, from 0 to 1", p.insert_share));
        }
        match all_mailboxes.checked_mul(p.messages.into()).and_then(|fill| fill.checked_add(churn(p))) {
            None | Some(MAX_EVENTS..) => refuse(format!(
                "the plan needs more than {MAX_EVENTS} messages; use fewer mailboxes, messages, operations \
                 or days"
            )),
            Some(0) => {
                refuse("the plan has no messages: give some for the filling, or operations and days".into())
            }
            Some(_) => Ok(Plan { parameters, seed }),
        }
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The seed of all random choices.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Insertions and deletions of the filling and of all days.
    pub fn operations(&self) -> u64 {
        let p = &self.parameters;
        u64::from(p.users) * u64::from(p.mailboxes) * u64::from(p.messages) + churn(p)
    }

    /// All events, in order.
    pub fn script(&self) -> Script {
        Script::new(*self)
    }
}

fn churn(p: &Parameters) -> u64 {
    u64::from(p.operations) * u64::from(p.days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_is_published_run() {
        let plan = Plan::new(Parameters::default(), 42).unwrap();
        assert_eq!(plan.operations(), 160_000 + 800_000);
    }

    #[test]
    fn invalid_parameters_are_rejected() {
        let good = Parameters { users: 1, mailboxes: 1, messages: 1, ..Parameters::default() };
        assert!(Plan::new(good, 0).is_ok());
        assert!(Plan::new(Parameters { days: 0, ..good }, 0).is_ok());
        for wrong in [
            Parameters { users: 0, ..good },
            Parameters { users: 101, ..good },
            Parameters { mailboxes: 0, ..good },
            Parameters { mailboxes: u32::MAX, ..good },
            Parameters { users: 100, mailboxes: 10_000, messages: 5000, ..good },
            Parameters { operations: u32::MAX, days: u32::MAX, ..good },
            Parameters { messages: 0, days: 0, ..good },
            Parameters { least_bytes: 0, ..good },
            Parameters { least_bytes: 2048, most_bytes: 2047, ..good },
            Parameters { most_bytes: u32::MAX, ..good },
            Parameters { insert_share: 1.1, ..good },
            Parameters { insert_share: -0.1, ..good },
            Parameters { insert_share: f64::NAN, ..good },
        ] {
            let error = Plan::new(wrong, 0).expect_err(&format!("{wrong:?}")).to_string();
            assert!(!error.contains('\n'), "{error}");
        }
    }
}

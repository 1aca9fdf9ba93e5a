//! Matches issue and completion events to find the outstanding requests and service times.

use disk::Request;

/// An issue or completion of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// The request was issued to the driver.
    Issued(Request),
    /// The request, or the given part of it, was completed.
    Completed(Request),
}

impl Event {
    /// Sort key: the time in nanoseconds, with issues before completions at the same time.
    fn order(&self) -> (u64, bool) {
        match self {
            Event::Issued(request) => (request.time_ns, false),
            Event::Completed(request) => (request.time_ns, true),
        }
    }
}

/// The issued requests in issue order, each with the number of outstanding requests and its service time. Ignores completions of requests
/// issued before the recording; a request without a completion has a service time of 0 ns.
pub(super) fn requests(mut events: Vec<Event>) -> Vec<Request> {
    events.sort_by_key(Event::order);
    let mut requests: Vec<Request> = Vec::new();
    // The uncompleted rest of each outstanding request, and its index in `requests`.
    let mut outstanding: Vec<(Request, usize)> = Vec::new();
    for event in events {
        match event {
            Event::Issued(request) => {
                // The driver may have requeued it; a reissued request is outstanding only once.
                outstanding
                    .retain(|(other, _)| !same_place(other, &request) || other.sectors != request.sectors);
                outstanding.push((request, requests.len()));
                requests.push(Request { queue: outstanding.len() as u32, ..request });
            }
            Event::Completed(part) => {
                let Some(at) = outstanding.iter().position(|(left, _)| same_place(left, &part)) else {
                    continue;
                };
                let (left, index) = &mut outstanding[at];
                if part.sectors < left.sectors {
                    left.sector += u64::from(part.sectors);
                    left.sectors -= part.sectors;
                } else {
                    requests[*index].service_ns = part.time_ns - requests[*index].time_ns;
                    outstanding.swap_remove(at);
                }
            }
        }
    }
    requests
}

fn same_place(a: &Request, b: &Request) -> bool {
    a.kind == b.kind && a.sector == b.sector
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(time_ns: u64, sector: u64, sectors: u32) -> Request {
        Request { time_ns, ..Request::read(sector, sectors) }
    }

    fn summary(events: Vec<Event>) -> Vec<(u64, u32, u64)> {
        requests(events).iter().map(|request| (request.sector, request.queue, request.service_ns)).collect()
    }

    #[test]
    fn queue_counts_overlapping_requests() {
        use Event::{Completed, Issued};
        let events = vec![
            Completed(at(40, 0, 8)),
            Issued(at(10, 0, 8)),
            Issued(at(50, 8, 8)),
            Issued(at(55, 100, 8)),
            Completed(at(70, 100, 8)),
            Completed(at(75, 8, 8)),
            Issued(at(80, 16, 8)),
        ];
        assert_eq!(summary(events), [(0, 1, 30), (8, 1, 25), (100, 2, 15), (16, 1, 0)]);
    }

    #[test]
    fn request_completes_with_its_last_part() {
        use Event::{Completed, Issued};
        let events =
            vec![Issued(at(0, 0, 24)), Completed(at(5, 0, 8)), Completed(at(9, 8, 16)), Issued(at(10, 0, 8))];
        assert_eq!(summary(events), [(0, 1, 9), (0, 1, 0)]);
    }

    #[test]
    fn requeued_request_is_outstanding_once() {
        use Event::{Completed, Issued};
        let events = vec![
            Completed(at(1, 7, 8)),
            Issued(at(2, 0, 8)),
            Issued(at(4, 0, 8)),
            Issued(at(5, 8, 8)),
            Completed(at(6, 0, 8)),
        ];
        assert_eq!(summary(events), [(0, 1, 0), (0, 1, 2), (8, 2, 0)]);
    }

    proptest! {
        #[test]
        fn request_count_equals_issue_count(
            events in prop::collection::vec((any::<bool>(), 0..50u64, 0..6u64, 0..4u32), 0..60),
        ) {
            let issued = events.iter().filter(|(issued, ..)| *issued).count();
            let events = events.into_iter().map(|(issued, time_ns, sector, sectors)| {
                let request = at(time_ns, sector, sectors);
                if issued { Event::Issued(request) } else { Event::Completed(request) }
            });
            let requests = requests(events.collect());
            prop_assert_eq!(requests.len(), issued);
            prop_assert!(requests.iter().all(|request| request.queue >= 1 && request.queue as usize <= issued));
        }
    }
}

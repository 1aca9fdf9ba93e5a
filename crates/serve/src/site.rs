//! Routes URLs to pages.

use crate::http::{Request, Response};
use crate::pages;
use crate::stores::{Place, RunAt};

const LIVE_SCRIPT: &str = include_str!("../web/live.js");
const LIVE_STYLE: &str = include_str!("../web/live.css");

/// The pages of a set of stores.
pub struct Site {
    places: Vec<Place>,
    style: String,
}

impl Site {
    pub fn new(places: Vec<Place>) -> Site {
        Site { places, style: [report::STYLE, LIVE_STYLE].concat() }
    }

    /// The requested page.
    pub fn answer(&self, request: &Request) -> Response {
        let query = &request.query;
        match request.path.as_str() {
            "/" => pages::list(&self.places, query),
            "/compare" => {
                let run = |name| query.get(name).and_then(RunAt::parse);
                match run("a").zip(run("b")) {
                    Some((a, b)) => pages::compare(&self.places, a, b),
                    None => pages::error(
                        404,
                        "Choose two runs in the list: follow “compare” of the first run, then of the second.",
                    ),
                }
            }
            "/style.css" => Response::part("text/css", &self.style),
            "/live.js" => Response::part("text/javascript", LIVE_SCRIPT),
            "/page.js" => Response::part("text/javascript", report::SCRIPT),
            path => match path.strip_prefix("/run/").and_then(RunAt::parse) {
                Some(at) => pages::run(&self.places, at),
                None => pages::error(404, "No such page."),
            },
        }
    }
}

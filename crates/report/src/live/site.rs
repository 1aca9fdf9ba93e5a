//! Routes URLs to pages, and completes the responses.

use super::guard::Guard;
use super::pages::{self, PageError};
use super::query::Query;
use super::stores::{Place, RunAt};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

const LIVE_SCRIPT: &str = include_str!("../../web/live.js");
const LIVE_STYLE: &str = include_str!("../../web/live.css");

/// Headers of every response: no content from other sites, no frames, no type sniffing, no referrer.
const ALWAYS: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("content-security-policy", POLICY),
];

/// Figures have inline style attributes and elements; the only scripts are the two that are served, and
/// nothing is loaded from other sites.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

type Places = Arc<[Place]>;

/// The pages of a set of stores, for those whom the guard admits.
pub fn router(places: Vec<Place>, guard: Guard) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/compare", get(compare))
        .route("/run/{*run}", get(run))
        .route("/style.css", get(|| async { part("text/css", [crate::STYLE, LIVE_STYLE].concat()) }))
        .route("/live.js", get(|| async { part("text/javascript", LIVE_SCRIPT.to_owned()) }))
        .route("/page.js", get(|| async { part("text/javascript", crate::SCRIPT.to_owned()) }))
        .fallback(|| async { no_such_page() })
        .layer(from_fn_with_state(Arc::new(guard), answer))
        .with_state(Places::from(places))
}

async fn list(State(places): State<Places>, uri: Uri) -> Result<Response, PageError> {
    draw(move || pages::list(&places, &Query::of(&uri))).await
}

async fn compare(State(places): State<Places>, uri: Uri) -> Result<Response, PageError> {
    let query = Query::of(&uri);
    let run = |name| query.get(name).and_then(RunAt::parse);
    let (a, b) = run("a").zip(run("b")).ok_or_else(|| {
        PageError::not_found(
            "Choose two runs in the list: follow “compare” of the first run, then of the second.",
        )
    })?;
    draw(move || pages::compare(&places, a, b)).await
}

async fn run(State(places): State<Places>, Path(run): Path<String>) -> Result<Response, PageError> {
    let at = RunAt::parse(&run).ok_or_else(no_such_page)?;
    draw(move || pages::run(&places, at)).await
}

fn no_such_page() -> PageError {
    PageError::not_found("No such page.")
}

/// Draws a page in another thread, because reading a store blocks.
async fn draw(
    page: impl FnOnce() -> Result<String, PageError> + Send + 'static,
) -> Result<Response, PageError> {
    let failed = |_| PageError::new(StatusCode::INTERNAL_SERVER_ERROR, "The page cannot be drawn.");
    let html = tokio::task::spawn_blocking(page).await.map_err(failed)??;
    Ok(part("text/html", html))
}

/// A page, style or script. It has an entity tag, so that a browser can reuse its cached version: different
/// versions have different tags, for all practical purposes.
fn part(kind: &str, body: String) -> Response {
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    let headers = [
        (CONTENT_TYPE, format!("{kind}; charset=utf-8")),
        (ETAG, format!("\"{:016x}-{:x}\"", hasher.finish(), body.len())),
        (CACHE_CONTROL, "private, no-cache".to_owned()),
    ];
    (headers, body).into_response()
}

/// Admits or rejects a request, and completes the response.
async fn answer(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let cached = request.headers().get(IF_NONE_MATCH).cloned();
    let refusal = guard.refusal(&request);
    let mut response = match refusal {
        Some(refusal) => refusal,
        None => next.run(request).await,
    };
    let is_cached = response.headers().get(ETAG).is_some_and(|tag| {
        let cached = cached.as_ref().and_then(|cached| cached.to_str().ok()).unwrap_or_default();
        cached.split(", ").any(|one| one == tag)
    });
    if is_cached {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(CONTENT_TYPE);
    }
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

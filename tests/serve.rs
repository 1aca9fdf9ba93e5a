//! Tests of `senesce serve`: the pages of runs in a browser, and access control.

use crate::chromium::Browser;
use crate::common::{Lab, Running};
use results::{NewRun, RunId, Store};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

/// A running server, stopped on drop.
struct Served {
    child: Running,
    url: String,
}

impl Served {
    fn start(lab: &Lab, options: &str) -> Served {
        let line = format!("serve {options}");
        let mut command = lab.command(line.split_whitespace());
        let mut child = Running::new(command.stdout(Stdio::piped()).stderr(Stdio::null()));
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http://"), "{url:?}");
        Served { child, url: url.trim().to_owned() }
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url.trim_end_matches('/'))
    }

    fn port(&self) -> u16 {
        let (_, rest) = self.url.rsplit_once(':').unwrap();
        rest.split_once('/').unwrap().0.parse().unwrap()
    }

    /// Sends raw bytes and reads the whole response.
    fn send(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    /// Sends a request for a path with additional header fields.
    fn ask(&self, method: &str, path: &str, fields: &str) -> String {
        let port = self.port();
        self.send(format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{fields}\r\n").as_bytes())
    }

    fn get(&self, path: &str) -> String {
        self.ask("GET", path, "")
    }
}

fn status(answer: &str) -> u16 {
    // The version is that of the request.
    let rest = answer.strip_prefix("HTTP/1.1 ").or(answer.strip_prefix("HTTP/1.0 "));
    rest.and_then(|rest| rest.get(..3)).unwrap_or_else(|| panic!("{answer:?}")).parse().unwrap()
}

fn store(lab: &Lab) -> Store {
    std::fs::create_dir_all(lab.work()).unwrap();
    Store::open(&lab.work().join("senesce.db")).unwrap()
}

fn begin(store: &Store, kind: &str, name: &str, parameters: Value) -> RunId {
    store.begin(&NewRun { kind, name, command: "senesce compare", seed: Some(7), parameters }).unwrap()
}

/// Adds a comparison with six repetitions of the scan cost.
fn compared(store: &Store, name: &str, fs: &str, cost: f64) -> RunId {
    let run = begin(store, "compare", name, json!({ "made": { "fs": fs }, "repeat": 6 }));
    for repetition in 1..=6 {
        for (subject, cost) in [("aged", 2.0 * cost), ("unaged", cost)] {
            let value = cost + repetition as f64 / 100.0;
            let [subject, measure, unit] = [subject, "scan_s_per_gib", "s/GiB"].map(str::to_owned);
            store.record(run, &results::Measurement { subject, measure, unit, repetition, value }).unwrap();
        }
    }
    store.end(run, "done", None).unwrap();
    run
}

/// Adds a run that was killed long ago.
fn killed(store: &Store) -> RunId {
    let run = begin(store, "age", "killed-<script>alert(1)</script>", json!({ "made": { "fs": "xfs" } }));
    let progress = json!({ "at_s": 9e8, "begun_s": 9e8 - 100.0, "steps": null, "phase": "aging", "phase_begun_s": 9e8 - 50.0, "done": 400, "total": 1000 });
    store.record_document(run, "", "progress", &progress).unwrap();
    run
}

#[test]
fn run_is_followed_until_its_figures_are_complete() {
    needs!("ext4");
    let Some(mut browser) = Browser::start() else { return };
    let lab = Lab::new();
    let served = Served::start(&lab, "--work work");
    browser.go(&served.at("/"));
    assert!(browser.text().contains("result store work/senesce.db does not exist"), "{}", browser.text());
    let line = "age --interfile 100 --files 400 --every 10 --repeat 3 --fs ext4 --size 100MiB --name seen --work work";
    // Half of the run is done.
    let mut run = lab.stopped(line, "round 60, aging");
    testing::wait_until("a run on the page", || served.get("/").contains("running"));
    browser.go(&served.at("/"));
    assert!(browser.text().contains("1 running"), "{}", browser.text());
    browser.value("document.querySelector('.runs tbody a').click()");
    browser.until("document.querySelector('h1')?.textContent === 'Run 1: age seen'");
    // From here on the page updates itself.
    browser.value("window.sameLoad = true");
    browser.until("document.querySelector('#status')?.innerText.includes('seen: round')");
    browser.until("document.querySelectorAll('#report figure svg').length > 0");
    let first = browser.value("document.querySelector('#data').textContent.length").as_u64().unwrap();
    assert!(run.try_wait().unwrap().is_none(), "the figure must appear while the run continues");
    lab.go_on();
    browser.until("document.querySelector('#status')?.innerText.includes('done')");
    assert!(run.wait().status.success());
    assert!(
        browser.value("document.querySelector('#data').textContent.length").as_u64().unwrap() > first,
        "the data must grow"
    );
    browser.until("document.querySelector('#said').textContent === 'This run has ended.'");
    assert_eq!(browser.value("window.sameLoad"), true, "the page must not be reloaded");
    assert_eq!(browser.value("document.querySelector('#pause').hidden"), true);
    // The figures are the same as in the report.
    lab.run("report --work work -o page.html");
    let titles = "[...document.querySelectorAll('figure h3')].map((h) => h.textContent).join('|')";
    let shown = browser.value(titles);
    browser.go(&format!("file://{}", lab.path().join("page.html").display()));
    assert_eq!(browser.value(titles), shown);
    lab.nothing_left();
}

#[test]
fn killed_run_is_shown_as_killed() {
    let lab = Lab::new();
    let served = Served::start(&lab, "--work work");
    std::fs::create_dir(lab.path().join("tree")).unwrap();
    let line = "age --dir tree --size 64MiB --profile wang_os --overwrites 100000 --name seen --work work";
    let mut run = lab.start(line);
    run.until("a heartbeat", || served.get("/run/1/1").contains("Last heartbeat"));
    run.kill();
    // The last heartbeat was an hour ago.
    let store = store(&lab);
    let mut last = serde_json::to_value(results::Progress::load(&store, RunId(1)).unwrap().unwrap()).unwrap();
    last["at_s"] = (last["at_s"].as_f64().unwrap() - 3600.0).into();
    store.record_document(RunId(1), "", "progress", &last).unwrap();
    drop(store);
    let page = served.get("/run/1/1");
    assert!(page.contains("its heartbeat has stopped"), "{page}");
    assert!(page.contains("state killed") && !page.contains("<dt>Left"), "{page}");
}

#[test]
fn thousand_runs_are_searched_sorted_and_paged() {
    let Some(mut browser) = Browser::start() else { return };
    let lab = Lab::new();
    let store = store(&lab);
    for n in 1..=1000 {
        let fs = ["ext4", "xfs", "btrfs"][n % 3];
        compared(&store, &format!("{fs}-agrawal-{n}"), fs, 1.0);
    }
    drop(store);
    let served = Served::start(&lab, "--work work");
    let ms = browser.go(&served.at("/"));
    println!("1,000 runs: loaded after {ms} ms");
    let text = browser.text();
    assert!(text.contains("1000 done.") && text.contains("Shown: 1 to 100 of 1000, page 1 of 10."), "{text}");
    assert_eq!(browser.value("document.querySelectorAll('.runs tbody tr').length"), 100);
    let first = "document.querySelector('.runs tbody tr')?.innerText.split(/\\s+/)[0]";
    browser.value(
        "[...document.querySelectorAll('.runs thead a')].find((a) => a.textContent === 'Run').click()",
    );
    // While a page loads, it may have only its first rows, and no links below them.
    let loaded = "document.readyState === 'complete'";
    browser.until(&format!("{loaded} && {first} === '1'"));
    assert_eq!(browser.value("document.querySelector('[aria-sort=ascending]').textContent"), "Run ▲");
    browser.value("document.querySelector('nav.pages a:last-child').click()");
    browser.until(&format!("{loaded} && {first} === '901'"));
    browser.value("document.querySelector('[name=q]').value = 'XFS-agrawal-10'; document.querySelector('form button').click()");
    browser.until(&format!("{loaded} && document.querySelector('#runs')?.innerText.includes('1 to 6 of 6')"));
    let names =
        browser.value("[...document.querySelectorAll('.runs tbody th')].map((th) => th.textContent).join()");
    assert_eq!(names, [10, 100, 103, 106, 109, 1000].map(|n| format!("xfs-agrawal-{n}")).join(","));
}

#[test]
fn two_runs_are_compared() {
    let Some(mut browser) = Browser::start() else { return };
    let lab = Lab::new();
    let store = store(&lab);
    compared(&store, "a", "ext4", 1.0);
    compared(&store, "b", "xfs", 3.0);
    for (name, run) in [("a", RunId(1)), ("b", RunId(2))] {
        let [subject, measure, unit] = ["aged", "files", "files"].map(str::to_owned);
        store
            .record(
                run,
                &results::Measurement { subject, measure, unit, repetition: 1, value: name.len() as f64 },
            )
            .unwrap();
    }
    drop(store);
    let served = Served::start(&lab, "--store work/senesce.db");
    browser.go(&served.at("/run/1/1"));
    browser.value("[...document.links].find((a) => a.textContent.startsWith('Compare')).click()");
    browser.until("document.querySelector('h1')?.textContent === 'Compare with'");
    browser.value("document.querySelector('[aria-label=\"compare with it: run 2\"]').click()");
    browser.until("document.querySelector('h1')?.textContent === 'Run 2 compared with run 1'");
    let rows = "[...document.querySelectorAll('[aria-labelledby=measures] tbody tr')].map((tr) => [...tr.cells].map((td) => td.textContent))";
    let rows = browser.value(rows);
    let cells = |at: usize| {
        rows[at].as_array().unwrap().iter().map(|cell| cell.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // What is told comes first, the largest difference before the others.
    let [aged, unaged, files] = [0, 1, 2].map(cells);
    assert!(aged[0].starts_with("3.0× slower [") && aged[0].ends_with("], 6 repetitions"), "{aged:?}");
    assert_eq!(aged[1..4], ["scan s/GiB, measured here", "aged", "s/GiB"]);
    assert_eq!(unaged[2], "unaged");
    assert!(unaged[4].starts_with("1.035 [") && unaged[0].starts_with("2.9×"), "{unaged:?}");
    assert_eq!(files[1], "files");
    assert!(files[0].contains("in one repetition"), "{files:?}");
    let text = browser.text();
    for said in ["2 conditions differ", "more repetitions would narrow", "made.fs", "one in twenty"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn pages_are_accessible_without_sight_or_mouse() {
    let Some(mut browser) = Browser::start() else { return };
    let lab = Lab::new();
    let store = store(&lab);
    compared(&store, "a", "ext4", 1.0);
    compared(&store, "b", "xfs", 3.0);
    killed(&store);
    drop(store);
    let served = Served::start(&lab, "--work work");
    for path in ["/", "/run/1/1", "/run/1/3", "/compare?a=1/1&b=1/2", "/run/1/99"] {
        browser.go(&served.at(path));
        let told = browser.told();
        for (role, name) in &told {
            let needs = [
                "link",
                "button",
                "searchbox",
                "textbox",
                "combobox",
                "table",
                "region",
                "progressbar",
                "navigation",
                "heading",
            ];
            assert!(
                !needs.contains(&role.as_str()) || !name.is_empty(),
                "{path}: a {role} has no name: {told:?}"
            );
        }
        assert_eq!(told.iter().filter(|(role, _)| role == "main").count(), 1, "{path}");
        let levels =
            browser.value("[...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]))");
        let levels: Vec<u64> =
            levels.as_array().unwrap().iter().map(|level| level.as_u64().unwrap()).collect();
        assert_eq!(
            (levels[0], levels.iter().filter(|level| **level == 1).count()),
            (1, 1),
            "{path}: {levels:?}"
        );
        assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{path}: {levels:?}");
        for scheme in ["light", "dark"] {
            let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
            browser.call("Emulation.setEmulatedMedia", media);
            browser.until_gives(LOW_CONTRAST, &json!([]));
        }
    }
    // The first Tab stop is a visible link that skips the page header.
    browser.go(&served.at("/"));
    browser.press_tab();
    assert_eq!(browser.value("document.activeElement.textContent"), "Skip to the content");
    browser.until("document.activeElement.getBoundingClientRect().left >= 0");
    browser.press("Enter");
    browser.until("document.activeElement.id === 'content'");
    let mut met = Vec::new();
    for _ in 0..16 {
        browser.press_tab();
        met.push(browser.value("document.activeElement.name || document.activeElement.textContent.trim()"));
        let outlined = "getComputedStyle(document.activeElement).outlineStyle !== 'none'";
        browser.until(outlined);
    }
    for expected in ["q", "state", "kind", "Show", "Run", "compare"] {
        assert!(met.iter().any(|one| one == expected), "{expected}: {met:?}");
    }
    // The name is escaped.
    assert!(browser.text().contains("killed-<script>alert(1)</script>"));
    // The page explains the state `killed`.
    browser.go(&served.at("/run/1/3"));
    assert!(
        browser.text().contains("✗ killed. The run has not ended, but its heartbeat has stopped"),
        "{}",
        browser.text()
    );
    // Without scripts the page has links, numbers, and a refresh if it may change.
    browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    browser.call("Page.navigate", json!({ "url": served.at("/run/1/3") }));
    browser.until_told("which is turned off.");
    assert!(served.get("/run/1/3").contains("<noscript><meta http-equiv=\"refresh\""));
}

/// Texts with insufficient contrast to their background (WCAG 2.1, 1.4.3).
const LOW_CONTRAST: &str = r#"(() => {
    const parse = (text) => text.match(/[\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (e) => {
        for (; e; e = e.parentElement) {
            const colour = parse(getComputedStyle(e).backgroundColor);
            if (colour.length === 3 || colour[3] > 0) return colour;
        }
        return [255, 255, 255];
    };
    const faint = [];
    for (const e of document.querySelectorAll("main *, header *, .skip")) {
        if (e.closest("svg") || e.closest("[hidden]") || ![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
        if (["SCRIPT", "STYLE", "NOSCRIPT"].includes(e.tagName)) continue;
        const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) faint.push(`${e.tagName} ${e.textContent.trim().slice(0, 40)}`);
    }
    return faint;
})()"#;

#[test]
fn only_authorized_read_requests_are_answered() {
    let lab = Lab::new();
    compared(&store(&lab), "a", "ext4", 1.0);
    let mut served = Served::start(&lab, "--work work");
    let port = served.port();
    let page = served.get("/");
    assert!(status(&page) == 200 && page.contains("</html>"));
    for field in [
        "content-security-policy: default-src 'none'; script-src 'self';",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "connection: close",
    ] {
        assert!(page.contains(field), "{field}: {page}");
    }
    for way_out in ["http://", "https://", "//cdn", "@import"] {
        let body = page.split_once("\r\n\r\n").unwrap().1;
        assert!(!body.contains(way_out), "{way_out}");
    }
    let tag = page.split_once("etag: ").unwrap().1.split_once("\r\n").unwrap().0;
    assert_eq!(status(&served.ask("GET", "/", &format!("If-None-Match: {tag}\r\n"))), 304);
    assert!(served.ask("HEAD", "/", "").ends_with("\r\n\r\n"));
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = served.ask(method, "/", "Content-Length: 5\r\n\r\nhello");
        assert!(status(&answer) == 405 && answer.contains("allow: GET, HEAD"), "{answer}");
    }
    let host =
        |host: &str| status(&served.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()));
    assert_eq!(
        (host(&format!("localhost:{port}")), host("evil.example"), host(&format!("evil.example:{port}"))),
        (200, 421, 421)
    );
    assert_eq!(
        status(&served.ask("GET", "/", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: script\r\n")),
        403
    );
    assert_eq!(
        status(&served.ask("GET", "/", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: document\r\n")),
        200
    );
    assert_eq!(status(&served.send(b"GET / HTTP/1.0\r\n\r\n")), 421);
    for path in [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/style.css/../senesce.db",
        "/run/1/2",
        "/run/2/1",
        "/run/1/1/",
        "/favicon.ico",
        "/compare?a=1/1",
    ] {
        assert_eq!(status(&served.get(path)), 404, "{path}");
    }
    assert_eq!(status(&served.ask("GET", "/", &format!("X: {}\r\n", "x".repeat(40_000)))), 431);
    assert_eq!(status(&served.send(b"\x16\x03\x01 hello\r\n\r\n")), 400);
    // Slow or silent clients do not block others.
    let slow: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    (&slow[0]).write_all(b"GET / HT").unwrap();
    assert_eq!(status(&served.get("/")), 200);
    drop(slow);

    lab.refused(&format!("serve --work work --listen 127.0.0.1:{port}"), "use port 0 for any free port");
    std::fs::write(lab.path().join("token"), "short").unwrap();
    lab.refused("serve --work work --token-file token", "a token must have 16 to 256");
    assert_eq!(served.child.end_by(Signal::INT), Some(0), "Ctrl-C must end it with status 0");
}

#[test]
fn remote_access_needs_a_token() {
    let lab = Lab::new();
    compared(&store(&lab), "a", "ext4", 1.0);
    let served = Served::start(&lab, "--work work --listen 0.0.0.0:0");
    let (_, token) = served.url.split_once("?token=").expect("the token is printed");
    assert_eq!(token.len(), 32);
    assert_eq!(status(&served.get("/")), 401);
    assert!(!served.get("/run/1/1").contains("scan_s_per_gib"));
    assert_eq!(status(&served.get("/?token=wrong")), 401);
    assert_eq!(status(&served.ask("GET", "/run/1/1", &format!("Authorization: Bearer {token}\r\n"))), 200);
    let entered = served.get(&format!("/?token={token}&q=a"));
    assert!(
        status(&entered) == 303
            && entered.contains("location: /?q=a\r\n")
            && entered.contains("; HttpOnly; SameSite=Strict"),
        "{entered}"
    );

    std::fs::write(lab.path().join("token"), "a-token-of-my-own\n").unwrap();
    let own = Served::start(&lab, "--work work --token-file token");
    assert!(own.url.ends_with("?token=a-token-of-my-own"));
    assert_eq!((status(&own.get("/")), status(&own.get("/?token=a-token-of-my-own"))), (401, 303));

    let Some(mut browser) = Browser::start() else { return };
    browser.go(&own.url);
    assert!(browser.text().contains("1 done."), "{}", browser.text());
    assert_eq!(browser.value("location.search + document.cookie"), "");
    browser.go(&format!("http://127.0.0.1:{}/run/1/1", own.port()));
    assert!(browser.text().contains("scan s/GiB, measured here"));
}

#[test]
fn damaged_or_missing_store_is_reported() {
    let lab = Lab::new();
    let path = lab.work().join("senesce.db");
    drop(store(&lab));
    let served = Served::start(&lab, "--work work --work other");
    let page = |expected: u16, text: &str| {
        let page = served.get("/");
        assert!(status(&page) == expected && page.contains(text), "{text}: {page}");
    };
    page(200, "No runs yet.");
    page(200, "Not shown: result store other/senesce.db does not exist.");
    let clear = || {
        for ending in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{ending}", path.display()));
        }
    };
    clear();
    page(503, "does not exist");
    std::fs::write(&path, "").unwrap();
    page(503, "is being created");
    std::fs::write(
        &path,
        "no database at all, but longer than a header of one would be, so that it is read: ".repeat(9),
    )
    .unwrap();
    page(503, "not an SQLite database");
    clear();
    let written = store(&lab);
    compared(&written, "a", "ext4", 1.0);
    page(200, "1 done.");
    // A store of another version: the layout number is at byte 60 of the SQLite file format.
    drop(written);
    let whole = std::fs::read(&path).unwrap();
    clear();
    let mut newer = whole.clone();
    newer[63] = 9;
    std::fs::write(&path, newer).unwrap();
    page(503, "has layout 9, but this program supports up to 2; use a newer senesce");
    // A truncated store: the header states a larger size.
    clear();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!([200, 503].contains(&status(&served.get("/"))));
    assert!([200, 503].contains(&status(&served.get("/run/1/1"))));
    clear();
    std::fs::write(&path, whole).unwrap();
    page(200, "1 done.");
    assert!(Path::new(&path).exists());
}

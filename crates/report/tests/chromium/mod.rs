//! A headless browser, driven over a pipe by the DevTools protocol: loads pages, presses keys, and returns
//! the accessibility tree and the document after its scripts ran. Every wait is for a state of the page,
//! never for a time.

#![allow(dead_code, reason = "each test program uses a part of it")]

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Time limit of a response of the browser. It ends a test that hangs before its runner kills it (after 180 s).
const LIMIT: Duration = Duration::from_secs(150);

/// Resolves after two frames have been drawn: layout is complete, resize observers have run, and keys are
/// handled.
const FRAMES: &str =
    "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))";

/// The report element after the page's script ran; `None`, reported as a skip, without a browser.
pub fn drawn(html: &str) -> Option<String> {
    let dom = dom(html)?;
    let (_, report) = dom.split_once(r#"<main id="report">"#).expect("the page has a main element");
    Some(report.split_once("</main>").expect("the main element is closed").0.into())
}

/// The whole document after its scripts ran; `None`, reported as a skip, without a browser. A script that
/// continues after the page is loaded sets `window.ready` to false at its start and to true at its end.
pub fn dom(html: &str) -> Option<String> {
    let mut browser = Browser::of_size(1280, 6000)?;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("page.html");
    std::fs::write(&file, html).unwrap();
    browser.go(&url(&file));
    browser.until("window.ready !== false");
    let dom = browser.value("document.documentElement.outerHTML");
    Some(dom.as_str().unwrap().to_owned())
}

fn url(file: &Path) -> String {
    format!("file://{}", file.display())
}

/// The visible text of a piece of the page, without the marks at the start of the lines of a tip.
pub fn text(html: &str) -> String {
    let parts = html.split('<').filter(|part| !part.starts_with("style>"));
    parts
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text))
        .collect::<String>()
        .replace('\u{200b}', "")
}

/// A browser with one page; it ends on drop.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: String,
    calls: u64,
    _profile: TempDir,
}

impl Browser {
    /// Starts a browser; `None`, reported as a skip, if there is none.
    pub fn start() -> Option<Browser> {
        Browser::of_size(1280, 900)
    }

    /// Starts a browser with a window of the given size in pixels.
    fn of_size(width: u32, height: u32) -> Option<Browser> {
        let Some(browser) = BROWSERS.iter().find(|b| Command::new(b).arg("--version").output().is_ok())
        else {
            testing::skip("chromium", format!("none of {} is installed", BROWSERS.join(", ")));
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // The browser reads from file descriptor 3 and writes to 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", browser])
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"])
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (tell, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(out).split(0).map_while(Result::ok) {
                if tell.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    return;
                }
            }
        });
        let mut browser = Browser { child, to, from, session: String::new(), calls: 0, _profile: profile };
        let page = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let page = json!({ "targetId": page["targetId"], "flatten": true });
        browser.session =
            browser.call("Target.attachToTarget", page)["sessionId"].as_str().unwrap().to_owned();
        browser.call("Page.enable", json!({}));
        browser.call("Accessibility.enable", json!({}));
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        browser.call("Emulation.setDeviceMetricsOverride", size);
        Some(browser)
    }

    /// Calls a method of the protocol and returns its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.try_call(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Calls a method of the protocol, which may fail.
    fn try_call(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        self.to.write_all(message.to_string().as_bytes()).and_then(|()| self.to.write_all(&[0])).unwrap();
        loop {
            let answer = self.from.recv_timeout(LIMIT).unwrap_or_else(|e| panic!("{method}: {e}"));
            if answer["id"] == self.calls {
                return if answer["error"].is_null() {
                    Ok(answer["result"].clone())
                } else {
                    Err(answer["error"].clone())
                };
            }
        }
    }

    /// Loads a page and waits until its scripts have run and it is drawn; returns the load time in
    /// milliseconds.
    pub fn go(&mut self, url: &str) -> f64 {
        // Marks the previous page, so that it is not mistaken for the new one.
        self.value("window.isLeft = true");
        let gone = self.call("Page.navigate", json!({ "url": url }));
        assert!(gone["errorText"].is_null(), "{url}: {gone}");
        self.until(
            "!window.isLeft && document.readyState === 'complete' && performance.timing.loadEventEnd > 0",
        );
        self.until(FRAMES);
        self.value("performance.timing.loadEventEnd - performance.timing.navigationStart").as_f64().unwrap()
    }

    /// The value of an expression.
    pub fn value(&mut self, expression: &str) -> Value {
        self.try_value(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    fn try_value(&mut self, expression: &str) -> Result<Value, Value> {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let given = self.try_call("Runtime.evaluate", asked)?;
        if given["exceptionDetails"].is_null() {
            Ok(given["result"]["value"].clone())
        } else {
            Err(given["exceptionDetails"].clone())
        }
    }

    /// The visible text of the page.
    pub fn text(&mut self) -> String {
        self.value("document.body.innerText").as_str().unwrap().to_owned()
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, expression: &str) {
        self.until_gives(expression, &true.into());
    }

    /// Waits until an expression has the given value.
    pub fn until_gives(&mut self, expression: &str, expected: &Value) {
        // Expressions fail while the browser leaves a page.
        let mut gave = Ok(Value::Null);
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            testing::wait_until(expression, || {
                gave = self.try_value(expression);
                gave.as_ref() == Ok(expected)
            });
        }));
        if waited.is_err() {
            let text = self.text();
            panic!("{expression} does not give {expected}, but {gave:?}\n{text}");
        }
    }

    /// Waits until the accessibility tree has a node whose name contains `name`.
    pub fn until_told(&mut self, name: &str) {
        testing::wait_until(name, || self.told().iter().any(|(_, told)| told.contains(name)));
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            other => panic!("{other} is not known here"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if key == "Enter" && kind == "keyDown" {
                event["text"] = "\r".into();
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Presses Tab and waits until the focus has moved.
    pub fn press_tab(&mut self) {
        self.value("window.hadFocus = document.activeElement, true");
        self.press("Tab");
        self.until("document.activeElement !== window.hadFocus");
    }

    /// The accessibility tree as (role, name).
    pub fn told(&mut self) -> Vec<(String, String)> {
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] != true);
        let of = |node: &Value, what: &str| node[what]["value"].as_str().unwrap_or_default().to_owned();
        nodes.map(|node| (of(node, "role"), of(node, "name"))).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

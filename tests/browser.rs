//! A headless browser that a test drives by the protocol of its developer tools, over a pipe: it goes to pages, presses keys, and tells
//! what those see who cannot see.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page; ends when dropped.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: String,
    calls: u64,
    _profile: TempDir,
}

impl Browser {
    /// Starts a browser; none, with a word on why, where there is none.
    pub fn start() -> Option<Browser> {
        let Some(browser) = BROWSERS.iter().find(|b| Command::new(b).arg("--version").output().is_ok())
        else {
            println!("skipped: none of {} is installed", BROWSERS.join(", "));
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // It reads what it is told from file 3 and answers on file 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", browser])
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
                "--window-size=1280,900",
            ])
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
        Some(browser)
    }

    /// Calls a method of the protocol and waits for what it gives.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        self.to.write_all(message.to_string().as_bytes()).and_then(|()| self.to.write_all(&[0])).unwrap();
        loop {
            let answer = self.from.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("{method}: {e}"));
            if answer["id"] == self.calls {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    /// Goes to a page and waits until it is loaded, its scripts included; how long that took, in milliseconds.
    pub fn go(&mut self, url: &str) -> f64 {
        let gone = self.call("Page.navigate", json!({ "url": url }));
        assert!(gone["errorText"].is_null(), "{url}: {gone}");
        self.until("document.readyState === 'complete' && performance.timing.loadEventEnd > 0");
        self.value("performance.timing.loadEventEnd - performance.timing.navigationStart").as_f64().unwrap()
    }

    /// What an expression gives.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let given = self.call("Runtime.evaluate", asked);
        assert!(given["exceptionDetails"].is_null(), "{expression}: {}", given["exceptionDetails"]);
        given["result"]["value"].clone()
    }

    /// What a reader sees of the page.
    pub fn text(&mut self) -> String {
        self.value("document.body.innerText").as_str().unwrap().to_owned()
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, expression: &str) {
        let begun = Instant::now();
        while self.value(expression) != true {
            if begun.elapsed() > PATIENCE {
                let text = self.text();
                panic!("never: {expression}\n{text}");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
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

    /// All that assistive technology is told, as (role, name).
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

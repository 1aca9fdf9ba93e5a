//! A page after its script ran in a headless browser.

use std::{fs, path::Path, process::Command};

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The page's elements after its script ran; `None`, after a skip, where there is no browser.
pub fn drawn(html: &str) -> Option<String> {
    let dom = dom(html)?;
    let (_, report) = dom.split_once(r#"<main id="report">"#).expect("the page has its main element");
    Some(report.split_once("</main>").expect("the main element ends").0.into())
}

/// Everything in the document after its scripts ran; `None`, after a skip, where there is no browser.
pub fn dom(html: &str) -> Option<String> {
    let Some(browser) = BROWSERS.iter().find(|b| Command::new(b).arg("--version").output().is_ok()) else {
        testing::skip("chromium", format_args!("none of {} is on the PATH", BROWSERS.join(", ")));
        return None;
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("page.html");
    fs::write(&file, html).unwrap();
    let output = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,6000"])
        .args(["--virtual-time-budget=60000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", dir.path().join("profile").display()))
        .arg(url(&file))
        .output()
        .unwrap();
    assert!(output.status.success(), "{browser} failed: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

fn url(file: &Path) -> String {
    format!("file://{}", file.display())
}

/// What a reader sees of a piece of the page, without the marks that begin the lines of a tip.
pub fn text(html: &str) -> String {
    let parts = html.split('<').filter(|part| !part.starts_with("style>"));
    parts
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text))
        .collect::<String>()
        .replace('\u{200b}', "")
}

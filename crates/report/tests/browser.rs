//! The page in a browser: every figure is drawn, and says so where there is nothing to draw.

mod example;

use std::{fs, path::Path, process::Command};

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The page's elements after its script ran; `None`, with a word on why, where there is no browser.
fn drawn(html: &str) -> Option<String> {
    let Some(browser) = BROWSERS.iter().find(|b| Command::new(b).arg("--version").output().is_ok()) else {
        println!("skipped: none of {} is installed", BROWSERS.join(", "));
        return None;
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("page.html");
    fs::write(&file, html).unwrap();
    let output = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,6000"])
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", dir.path().join("profile").display()))
        .arg(url(&file))
        .output()
        .unwrap();
    assert!(output.status.success(), "{browser} failed: {}", String::from_utf8_lossy(&output.stderr));
    let dom = String::from_utf8(output.stdout).unwrap();
    let (_, report) = dom.split_once(r#"<main id="report">"#).expect("the page has its main element");
    Some(report.split_once("</main>").expect("the main element ends").0.into())
}

fn url(file: &Path) -> String {
    format!("file://{}", file.display())
}

/// Every figure as (id, what is inside).
fn figures(dom: &str) -> Vec<(&str, &str)> {
    dom.split(r#"<figure id=""#)
        .skip(1)
        .map(|f| (f.split_once('"').unwrap().0, f.split_once("</figure>").unwrap().0))
        .collect()
}

#[test]
fn every_figure_is_drawn() {
    let Some(dom) = drawn(&senesce_report::render(&example::page())) else { return };
    assert!(!dom.contains("could not be drawn"));
    let figures = figures(&dom);
    let ids: Vec<_> = figures.iter().map(|(id, _)| *id).collect();
    assert_eq!(
        ids,
        [
            "cost-modelled",
            "cost-measured",
            "layout-scores",
            "layout-by-size",
            "fragmentation-by-size",
            "free-space",
            "blocks-0",
            "blocks-1",
            "blocks-2",
            "fit-0",
            "fit-1",
            "fit-2"
        ]
    );
    for (id, figure) in figures {
        // The third comparison of the example has no measures.
        if id.ends_with("-2") {
            assert!(
                !figure.contains("<svg") && figure.contains("not measured: "),
                "{id} should be empty and say why"
            );
        } else {
            assert!(figure.contains("<svg"), "{id} has no picture");
        }
        assert!(figure.contains("<figcaption>"), "{id} has no caption");
        assert!(!figure.contains("NaN"), "{id} has a coordinate that is no number");
    }
}

#[test]
fn headline_tells_modelled_from_measured() {
    let Some(dom) = drawn(&senesce_report::render(&example::page())) else { return };
    let first = dom.split("<li>").nth(1).unwrap().split("</li>").next().unwrap();
    let text: String =
        first.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
    assert_eq!(
        text,
        "ext4 reads 1.9× slower [1.82× – 1.98×] on a modelled 7200 rpm disk modelled; \
         reads 1.05× slower [1.02× – 1.08×] here measured."
    );
    assert!(dom.contains("<strong>btrfs, quick run</strong>: the cost of a scan was not measured."));
    assert!(dom.contains("<code>18446744073709551615</code>"), "a large seed keeps all its digits");
}

#[test]
fn raw_numbers_can_be_taken_away_even_where_the_clipboard_is_shut() {
    let press = "<script>document.querySelector('button').click()</script></body>";
    let html = senesce_report::render(&example::page()).replace("</body>", press);
    let Some(dom) = drawn(&html) else { return };
    let (_, area) = dom.split_once("<textarea").expect("the text is offered for copying by hand");
    let lines: Vec<_> = area.split_once('>').unwrap().1.lines().take(3).collect();
    assert_eq!(lines[0], "comparison,side,measure,unit,repetition,value");
    assert_eq!(lines[1], r#"ext4,unaged,"scan, warm ""hot"" cache dropped",s/GiB,1,2.121"#);
    assert_eq!(lines[2], r#"ext4,unaged,"scan, warm ""hot"" cache dropped",s/GiB,2,2.1420000000000003"#);
}

#[test]
fn page_without_comparisons_says_so() {
    let Some(dom) = drawn(&senesce_report::render(&senesce_report::Page::default())) else { return };
    assert!(dom.contains("not measured: no comparison has been run yet"));
}

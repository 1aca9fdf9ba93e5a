//! Experiments on the page: claims with verdicts, lines, pages with only experiments.

use crate::chromium::{dom, drawn, text};
use senesce_report::{Page, data::*, render};
use std::sync::LazyLock;

/// The example's experiments only.
fn experiments() -> Page {
    Page { comparisons: Vec::new(), ..crate::example::page() }
}

/// The git figure of the example only: cost and score, aged and unaged, with two options.
fn git() -> Page {
    let mut page = experiments();
    page.experiments.retain(|experiment| experiment.figure == "fast17-fig5");
    page
}

/// The page with all experiments after the script ran, drawn once for all tests.
fn page() -> Option<&'static str> {
    static DRAWN: LazyLock<Option<String>> = LazyLock::new(|| drawn(&render(&experiments())));
    DRAWN.as_deref()
}

/// The contents of the section or figure with this id.
fn part<'d>(dom: &'d str, tag: &str, id: &str) -> &'d str {
    let (_, rest) = dom.split_once(&format!(r#"<{tag} id="{id}">"#)).expect("the element is on the page");
    rest.split_once(&format!("</{tag}>")).unwrap().0
}

/// The visible rows of the table at the start of a part.
fn rows(part: &str) -> Vec<Vec<String>> {
    let body = part.split_once("<tbody>").unwrap().1.split_once("</tbody>").unwrap().0;
    body.split("</tr>")
        .map(|row| row.split("</td>").map(text).filter(|cell| !cell.is_empty()).collect())
        .collect()
}

#[test]
fn claims_have_verdicts() {
    let Some(dom) = page() else { return };
    let claims = part(dom, "section", "claims");
    assert!(
        text(claims).contains(
            "12 of 14 published claims hold here, 0 in the trend only, 1 does not, 1 cannot be told."
        )
    );
    assert!(!text(claims).contains("Aged ext4 is slower"), "a claim stands with its figure only");
    assert_eq!(
        rows(claims)[8],
        ["fast17-fig9 (small): Mail: 100 days of inserts and deletes", "1", "0", "0", "0", "2"]
    );

    let git = part(dom, "section", "fast17-fig5-small");
    let verdicts: Vec<_> = rows(git).iter().filter_map(|row| row.last().cloned()).collect();
    assert_eq!(verdicts, ["✓ holds", "✓ holds", "✗ does not hold", "? cannot be told"]);
    let mail = text(part(dom, "section", "fast17-fig9-small"));
    assert!(
        mail.contains("2 cells failed and are missing below:xfs, ssd-sata: dovecot ended with status 89")
    );
}

#[test]
fn claims_follow_the_plots_once_with_reasons() {
    let mut page = git();
    page.experiments[0].claims[2].why = "the drive is another".to_owned();
    page.experiments[0].verdict = Some(FigureVerdict::Holds);
    let missing = Difference { published: "ZFS".into(), here: String::new(), missing: "no driver".into() };
    page.experiments[0].differs.push(missing);
    let Some(dom) = drawn(&render(&page)) else { return };
    let claims = part(&dom, "section", "claims");
    assert!(rows(claims)[0].last().unwrap().contains("✓ holds"), "the figure: {:?}", rows(claims)[0]);
    let git = part(&dom, "section", "fast17-fig5-small");
    assert!(git.find("</figure>").unwrap() < git.find("Published claims").unwrap());
    assert_eq!(text(&dom).matches("Aged ext4 is slower on the SSD").count(), 1);
    assert!(text(git).contains("Aged ext4 is slower on the SSDthe drive is another"));
    assert!(text(git).contains("The figure: ✓ holds."));
    assert!(
        git.find("ZFS").unwrap() < git.find("<figure").unwrap(),
        "what is missing stands before the plots"
    );
    assert!(text(git).contains("ZFSmissing: no driver"), "{}", text(git));
}

#[test]
fn published_values_are_drawn_in_their_panels() {
    let Some(dom) = page() else { return };
    let figure = part(dom, "figure", "fast17-fig5-small-0");
    assert!(text(figure.split_once("panels").unwrap().0).contains("unagedpublished"));
    let panels: Vec<&str> = figure.split("<h4>").skip(1).collect();
    let has = |panel: &&str| panel.contains("published: 40 – 60, ext4, after 400 pulls");
    assert_eq!(panels.iter().map(has).collect::<Vec<_>>(), [true, true, false, false], "hard disk only");
    let other = part(dom, "figure", "fast17-fig5-small-1");
    assert!(!other.contains("published"), "no value was published of the score");
}

#[test]
fn measurements_of_one_round_are_bars_by_setting() {
    let line = |fs: &str, option: &str, y: f64| {
        let [fs, side, option] = [fs, "aged", option].map(str::to_owned);
        Line {
            fs,
            side,
            option,
            points: vec![Point { x: 50.0, y, low: None, high: None }],
            ..Line::default()
        }
    };
    let lines = vec![line("ext4", "Meyer", 0.5), line("xfs", "Meyer", 0.8), line("ext4", "Dabre", 0.25)];
    let published = Published {
        fs: vec!["ext4".into()],
        options: vec!["Dabre".into()],
        low: 0.25,
        high: 0.25,
        ..Published::default()
    };
    let bars = Plot {
        x: Axis { label: "overwrites".into(), ..Axis::default() },
        y: Axis { label: "aged over unaged".into(), unit: "×".into(), log: false },
        lines: lines.clone(),
        published: vec![published],
        ..Plot::default()
    };
    // A score of nearly 1 on an axis that does not begin at 0 has no place for a bar.
    let lines =
        lines.into_iter().map(|line| Line { points: vec![Point { y: 0.98, ..line.points[0] }], ..line });
    let dots = Plot { lines: lines.collect(), ..Plot::default() };
    let plots = vec![bars, dots];
    let one = Experiment { figure: "odd".into(), plots, ..Experiment::default() };
    let Some(dom) = drawn(&render(&Page { experiments: vec![one], ..Page::default() })) else { return };
    let figure = part(&dom, "figure", "odd--0");
    let bars = |figure: &str| figure.matches("<rect").count();
    assert_eq!(bars(figure), 3, "a bar for each: {figure}");
    assert!(text(figure).contains("MeyerDabre"), "settings are named: {}", text(figure));
    assert!(text(figure).contains("After a round only (overwrites: 50)."));
    assert!(text(figure).contains("× published"));
    let other = part(&dom, "figure", "odd--1");
    assert_eq!(bars(other), 0);
    assert!(!other.contains("could not be drawn") && !text(other).contains("published"));
}

#[test]
fn sections_without_data_are_absent() {
    let Some(dom) = page() else { return };
    for absent in ["headline", "cost", "raw"] {
        assert!(!dom.contains(&format!(r#"<section id="{absent}">"#)), "{absent} needs comparisons");
    }
    let comparisons = Page { experiments: Vec::new(), ..crate::example::page() };
    let Some(dom) = drawn(&render(&comparisons)) else { return };
    assert!(!dom.contains(r#"<section id="claims">"#) && dom.contains(r#"<section id="cost">"#));
}

#[test]
fn disks_and_many_options_have_separate_panels() {
    let Some(dom) = page() else { return };
    let panels = |id| part(dom, "figure", id).split("<h4>").skip(1).map(|p| p.split_once("</h4>").unwrap().0);
    assert!(panels("fast17-fig1-small-0").eq(["hdd-7200", "ssd-sata"]));
    assert!(panels("fast17-fig5-small-0").eq([
        "hdd-7200, gc on",
        "hdd-7200, gc off",
        "ssd-sata, gc on",
        "ssd-sata, gc off"
    ]));
    // With few lines, the options are symbols in one panel, named in the legend.
    assert!(panels("fast17-fig8-small-0").eq(["hdd-7200"]));
    let figure = text(part(dom, "figure", "fast17-fig8-small-0"));
    assert!(figure.contains("btrfsagedunagedround 50round 100"), "the legend: {figure}");
}

#[test]
fn lines_without_option_are_in_every_panel() {
    let mut page = git();
    for line in page.experiments[0].plots.iter_mut().flat_map(|plot| &mut plot.lines) {
        if line.side == "unaged" {
            line.option.clear();
        }
    }
    let Some(dom) = drawn(&render(&page)) else { return };
    let panels: Vec<_> = part(&dom, "figure", "fast17-fig5-small-0").split("<h4>").skip(1).collect();
    assert_eq!(panels.len(), 4);
    assert!(
        panels.iter().all(|panel| panel.contains(r#"stroke-dasharray="5 4""#)),
        "a panel lacks the unaged"
    );
}

#[test]
fn sizes_on_logarithmic_axis_are_labelled() {
    let Some(dom) = page() else { return };
    let figure = part(dom, "figure", "fast17-fig8-small-0");
    for size in ["4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB"] {
        assert!(figure.contains(&format!(">{size}</text>")), "{size} is not on the axis");
    }
}

#[test]
fn undrawable_values_are_counted() {
    let points = [(1.0, 0.0), (2.0, f64::NAN), (3.0, 5.0), (4.0, 7.0)];
    let points = points.map(|(x, y)| Point { x, y, low: Some(-1.0), high: Some(y + 1.0) }).to_vec();
    let line = Line { fs: "odd); name".into(), points, ..Line::default() };
    let y = Axis { log: true, ..Axis::default() };
    let plots = vec![
        Plot { y, lines: vec![line], ..Plot::default() },
        Plot { lines: vec![Line::default()], ..Plot::default() },
    ];
    let page = Page {
        experiments: vec![Experiment { figure: "odd".into(), plots, ..Experiment::default() }],
        ..Page::default()
    };
    let Some(dom) = drawn(&render(&page)) else { return };
    let odd = part(&dom, "figure", "odd--0");
    assert!(text(odd).contains("cannot show, such as 0 on a logarithmic one: 2."));
    assert!(odd.contains("<svg") && !odd.contains("NaN") && !odd.contains("could not be drawn"));
    assert!(
        text(part(&dom, "figure", "odd--1"))
            .contains("not measured: no cell of the experiment has data points")
    );
}

#[test]
fn points_have_tips() {
    let hover = "<script>window.ready = false; requestAnimationFrame(() => {
        const plot = document.querySelector('#fast17-fig5-small-0 .plot svg');
        const { left, top } = plot.querySelector('[aria-label=dot] path:last-child').getBoundingClientRect();
        const at = { clientX: left, clientY: top, pointerType: 'mouse', bubbles: true };
        plot.dispatchEvent(new PointerEvent('pointermove', at));
        const tip = () => { window.ready = plot.querySelector('[aria-label=tip] text') !== null; requestAnimationFrame(tip); };
        tip();
    })</script></body>";
    let Some(dom) = drawn(&render(&git()).replace("</body>", hover)) else { return };
    let figure = text(part(&dom, "figure", "fast17-fig5-small-0"));
    assert!(
        figure.contains("xfs, aged, gc onpulls accrued: 400grep cost: 52.2 s/GiB95 %: 48 s/GiB – 56.4 s/GiB"),
        "no tip over a point: {figure}"
    );
}

#[test]
fn points_can_be_exported() {
    let press = "<script>const all = document.querySelectorAll('#fast17-fig5-small details'), folded = all[all.length - 1];
        folded.addEventListener('toggle', () => folded.querySelector('button').click()); folded.open = true</script></body>";
    let Some(dom) = drawn(&render(&git()).replace("</body>", press)) else { return };
    let (_, area) = dom.split_once("<textarea").expect("the text is in a text area for manual copying");
    let lines: Vec<_> = area.split_once('>').unwrap().1.lines().take(2).collect();
    assert_eq!(lines[0], "experiment,figure,file system,disk,side,option,x axis,x,y axis,y,low,high");
    let values = "pulls accrued,0,grep cost (s/GiB),9,8.280000000000001,9.72";
    assert_eq!(lines[1], format!("fast17-fig5,Cost of a grep,ext4,hdd-7200,aged,gc on,{values}"));
}

#[test]
fn page_fits_phone_width() {
    let page = render(&crate::example::page()).replace('&', "&amp;").replace('"', "&quot;");
    let frame = format!(
        r#"<iframe style="width: 400px; height: 800px; border: 0" srcdoc="{page}"></iframe><p id="width"></p><script>
        window.ready = false;
        const frame = document.querySelector("iframe").contentWindow;
        addEventListener("load", () => frame.requestAnimationFrame(() => frame.requestAnimationFrame(() => {{
            const {{ scrollWidth, clientWidth }} = document.querySelector("iframe").contentDocument.documentElement;
            document.getElementById("width").textContent = scrollWidth <= clientWidth ? "fits" : `${{scrollWidth}} pixels`;
            window.ready = true;
        }})))</script>"#
    );
    let Some(dom) = dom(&frame) else { return };
    assert!(dom.contains(r#"<p id="width">fits</p>"#), "{:?}", dom.split("id=\"width\"").nth(1));
}

/// A figure with a panel for each file system, and one with latencies, as in a benchmark.
fn benchmark() -> Page {
    let line = |fs: &str, disk: &str, side: &str, scale: f64| {
        let points =
            [(1.0, 9.0), (2.0, 4.0), (4.0, 2.0)].map(|(x, y)| Point { x, y: scale * y, ..Point::default() });
        let [fs, disk, side] = [fs, disk, side].map(str::to_owned);
        Line { fs, disk, side, option: String::new(), points: points.to_vec() }
    };
    let log = || Axis { log: true, ..Axis::default() };
    let by_fs = ["ext4", "xfs"].map(|fs| [line(fs, "hdd-7200", "", 1.0), line(fs, "ssd-sata", "", 5.0)]);
    let latencies = ["precreate", "benchmark"]
        .map(|phase| [line("read", phase, "mean", 1.0), line("read", phase, "longest", 7.0)]);
    let plots = vec![
        Plot { x: log(), y: log(), lines: by_fs.concat(), panels: Panels::Fs, ..Plot::default() },
        Plot { y: log(), lines: latencies.concat(), ..Plot::default() },
    ];
    let experiment =
        Experiment { figure: "posix".into(), scale: "metadata".into(), plots, ..Experiment::default() };
    Page { experiments: vec![experiment], ..Page::default() }
}

#[test]
fn file_systems_can_have_separate_panels() {
    let Some(dom) = drawn(&render(&benchmark())) else { return };
    let figure = part(&dom, "figure", "posix-metadata-0");
    let panels: Vec<_> = figure.split("<h4>").skip(1).map(|p| p.split_once("</h4>").unwrap().0).collect();
    assert_eq!(panels, ["ext4", "xfs"]);
    let legend = figure.split_once("panels").unwrap().0;
    assert!(text(legend).contains("hdd-7200ssd-sata"), "{legend}");
    assert!(figure.contains("--hue-hdd-7200") && !figure.contains("--hue-ext4"), "disks are colours");
}

#[test]
fn benchmark_has_no_claims_and_dashed_longest_latencies() {
    let Some(dom) = drawn(&render(&benchmark())) else { return };
    assert!(!dom.contains(r#"<section id="claims">"#));
    assert!(
        text(part(&dom, "section", "posix-metadata"))
            .contains("Objects created, looked up, read and deleted: posix.")
    );
    let figure = part(&dom, "figure", "posix-metadata-1");
    for panel in figure.split("<h4>").skip(1) {
        assert_eq!(panel.matches(r#"stroke-dasharray="5 4""#).count(), 1, "mean and longest");
    }
}

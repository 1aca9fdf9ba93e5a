//! The page in a browser: every figure is drawn, or says that there is nothing to draw.

use crate::chromium::{dom, drawn, text};
use senesce_report::data::Comparison;
use std::sync::LazyLock;

/// The example page after its script ran, drawn once for all tests.
fn page() -> Option<&'static str> {
    static DRAWN: LazyLock<Option<String>> =
        LazyLock::new(|| drawn(&senesce_report::render(&crate::example::page())));
    DRAWN.as_deref()
}

/// Every figure as (id, contents).
fn figures(dom: &str) -> Vec<(&str, &str)> {
    dom.split(r#"<figure id=""#)
        .skip(1)
        .map(|f| (f.split_once('"').unwrap().0, f.split_once("</figure>").unwrap().0))
        .collect()
}

#[test]
fn every_figure_is_drawn() {
    let Some(dom) = page() else { return };
    assert!(!dom.contains("could not be drawn"));
    let figures = figures(dom);
    let ids: Vec<_> = figures.iter().map(|(id, _)| *id).collect();
    assert_eq!(
        ids,
        [
            "effect",
            "contrasts-forest",
            "change-modelled_hdd_s_per_gib",
            "change-scan_s_per_gib",
            "change-dynamic_layout_score",
            "change-layout_score",
            "change-scan_layout_score",
            "by-size-layout_score",
            "by-size-degree_of_fragmentation",
            "free-space",
            "blocks-0",
            "blocks-1",
            "fit-0",
            "fast17-fig1-small-0",
            "fast17-fig2-small-0",
            "fast17-fig2-small-1",
            "fast17-fig3-small-blocks-0",
            "fast17-fig3-small-blocks-1",
            "fast17-fig3-small-blocks-2",
            "fast17-fig4-small-0",
            "fast17-fig4-small-1",
            "fast17-fig5-small-0",
            "fast17-fig5-small-1",
            "fast17-fig6-small-0",
            "fast17-fig7-small-0",
            "fast17-fig8-small-0",
            "fast17-fig8-small-1",
            "fast17-fig9-small-0",
            "fast17-fig9-small-1",
        ]
    );
    for (id, figure) in figures {
        // The third comparison of the example has no measures, and no figure is without a picture.
        assert!(figure.contains("<svg") && !figure.contains("not measured"), "{id} has no picture");
        assert!(figure.contains("<figcaption>"), "{id} has no caption");
        assert!(!figure.contains("NaN"), "{id} has a NaN coordinate");
    }
}

#[test]
fn headline_distinguishes_modelled_from_measured() {
    let Some(dom) = page() else { return };
    let first = dom
        .split_once(r#"<section id="headline">"#)
        .unwrap()
        .1
        .split("<li>")
        .nth(1)
        .unwrap()
        .split("</li>")
        .next()
        .unwrap();
    assert_eq!(
        text(first),
        "ext4, aged against unaged: slower by 90 % [84 % – 96 %], 3 agings, on a modelled 7200 rpm disk modelled; \
         slower by 5.0 % [1.8 % – 8.2 %], 3 agings, here measured."
    );
    assert!(dom.contains("<strong>btrfs, quick run</strong>: the cost of a scan was not measured."));
    assert!(dom.contains("<code>18446744073709551615, "), "a large seed keeps all its digits");
}

#[test]
fn ratios_are_rows_with_their_agings() {
    let Some(dom) = page() else { return };
    let figures = figures(dom);
    let of = |id: &str| figures.iter().find(|(this, _)| *this == id).unwrap().1;
    let rows: Vec<&str> = of("effect").split(r#"<div class="row""#).skip(1).collect();
    assert_eq!(rows.len(), 4, "modelled and measured, of two conditions each");
    assert!(text(rows[0]).starts_with("ext4") && text(rows[0]).contains("1.9× [1.84× – 1.96×], 3 agings"));
    assert!(rows[0].contains(r#"aria-label="ext4, on a modelled 7200 rpm disk: 1.9× [1.84× – 1.96×]""#));
    assert!(rows[0].contains("seed 2: 1.94×"), "an aging is a point: {}", rows[0]);

    let contrast = of("contrasts-forest");
    let said = text(contrast);
    let differing = said.find("xfs; all else equal").unwrap();
    assert!(
        differing
            < said.find("xfs </script> 70 %".replace('<', "&lt;").replace('>', "&gt;").as_str()).unwrap()
    );
    assert!(said.contains("aged: slower by 80 % [75 % – 85 %], 3 agings"), "{said}");
    assert!(said.contains("unaged: no difference larger than"), "{said}");
}

#[test]
fn many_comparisons_are_counted_in_one_sentence() {
    let mut page = crate::example::page();
    let first = page.comparisons.swap_remove(0);
    page.comparisons =
        (0..7).map(|i| Comparison { name: format!("comparison {i}"), ..first.clone() }).collect();
    let Some(dom) = drawn(&senesce_report::render(&page)) else { return };
    let headline =
        dom.split_once(r#"<section id="headline">"#).unwrap().1.split_once("</section>").unwrap().0;
    assert!(!headline.contains("<li>") && text(headline).contains(&page.answer));
    assert!(text(headline).contains("slower by 90 % [84 % – 96 %], 3 agings"), "the rows have the verdicts");
    assert!(dom.contains(r#"<div class="table plain">"#), "many conditions are rows of tables");
}

#[test]
fn samples_are_stated() {
    let Some(dom) = page() else { return };
    let map = figures(dom).into_iter().find(|(id, _)| *id == "blocks-0").unwrap().1;
    assert!(text(map).contains("Shown: 200 of 39,869 files, evenly spaced in scan order."), "{}", text(map));
    let free = figures(dom).into_iter().find(|(id, _)| *id == "free-space").unwrap().1;
    assert!(text(free).contains("Of the first aging of each"), "{}", text(free));
}

#[test]
fn raw_numbers_are_shown_without_clipboard_access() {
    let press = "<script>document.querySelector('#raw button').click()</script></body>";
    let html = senesce_report::render(&crate::example::page()).replace("</body>", press);
    let Some(dom) = drawn(&html) else { return };
    let (_, area) = dom.split_once("<textarea").expect("the text is in a text area for manual copying");
    let lines: Vec<_> = area.split_once('>').unwrap().1.lines().take(3).collect();
    assert_eq!(lines[0], "comparison,seed,side,measure,unit,repetition,value");
    assert_eq!(lines[1], r#"ext4,3,unaged,"scan, warm ""hot"" cache dropped",s/GiB,1,2.121"#);
    assert_eq!(lines[2], r#"ext4,3,unaged,"scan, warm ""hot"" cache dropped",s/GiB,2,2.1420000000000003"#);
}

#[test]
fn page_without_results_names_command_to_run() {
    let Some(dom) = drawn(&senesce_report::render(&senesce_report::Page::default())) else { return };
    assert!(text(&dom).contains("Nothing has been measured yet. senesce demo"));
    assert!(!dom.contains("<table>"), "an empty page must have no table");
}

#[test]
fn long_page_draws_only_visible_figures() {
    let mut page = crate::example::page();
    let first = page.comparisons.swap_remove(0);
    let many = (0..25).map(|i| Comparison { name: format!("comparison {i}"), ..first.clone() });
    page.comparisons = many.collect();
    let Some(dom) = dom(&senesce_report::render(&page)) else { return };
    let figures = figures(&dom);
    let of = |id: &str| figures.iter().find(|(this, _)| *this == id).unwrap().1;
    assert!(of("change-modelled_hdd_s_per_gib").contains("<svg"), "visible figures must be drawn");
    assert_eq!(
        of("change-modelled_hdd_s_per_gib").matches(r#"class="panel""#).count(),
        2,
        "a chart of 20 comparisons each"
    );
    for (id, figure) in &figures {
        assert!(
            figure.contains("<h3>") && figure.contains("<figcaption>"),
            "{id} must have a title and a caption"
        );
    }
    assert!(!of("blocks-24").contains("<svg"), "distant figures must not be drawn");
}

//! The matrix of a page in a browser.

use crate::chromium::{drawn, text};
use results::measures;
use senesce_report::data::*;

/// Two file systems with and without an option, which makes one slower and the other faster.
fn matrix() -> Matrix {
    let interval = |mean: f64, half: f64| {
        let [low, high] = [1.0 - half, 1.0 + half].map(|by| Some(mean * by));
        Estimate { mean, low, high, n: 3 }
    };
    let shift = |ratio: f64| {
        let ratio = interval(ratio, 0.03);
        let verdict = Verdict::on(&ratio, Words::COST);
        let is_significant = verdict.told != Told::NoDifference;
        Shift { ratio, verdict, p_value: Some(0.01), is_significant }
    };
    let cell = |fs: &str, option: &str, aging: f64, against_first: Option<f64>| Cell {
        name: format!("{fs}-agrawal"),
        values: vec![fs.into(), option.into()],
        ratio: Some(interval(aging, 0.04)),
        against_first: against_first.map(|aged| [shift(aged), shift(1.0)]),
    };
    let effect = |fact: &str, value: &str, against: &str, aged: f64, slower: usize| Effect {
        fact: fact.into(),
        value: value.into(),
        against: against.into(),
        combinations: 2,
        slower_in: [slower, 1],
        sides: [shift(aged), shift(1.0)],
    };
    Matrix {
        measure: measures::MODELLED_HDD_S_PER_GIB.name.into(),
        how: "on a modelled 7200 rpm disk".into(),
        facts: vec!["file system".into(), "mkfs options".into()],
        cells: vec![
            cell("ext4", "", 1.9, None),
            cell("ext4", "-O </script>", 2.4, Some(1.26)),
            cell("xfs", "", 3.4, Some(1.8)),
            cell("xfs", "-O </script>", 3.1, Some(1.63)),
        ],
        effects: vec![
            effect("file system", "xfs", "ext4", 1.55, 2),
            effect("mkfs options", "-O </script>", "", 1.08, 1),
        ],
    }
}

#[test]
fn matrix_takes_the_place_of_contrasts() {
    let mut page = crate::example::page();
    page.matrix = Some(matrix());
    let Some(dom) = drawn(&senesce_report::render(&page)) else { return };
    assert!(!dom.contains("contrasts-forest") && !dom.contains("could not be drawn"));
    let section = dom.split_once(r#"<section id="matrix">"#).unwrap().1.split_once("</section>").unwrap().0;
    let said = text(section);
    for told in [
        "mkfs options -O &lt;/script&gt;against default",
        "aged: slower by 8.0 % [4.8 % – 11 %], 3 agings *; slower in 1 of 2 combinations",
        "unaged: no difference larger than 3.1 %, 3 agings; slower in 1 of 2",
        "ext4default1.9× [1.82× – 1.98×]the firstthe first",
    ] {
        assert!(said.contains(told), "no {told:?} in {said}");
    }
    assert!(section.contains(r#"aria-label="file system xfs against ext4, aged: 1.55×"#));
}

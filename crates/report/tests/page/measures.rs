//! Measures on the page: their topic decides where they are shown, and nothing else knows them.

use crate::chromium::{drawn, text};
use crate::example::{exact, values};
use results::measures::{self, Better, Measure, Topic};
use results::{NewRun, Store};
use run::{Location, VolumeConfig};
use senesce_report::{Page, data::*, render};
use serde_json::json;

/// The topics with the sections that show them.
const SECTIONS: [(Topic, &str); 7] = [
    (Topic::Cost, "cost"),
    (Topic::Work, "numbers"),
    (Topic::Layout, "numbers"),
    (Topic::FreeSpace, "numbers"),
    (Topic::NewFile, "numbers"),
    (Topic::Tree, "tree"),
    (Topic::Aging, "numbers"),
];

/// The contents of the section or figure with this id.
fn part<'d>(dom: &'d str, tag: &str, id: &str) -> &'d str {
    let (_, rest) = dom.split_once(&format!(r#"<{tag} id="{id}">"#)).unwrap_or_else(|| panic!("no {id}"));
    rest.split_once(&format!("</{tag}>")).unwrap().0
}

fn invented(topic: Topic, better: Better, unit: &str) -> MeasureInfo {
    MeasureInfo {
        name: format!("invented_{topic:?}_{unit}"),
        label: format!("{unit} of {topic:?}"),
        unit: unit.into(),
        better,
        doc: format!("Invented for {topic:?}."),
        topic: Some(topic),
        always: false,
        by_disk: false,
    }
}

#[test]
fn unknown_measures_are_shown_by_topic() {
    let scalars = SECTIONS.map(|(topic, _)| invented(topic, Better::Lower, "sails"));
    let score = invented(Topic::Layout, Better::Higher, "share");
    let measures = [&scalars[..], std::slice::from_ref(&score)].concat();
    let side = |value: f64| Side {
        values: measures.iter().map(|measure| (measure.name.clone(), exact(value))).collect(),
        by_size: vec![SizeClass {
            upper_bytes: 4096,
            files: 1,
            values: [(score.name.clone(), Some(0.25))].into(),
        }],
        ..Side::default()
    };
    let (aged, unaged) = (side(0.25), side(0.75));
    let aging = Aging {
        values: measures.iter().map(|measure| (measure.name.clone(), 7.5)).collect(),
        ..Aging::default()
    };
    let comparison = Comparison { name: "ship".into(), aged, unaged, aging, ..Comparison::default() };
    let page = Page { measures, comparisons: vec![comparison], ..Page::default() };
    let Some(dom) = drawn(&render(&page)) else { return };
    for (topic, section) in SECTIONS {
        let told = text(part(&dom, "section", section));
        assert!(told.contains(&format!("Sails of {topic:?}")), "{topic:?} is not in {section}: {told}");
    }
    assert!(text(part(&dom, "figure", "change-invented_Cost_sails")).contains("0.25 sails"));
    assert!(part(&dom, "figure", "change-invented_Layout_share").contains("aged, share of Layout: 0.250"));
    assert!(part(&dom, "figure", "by-size-invented_Layout_share").contains("<svg"));
    assert!(text(part(&dom, "section", "numbers")).contains("7.5"));
    assert!(text(part(&dom, "section", "how")).contains("share of LayoutsharehigherInvented for Layout."));
}

/// The page of one comparison, with a value of each measure for each side, and this model for modelled time.
fn compared(disk: &str, recorded: &[Measure]) -> Page {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("senesce.db")).unwrap();
    let command = "senesce compare";
    let run = store.begin(&NewRun { kind: "compare", name: "a", command, seed: None, parameters: json!({}) });
    let run = run.unwrap();
    let volume = VolumeConfig::new(Location::Image("a.img".into()), "ext4", 1 << 30);
    let manifest = json!({
        "version": 1, "name": "a", "made": volume, "mkfs": null, "fs_version": "", "data": "auto", "on_full": "skip",
        "fill": true, "legs": [], "redo_to": 0, "stage": "done", "run": run.0,
    });
    store.record_document(run, "", "manifest", &manifest).unwrap();
    store.record_document(run, "", "modelled_disk", &disk).unwrap();
    for measure in recorded {
        store.record_all(run, &[measure.once("aged", 6.0), measure.once("unaged", 2.0)]).unwrap();
    }
    store.end(run, "done", None).unwrap();
    senesce_report::from_store(&store, &[], "senesce report").unwrap()
}

fn names(page: &Page) -> Vec<&str> {
    page.measures.iter().filter(|measure| measure.topic.is_some()).map(|m| m.name.as_str()).collect()
}

#[test]
fn scan_without_reads_is_modelled_from_extent_maps() {
    let maps = measures::EXTENT_MAP_HDD_S_PER_GIB;
    let page = compared("hdd-7200", &[maps, measures::LAYOUT_SCORE]);
    let c = &page.comparisons[0];
    assert_eq!(c.ratios, values([(maps, exact(3.0))]));
    let modelled = c.modelled.as_ref().unwrap();
    assert_eq!((modelled.measure.as_str(), c.measured.is_none()), (maps.name, true));
    assert_eq!(names(&page), [maps.name, measures::LAYOUT_SCORE.name]);
    let Some(dom) = drawn(&render(&page)) else { return };
    let headline = text(part(&dom, "section", "headline"));
    assert!(
        headline.contains(
            "3.0× slower in one aging, which cannot tell how much agings differ, on a modelled 7200 rpm disk, from extent maps alone modelled"
        ),
        "{headline}"
    );
    assert!(text(part(&dom, "figure", &format!("change-{}", maps.name))).contains("6 s/GiB"));
    assert!(
        text(part(&dom, "section", "raw")).contains(&format!("a0aged{}", maps.label)),
        "labels, not names"
    );
}

#[test]
fn cost_of_the_same_disk_is_shown_once() {
    let (of_disk, hdd) = (measures::MODELLED_S_PER_GIB, measures::MODELLED_HDD_S_PER_GIB);
    let recorded = [of_disk, hdd, measures::EXTENT_MAP_HDD_S_PER_GIB];
    let page = compared("hdd-7200", &recorded);
    assert_eq!(names(&page), [hdd.name, measures::EXTENT_MAP_HDD_S_PER_GIB.name]);
    let c = &page.comparisons[0];
    assert_eq!(c.modelled.as_ref().unwrap().measure, hdd.name);
    // The raw numbers are complete, with labels.
    assert_eq!(c.aged.raw.len(), 3);
    assert!(page.measures.iter().any(|measure| measure.name == of_disk.name));

    let page = compared("ssd-sata", &recorded);
    assert_eq!(names(&page), recorded.map(|measure| measure.name));
    let Some(dom) = drawn(&render(&page)) else { return };
    assert!(text(part(&dom, "figure", &format!("change-{}", of_disk.name))).contains("a, ssd-sata"));
    assert!(text(part(&dom, "section", "numbers")).contains("3×, ssd-sata"));
}

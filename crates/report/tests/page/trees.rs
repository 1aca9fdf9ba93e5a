//! Trees on the page: layout, occupancy and write amplification, in figures and in tables.

use crate::chromium::{drawn, text};
use crate::example::{exact, values};
use results::measures;
use senesce_report::{Page, data::*, render};

/// A tree of 20 leaves, `full` of which are full, below 4 inner nodes on two levels.
fn tree(full: u64) -> Tree {
    let level = |nodes: u64, full: u64, written| {
        let mut occupancy = vec![0; 10];
        occupancy[5] = nodes - full;
        occupancy[9] = full;
        TreeLevel { nodes, occupancy, write_amplification: Some(written) }
    };
    Tree {
        blocks_score: Some(0.999),
        levels: vec![level(20, full, 2.5), level(3, 0, 0.75), level(1, 0, 0.0)],
        log_write_amplification: Some(1.125),
        frame_write_amplification: Some(0.125),
    }
}

fn page() -> Page {
    let of = |row: f64| {
        [
            (measures::KEY_ORDER_LAYOUT_SCORE, row),
            (measures::LEAF_OCCUPANCY, 0.625),
            (measures::INNER_NODE_OCCUPANCY, 0.5),
            (measures::TREE_WRITE_AMPLIFICATION, 4.5),
        ]
    };
    let at = |option: &str, side: &str, round: u64, full: u64, row: f64| TreeAt {
        fs: "betreefs".into(),
        option: option.into(),
        side: side.into(),
        round,
        values: values(of(row)),
        tree: tree(full),
    };
    let trees = [100, 250].into_iter().flat_map(|round| {
        ["gc off", "gc on"].into_iter().flat_map(move |option| {
            [at(option, "aged", round, 5, 0.8125), at(option, "unaged", round, 15, 1.0)]
        })
    });
    let experiment = Experiment {
        figure: "pulls".into(),
        scale: "small".into(),
        round: Axis { label: "pulls".into(), ..Axis::default() },
        trees: trees.collect(),
        ..Experiment::default()
    };
    let side = |full, row| Side {
        values: values(of(row).map(|(measure, value)| (measure, exact(value)))),
        tree: Some(tree(full)),
        ..Side::default()
    };
    // A tree of one leaf has no order, and one without input has no amplification.
    let empty = Tree {
        levels: vec![TreeLevel { nodes: 1, occupancy: vec![1; 10], ..TreeLevel::default() }],
        ..Tree::default()
    };
    let empty = Side {
        values: values([(measures::LEAF_OCCUPANCY, exact(0.0))]),
        tree: Some(empty),
        ..Side::default()
    };
    let comparison =
        |name: &str, aged, unaged| Comparison { name: name.into(), aged, unaged, ..Comparison::default() };
    let comparisons = vec![
        comparison("mine", side(5, 0.8125), side(15, 1.0)),
        comparison("empty", empty.clone(), empty),
        comparison("ext4", Side::default(), Side::default()),
    ];
    let experiments = vec![experiment];
    Page {
        measures: MeasureInfo::of(&comparisons, &experiments),
        comparisons,
        experiments,
        ..Page::default()
    }
}

/// The contents of the section or figure with this id.
fn part<'d>(dom: &'d str, tag: &str, id: &str) -> &'d str {
    let (_, rest) = dom.split_once(&format!(r#"<{tag} id="{id}">"#)).unwrap_or_else(|| panic!("no {id}"));
    rest.split_once(&format!("</{tag}>")).unwrap().0
}

fn panels(figure: &str) -> Vec<&str> {
    figure.split("<h4>").skip(1).map(|panel| panel.split_once("</h4>").unwrap().0).collect()
}

#[test]
fn experiment_trees_are_drawn_by_round() {
    let Some(dom) = drawn(&render(&page())) else { return };
    let figure = |what: &str| part(&dom, "figure", &format!("pulls-small-tree-{what}"));
    for what in ["key_order_layout_score", "occupancy", "amplification"] {
        let figure = figure(what);
        assert!(figure.contains("<svg") && figure.contains("<figcaption>"), "{figure}");
        assert!(!figure.contains("NaN") && !figure.contains("could not be drawn"), "{figure}");
    }
    assert_eq!(
        panels(figure("occupancy")),
        [
            "betreefs, gc off: leaves",
            "betreefs, gc off: inner nodes",
            "betreefs, gc on: leaves",
            "betreefs, gc on: inner nodes"
        ]
    );
    assert!(
        figure("occupancy").contains("aged, 50 % to 60 % full: 15 nodes, 75 % of them"),
        "a bar says what it is"
    );
    assert!(figure("occupancy").contains(r#"aria-label="betreefs, gc on: leaves, by fill level""#));
    assert_eq!(panels(figure("amplification")).len(), 4);
    assert!(figure("amplification").contains("250, level 1: 0.75 bytes written per byte received"));
    let legend = text(figure("amplification").split_once("panels").unwrap().0);
    assert!(legend.contains("logleaveslevel 1level 2maps and superblocks"), "{legend}");
    // The tables contain the same numbers.
    let told = text(part(&dom, "section", "pulls-small"));
    assert!(told.contains("betreefs, gc offaged2500.81363 %50 %4.5"), "{told}");
    assert!(told.contains("betreefs, gc offaged2500.999204"), "{told}");
    assert!(told.contains("betreefs, gc offaged250leaves00000150005"), "{told}");
    assert!(told.contains("betreefs, gc offaged2501.132.50.7500.125"), "{told}");
}

#[test]
fn comparison_trees_have_a_section() {
    let Some(dom) = drawn(&render(&page())) else { return };
    let section = part(&dom, "section", "tree");
    assert!(!section.contains("NaN") && !section.contains("could not be drawn"), "{section}");
    assert_eq!(
        panels(part(&dom, "figure", "tree-occupancy")),
        ["mine: leaves", "mine: inner nodes", "empty: leaves", "empty: inner nodes"]
    );
    let amplification = text(part(&dom, "figure", "tree-amplification"));
    assert!(
        amplification.contains("emptynot measured: the tree has not received any data"),
        "{amplification}"
    );
    let told = text(section);
    assert!(told.contains("mineaged0.81363 %50 %4.5") && told.contains("mineaged0.999204"), "{told}");
    assert!(told.contains("emptyunaged–0 %––") && told.contains("emptyunaged–10"), "{told}");
    let scores = part(&dom, "figure", "change-key_order_layout_score");
    assert!(scores.contains("aged, key-order layout score: 0.813"), "{scores}");
    // The section is absent if no file system is a tree.
    let plain = Page {
        comparisons: vec![Comparison { name: "ext4".into(), ..Comparison::default() }],
        ..Page::default()
    };
    let Some(dom) = drawn(&render(&plain)) else { return };
    assert!(!dom.contains(r#"<section id="tree">"#) && !dom.contains("key-order"));
}

//! The report shows the same numbers of a betreefs as `senesce betreefs stat`.

use crate::betreefs::has_fuse;
use crate::chromium::{drawn, text};
use crate::common::Lab;
use serde_json::Value;

/// A report page: its text and its embedded numbers.
fn page(lab: &Lab) -> (String, Value) {
    lab.run("report --work work -o page.html");
    let page = std::fs::read_to_string(lab.path().join("page.html")).unwrap();
    let (_, rest) = page.split_once(r#"<script type="application/json" id="data">"#).unwrap();
    let numbers = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    (page, numbers)
}

/// The contents of the figure with this id.
fn figure<'d>(dom: &'d str, id: &str) -> &'d str {
    let (_, rest) = dom.split_once(&format!(r#"<figure id="{id}">"#)).unwrap_or_else(|| panic!("no {id}"));
    rest.split_once("</figure>").unwrap().0
}

/// The tree on the page equals the output of `stat`, except for inner nodes that later mounts wrote.
fn same(shown: &Value, stat: &Value) {
    let near = |what: &str, shown: &Value, stat: &Value, within: f64| {
        let (a, b) = (shown.as_f64().unwrap(), stat.as_f64().unwrap());
        assert!((a - b).abs() <= within * b.abs(), "{what}: {a} on the page, {b} by stat");
    };
    let (values, tree) = (&shown["values"], &shown["tree"]);
    // The numbers on the page went through a text format.
    for what in ["key_order_layout_score", "leaf_occupancy"] {
        near(what, &values[what], &stat[what], 1e-9);
    }
    near("layout_score", &tree["blocks_score"], &stat["layout_score"], 1e-9);
    let inner = |of: &Value| of["inner_node_occupancy"].as_f64().unwrap();
    assert!(
        (inner(values) - inner(stat)).abs() < 0.05,
        "{} on the page, {} by stat",
        inner(values),
        inner(stat)
    );
    near("write_amplification", &values["tree_write_amplification"], &stat["write_amplification"], 0.1);
    let log = "log_write_amplification";
    near(log, &tree[log], &stat[log], 0.01);
    let (shown, stat) = (tree["levels"].as_array().unwrap(), stat["levels"].as_array().unwrap());
    assert_eq!(shown[0]["occupancy"], stat[0]["occupancy"]);
    let leaves = "write_amplification";
    near(leaves, &shown[0][leaves], &stat[0][leaves], 0.01);
    let nodes =
        |levels: &[Value]| levels.iter().map(|level| level["nodes"].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(nodes(shown), nodes(stat));
}

#[test]
fn page_shows_the_tree_after_each_round() {
    let lab = Lab::new();
    if !has_fuse() {
        return;
    }
    let tree = "--interfile 100 --files 3000 --every 50";
    lab.run(&format!("age --fs betreefs --size 128MiB {tree} --name t --work work"));
    let (html, page) = page(&lab);
    let trees = page["experiments"][0]["trees"].as_array().unwrap();
    let when = |tree: &Value| (tree["round"].as_u64().unwrap(), tree["side"].as_str().unwrap().to_owned());
    let rounds: Vec<_> = trees.iter().map(when).collect();
    let expected = [(50, "aged"), (50, "unaged"), (100, "aged"), (100, "unaged")];
    assert!(rounds.iter().map(|(round, side)| (*round, side.as_str())).eq(expected), "{rounds:?}");
    same(&trees[2], &lab.json("betreefs stat work/t.img"));
    let printed = lab.run("betreefs stat work/t.img");
    for what in ["key-order layout score", "nodes full to", "write amplification"] {
        assert!(printed.contains(what), "{printed}");
    }
    let Some(dom) = drawn(&html) else { return };
    drawn_all(&dom, "t-series-tree", &["key_order_layout_score", "occupancy", "amplification"]);
    // The table next to the figures shows the score too.
    let score = trees[2]["values"]["key_order_layout_score"].as_f64().unwrap();
    assert!(text(&dom).contains(&format!("aged100{score:.3}")), "{score}");
    lab.nothing_left();
}

#[test]
fn page_shows_the_trees_of_a_comparison() {
    let lab = Lab::new();
    if !has_fuse() {
        return;
    }
    lab.run(
        "age --fs betreefs --size 128MiB --disk hdd-7200 --interfile 100 --files 2000 --name c --work work",
    );
    let compared = lab.json("compare c --work work --repeat 1");
    let pair = &compared["pairs"][0];
    // Values that FUSE does not report are absent, neither 0 nor 1.
    for what in
        ["layout_score", "scan_layout_score", "degree_of_fragmentation", "free_bytes", "new_file_fragments"]
    {
        assert!(pair["aged"][what].is_null(), "{what}: {pair}");
    }
    assert!(pair["aged"]["dynamic_layout_score"].as_f64().unwrap() > 0.5, "{pair}");
    assert_eq!((&pair["aged"]["files"], &pair["unaged"]["files"]), (&2000.0.into(), &2000.0.into()));
    assert!(pair["modelled_aging_ratio"].as_f64().unwrap() > 0.0, "{pair}");
    let (html, page) = page(&lab);
    let comparison = &page["comparisons"][0];
    assert!(comparison["fullness"].is_null(), "the fullness is unknown");
    for side in ["aged", "unaged"] {
        let values = &comparison[side]["values"];
        assert!(values["key_order_layout_score"]["mean"].as_f64().unwrap() > 0.0, "{values}");
        for what in ["key_order_layout_score", "tree_write_amplification"] {
            assert_eq!(values[what]["mean"], pair[side][what]);
        }
    }
    let Some(dom) = drawn(&html) else { return };
    drawn_all(&dom, "tree", &["occupancy", "amplification"]);
    drawn_all(&dom, "change", &["key_order_layout_score"]);
    lab.nothing_left();
}

fn drawn_all(dom: &str, id: &str, figures: &[&str]) {
    for one in figures {
        let figure = figure(dom, &format!("{id}-{one}"));
        assert!(figure.contains("<svg") && figure.contains("<figcaption>"), "{figure}");
        assert!(!figure.contains("NaN") && !figure.contains("could not be drawn"), "{figure}");
    }
}

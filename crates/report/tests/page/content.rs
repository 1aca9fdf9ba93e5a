//! The HTML of the page before a browser runs its script.

use senesce_report::{Page, render};

/// The embedded JSON.
fn embedded(html: &str) -> &str {
    let (_, rest) =
        html.split_once(r#"<script type="application/json" id="data">"#).expect("numbers are embedded");
    rest.split_once("</script>").expect("the data element is closed").0
}

#[test]
fn all_numbers_are_embedded() {
    let page = crate::example::page();
    let found = embedded(&render(&page)).replace("\\u003c", "<");
    assert!(found == serde_json::to_string(&page).unwrap(), "the embedded numbers must be those of the page");
}

#[test]
fn data_is_escaped() {
    let title = "<b> & {{data}} </script><script>alert(1)</script>".to_string();
    let html = render(&Page { title, ..Page::default() });
    assert!(html.contains("<title>&lt;b> &amp; {{data}} &lt;/script>"));
    let plain = render(&Page::default());
    assert_eq!(html.matches("</script>").count(), plain.matches("</script>").count());
}

#[test]
fn page_loads_nothing() {
    let html = render(&crate::example::page());
    for way_out in ["<link rel=\"stylesheet\"", "<script src", "@import", "<img", "<iframe"] {
        assert!(!html.contains(way_out), "the page must not contain {way_out}");
    }
    assert!(html.contains("default-src 'none'"));
}

//! Combines template, style, script and numbers.

use crate::data::Page;

const TEMPLATE: &str = include_str!("../web/template.html");
/// The style of the page.
pub const STYLE: &str = include_str!("../web/style.css");
/// The script that draws the page from the numbers in the element `data`, and again when that element
/// receives the event `change`. An element `report` with `data-part` gets only the figures.
pub const SCRIPT: &str = include_str!("../web/dist/page.js");

/// The page as one self-contained HTML document.
pub fn render(page: &Page) -> String {
    let data = embedded(page);
    let title = page.title.replace('&', "&amp;").replace('<', "&lt;");
    let fill = [("{{title}}", &*title), ("{{style}}", STYLE), ("{{data}}", &data), ("{{script}}", SCRIPT)];

    // Search for the marks only in the template, so that a mark in the data stays data.
    let mut html = String::with_capacity(TEMPLATE.len() + STYLE.len() + SCRIPT.len() + data.len());
    let mut rest = TEMPLATE;
    for (mark, text) in fill {
        let (before, after) = rest.split_once(mark).expect("the template has all marks in this order");
        html.push_str(before);
        html.push_str(text);
        rest = after;
    }
    html + rest
}

/// The numbers for the script: JSON that is safe inside an element.
pub fn embedded(page: &Page) -> String {
    inert(&serde_json::to_string(page).expect("a page holds only strings, numbers and lists of them"))
}

/// JSON that cannot close its element: in JSON, `<` occurs only in strings, where it can be escaped.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn embedded_json_is_equivalent_and_opens_no_tag(text in "(.|</script>|<!--|\\{\\{script\\}\\}){0,20}") {
            let json = super::inert(&serde_json::to_string(&text).unwrap());
            prop_assert!(!json.contains('<'));
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}

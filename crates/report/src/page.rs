//! Puts template, style, script and numbers together.

use crate::data::Page;

const TEMPLATE: &str = include_str!("../web/template.html");
/// The style of the page.
pub const STYLE: &str = include_str!("../web/style.css");
/// The script that draws the page from the numbers in the element `data`, and again when that is told `change`. An element `report`
/// with `data-part` gets the figures alone.
pub const SCRIPT: &str = include_str!("../web/dist/page.js");

/// The page as one HTML document that needs nothing but a browser.
pub fn render(page: &Page) -> String {
    let data = embedded(page);
    let title = page.title.replace('&', "&amp;").replace('<', "&lt;");
    let fill = [("{{title}}", &*title), ("{{style}}", STYLE), ("{{data}}", &data), ("{{script}}", SCRIPT)];

    // The marks are sought in the template alone, so that one which occurs in the data stays data.
    let mut html = String::with_capacity(TEMPLATE.len() + STYLE.len() + SCRIPT.len() + data.len());
    let mut rest = TEMPLATE;
    for (mark, text) in fill {
        let (before, after) = rest.split_once(mark).expect("the template has every mark, in this order");
        html.push_str(before);
        html.push_str(text);
        rest = after;
    }
    html + rest
}

/// The numbers as the script finds them: JSON that may stand in an element.
pub fn embedded(page: &Page) -> String {
    inert(&serde_json::to_string(page).expect("a page holds only strings, numbers and lists of them"))
}

/// JSON that cannot end the element it stands in: in JSON, `<` occurs only in strings, where it may be escaped.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn embedded_json_means_the_same_and_opens_no_tag(text in "(.|</script>|<!--|\\{\\{script\\}\\}){0,20}") {
            let json = super::inert(&serde_json::to_string(&text).unwrap());
            prop_assert!(!json.contains('<'));
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}

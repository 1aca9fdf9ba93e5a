//! Puts template, style, script and numbers together.

use crate::data::Page;

const TEMPLATE: &str = include_str!("../web/template.html");
const STYLE: &str = include_str!("../web/style.css");
const SCRIPT: &str = include_str!("../web/dist/page.js");

/// The page as one HTML document that needs nothing but a browser.
pub fn render(page: &Page) -> String {
    let json = serde_json::to_string(page).expect("a page holds only strings, numbers and lists of them");
    let title = page.title.replace('&', "&amp;").replace('<', "&lt;");
    let fill =
        [("{{title}}", &*title), ("{{style}}", STYLE), ("{{data}}", &inert(&json)), ("{{script}}", SCRIPT)];

    // The marks are sought in the template alone, so that one which occurs in the data stays data.
    let mut html = String::with_capacity(TEMPLATE.len() + STYLE.len() + SCRIPT.len() + json.len());
    let mut rest = TEMPLATE;
    for (mark, text) in fill {
        let (before, after) = rest.split_once(mark).expect("the template has every mark, in this order");
        html.push_str(before);
        html.push_str(text);
        rest = after;
    }
    html + rest
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

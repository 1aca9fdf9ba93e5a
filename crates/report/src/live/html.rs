//! Writes HTML with all text escaped, so that no name in a store is interpreted as markup.

use std::fmt::{Display, Write as _};

/// A piece of a page.
#[derive(Default)]
pub struct Html(String);

impl Html {
    /// An element whose contents `inside` writes.
    pub fn el(&mut self, tag: &str, attributes: &[(&str, &str)], inside: impl FnOnce(&mut Html)) {
        self.open(tag, attributes);
        inside(self);
        self.0 += &format!("</{tag}>");
    }

    /// An element that contains only text.
    pub fn leaf(&mut self, tag: &str, attributes: &[(&str, &str)], text: impl Display) {
        self.el(tag, attributes, |html| html.text(text));
    }

    /// The start tag of an element, or a void element. An attribute with the value `-` is written without a
    /// value.
    pub fn open(&mut self, tag: &str, attributes: &[(&str, &str)]) {
        self.0 += &format!("<{tag}");
        for (name, value) in attributes {
            match *value {
                "-" => self.0 += &format!(" {name}"),
                value => self.0 += &format!(" {name}=\"{}\"", escaped(value)),
            }
        }
        self.0 += ">";
    }

    /// Text.
    pub fn text(&mut self, text: impl Display) {
        self.0 += &escaped(&text.to_string());
    }

    /// A link.
    pub fn link(&mut self, to: &str, text: impl Display) {
        self.leaf("a", &[("href", to)], text);
    }

    /// JSON for scripts, in an invisible element.
    pub fn data(&mut self, id: &str, inert_json: &str) {
        let _ =
            write!(self.0, "<script type=\"application/json\" id=\"{id}\" data-live>{inert_json}</script>");
    }

    pub fn into_string(self) -> String {
        self.0
    }

    /// A table with a caption; `columns` are (label, class). A table wider than the page scrolls on its own.
    pub fn table(&mut self, caption: &str, columns: &[(&str, &str)], rows: impl FnOnce(&mut Html)) {
        let scroll = [("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", caption)];
        self.el("div", &scroll, |html| {
            html.el("table", &[], |html| {
                html.leaf("caption", &[("class", "aside")], caption);
                html.el("thead", &[], |html| {
                    html.el("tr", &[], |html| {
                        for (label, class) in columns {
                            html.leaf("th", &[("scope", "col"), ("class", class)], label);
                        }
                    });
                });
                html.el("tbody", &[], rows);
            });
        });
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn elements_have_attributes_and_ends() {
        let mut html = Html::default();
        html.el("p", &[("class", "a \"b\""), ("hidden", "-")], |html| html.link("/?a=1&b=2", "a < b"));
        assert_eq!(
            html.into_string(),
            "<p class=\"a &quot;b&quot;\" hidden><a href=\"/?a=1&amp;b=2\">a &lt; b</a></p>"
        );
    }

    proptest! {
        #[test]
        fn text_is_escaped(text in "(.|<script>|\"|&lt;|'){0,20}") {
            let mut html = Html::default();
            html.leaf("b", &[("title", &text)], &text);
            let html = html.into_string();
            prop_assert_eq!(html.matches('<').count(), 2);
            prop_assert!(html.matches('"').count() == 2 || text == "-");
        }
    }
}

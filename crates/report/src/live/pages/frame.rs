//! The frame of every page: head, navigation, main part.

use crate::live::html::Html;

/// The frame of a page.
pub struct Frame<'a> {
    title: &'a str,
    /// The refresh interval in seconds, and a text that announces changes to assistive technology.
    live: Option<(u32, String)>,
    figures: bool,
}

impl<'a> Frame<'a> {
    pub fn new(title: &'a str) -> Frame<'a> {
        Frame { title, live: None, figures: false }
    }

    /// Marks the page as live.
    pub fn live(self, seconds: u32, said: String) -> Frame<'a> {
        Frame { live: Some((seconds, said)), ..self }
    }

    /// Marks the page as having figures.
    pub fn figures(self) -> Frame<'a> {
        Frame { figures: true, ..self }
    }

    /// The whole page; `main` writes its main part.
    pub fn page(&self, main: impl FnOnce(&mut Html)) -> String {
        let mut html = Html::default();
        html.open("html", &[("lang", "en")]);
        html.el("head", &[], |html| self.head(html));
        let every = self.live.as_ref().map(|(seconds, _)| seconds.to_string());
        let mut attributes = vec![];
        if let Some((every, (_, said))) = every.as_ref().zip(self.live.as_ref()) {
            attributes.extend([("data-every", every.as_str()), ("data-said", said.as_str())]);
        }
        html.el("body", &attributes, |html| {
            html.leaf("a", &[("class", "skip"), ("href", "#content")], "Skip to the content");
            html.el("header", &[("class", "way")], |html| {
                html.el("nav", &[("aria-label", "Site")], |html| html.link("/", "senesce: all runs"));
                html.leaf("button", &[("type", "button"), ("id", "pause"), ("hidden", "-")], "Pause updates");
                html.leaf("p", &[("role", "status"), ("id", "said"), ("class", "aside")], "");
            });
            html.el("main", &[("id", "content"), ("tabindex", "-1")], main);
        });
        format!("<!doctype html>\n{}</html>\n", html.into_string())
    }

    fn head(&self, html: &mut Html) {
        html.open("meta", &[("charset", "utf-8")]);
        html.open("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
        html.open("meta", &[("name", "color-scheme"), ("content", "light dark")]);
        html.leaf("title", &[], format!("{} · senesce", self.title));
        html.open("link", &[("rel", "icon"), ("href", "data:,")]);
        html.open("link", &[("rel", "stylesheet"), ("href", "/style.css")]);
        if let Some((seconds, _)) = &self.live {
            let content = (5 * seconds).to_string();
            html.el("noscript", &[], |html| {
                html.open("meta", &[("http-equiv", "refresh"), ("content", &content)])
            });
        }
        if self.figures {
            html.leaf("script", &[("src", "/page.js"), ("defer", "-")], "");
        }
        if self.live.is_some() {
            html.leaf("script", &[("src", "/live.js"), ("defer", "-")], "");
        }
    }
}

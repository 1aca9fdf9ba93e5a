//! Query strings of URLs.

use axum::http::Uri;
use form_urlencoded::Serializer;

/// Names and values, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// The query of a URL.
    pub fn of(uri: &Uri) -> Query {
        Query::parse(uri.query().unwrap_or_default())
    }

    /// Parses a query.
    pub fn parse(text: &str) -> Query {
        Query(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// The first value of a name; an empty value counts as missing, because forms send empty fields.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(one, value)| one == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// A copy with another value of a name, or without the name.
    pub fn with(&self, name: &str, value: Option<&str>) -> Query {
        let mut pairs: Vec<_> =
            self.0.iter().filter(|(one, value)| one != name && !value.is_empty()).cloned().collect();
        pairs.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        Query(pairs)
    }

    /// The URL of a path with this query.
    pub fn at(&self, path: &str) -> String {
        let query = Serializer::new(String::new()).extend_pairs(&self.0).finish();
        if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn query_is_parsed_and_changed() {
        let query = Query::parse("q=a+b%26c&state=&sort=name&alone");
        assert_eq!((query.get("q"), query.get("state"), query.get("alone")), (Some("a b&c"), None, None));
        assert_eq!(query.with("sort", None).with("page", Some("2")).at("/"), "/?q=a+b%26c&page=2");
        assert_eq!(Query::parse("").at("/runs"), "/runs");
    }

    proptest! {
        #[test]
        fn encoding_round_trips(text in "\\PC*") {
            let query = Query::default().with("name", Some(&text));
            let address = query.at("/");
            let read = Query::parse(address.split_once('?').unwrap().1);
            prop_assert_eq!(read.get("name").unwrap_or_default(), text);
        }
    }
}

//! Query strings of URLs.

/// Names and values, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Parses a query; undecodable parts are left out.
    pub fn parse(text: &str) -> Query {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Some((decode(&name.replace('+', " "))?, decode(&value.replace('+', " "))?))
        };
        Query(text.split('&').filter(|part| !part.is_empty()).filter_map(pair).collect())
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
        let pairs: Vec<String> =
            self.0.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
    }
}

/// Decodes percent encoding; `None` if it is invalid or not UTF-8.
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let digit = |byte: u8| (byte as char).to_digit(16);
                (digit(rest.next()?)? * 16 + digit(rest.next()?)?) as u8
            }
            byte => byte,
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// Percent-encodes all characters that are not safe everywhere in a URL.
pub fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn query_is_parsed_and_changed() {
        let query = Query::parse("q=a+b%26c&state=&sort=name&%zz=1&alone");
        assert_eq!((query.get("q"), query.get("state"), query.get("alone")), (Some("a b&c"), None, None));
        assert_eq!(query.with("sort", None).with("page", Some("2")).at("/"), "/?q=a%20b%26c&page=2");
        assert_eq!(Query::parse("").at("/runs"), "/runs");
    }

    proptest! {
        #[test]
        fn encoding_round_trips(text in "\\PC*") {
            prop_assert_eq!(decode(&encode(&text)), Some(text.clone()));
            let query = Query::default().with("name", Some(&text));
            let address = query.at("/");
            let read = Query::parse(address.split_once('?').unwrap().1);
            prop_assert_eq!(read.get("name").unwrap_or_default(), text);
        }

        #[test]
        fn any_query_is_parsed(text in "\\PC*") {
            let _ = (Query::parse(&text), decode(&text));
        }
    }
}

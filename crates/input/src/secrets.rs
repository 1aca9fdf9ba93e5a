//! Names, passwords and parameters of URLs, which are neither shown nor recorded.

/// The prefixes of database URLs.
pub const DATABASES: [&str; 2] = ["postgres://", "postgresql://"];
/// The schemes of the URLs of repositories.
const REPOSITORIES: [&str; 4] = ["http", "https", "ssh", "git"];

/// An argument of the command line without secrets, for display and records. A database URL loses its
/// password, which is between the first colon after the user name and the `@`, and its parameters; any other
/// URL loses what is before the `@` of its host, and that of a repository what follows its path.
pub fn without_secrets(argument: &str) -> String {
    let at = DATABASES.iter().filter_map(|prefix| Some(argument.find(prefix)? + prefix.len())).min();
    match (at, argument.split_once("://")) {
        (Some(at), _) => database(argument.split_at(at)),
        (None, Some((scheme, rest))) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let place = format!("{}{path}", host.rsplit('@').next().unwrap_or_default());
            let repository = REPOSITORIES.iter().any(|of| scheme.ends_with(of));
            format!("{scheme}://{}", if repository { up_to(&place, &['?', '#']) } else { &place })
        }
        (None, None) => argument.to_owned(),
    }
}

fn database((prefix, rest): (&str, &str)) -> String {
    match rest.rsplit_once('@') {
        // The `@` may belong to the password or to a parameter.
        Some((who, _)) if who.contains('?') => format!("{prefix}{}@…", up_to(who, &[':', '/', '?'])),
        Some((who, place)) => format!("{prefix}{}@{}", up_to(who, &[':', '/']), up_to(place, &['?'])),
        None => format!("{prefix}{}", up_to(rest, &['?'])),
    }
}

fn up_to<'a>(text: &'a str, ends: &[char]) -> &'a str {
    text.split(ends).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_shown_without_password() {
        for (argument, shown) in [
            ("--store=postgresql://me:geheim@host/lab", "--store=postgresql://me@host/lab"),
            ("postgres://me:ge?heim/@host:5432/lab", "postgres://me@…"),
            ("postgres://me:ge@heim@host", "postgres://me@host"),
            ("postgres://host:5432/lab?password=geheim", "postgres://host:5432/lab"),
            ("postgres://host/lab?user=me&password=ge@heim", "postgres://host@…"),
            ("postgres://me:gehe/im@host/lab", "postgres://me@host/lab"),
            ("postgres://", "postgres://"),
            ("--repo=https://me:geheim@host/a@b.git?token=geheim", "--repo=https://host/a@b.git"),
            ("https://geheim@host", "https://host"),
            ("https://host/a.git/?token=geheim#b", "https://host/a.git/"),
            ("ssh://host/a#geheim", "ssh://host/a"),
            ("ftp://me:geheim@host/a", "ftp://host/a"),
            ("s3://bucket?region=x", "s3://bucket?region=x"),
            ("me:geheim@host", "me:geheim@host"),
        ] {
            assert_eq!(without_secrets(argument), shown);
        }
    }
}

//! What an aged file system may be called: its files are named by it.

/// Whether files can be named so, and the name can be printed: it is one part of a path, shown, in one line.
pub fn can_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(|c: char| c == '/' || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_stay_where_they_are_put() {
        assert!(["a", "ext4-agrawal-42", "50 %", "ü.1"].iter().all(|name| can_name(name)));
        let bad = ["", ".", "..", ".a", "a/b", "../a", "/a", "a\0", "a\nb", "\u{1b}[2J"];
        assert!(!bad.iter().any(|name| can_name(name)));
    }

    proptest! {
        #[test]
        fn they_are_one_part_of_a_path(name: String) {
            if can_name(&name) {
                let path = std::path::Path::new("/work").join(&name);
                prop_assert_eq!(path.parent(), Some(std::path::Path::new("/work")));
                prop_assert_eq!(path.file_name().unwrap(), name.as_str());
            }
        }
    }
}

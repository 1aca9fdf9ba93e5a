//! Valid names of aged file systems; the names of their files contain them.

/// Whether the name is a single visible path component without control characters.
pub fn can_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(|c: char| c == '/' || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn valid_names_are_single_visible_components() {
        assert!(["a", "ext4-agrawal-42", "50 %", "ü.1"].iter().all(|name| can_name(name)));
        let bad = ["", ".", "..", ".a", "a/b", "../a", "/a", "a\0", "a\nb", "\u{1b}[2J"];
        assert!(!bad.iter().any(|name| can_name(name)));
    }

    proptest! {
        #[test]
        fn valid_names_are_one_path_component(name: String) {
            if can_name(&name) {
                let path = std::path::Path::new("/work").join(&name);
                prop_assert_eq!(path.parent(), Some(std::path::Path::new("/work")));
                prop_assert_eq!(path.file_name().unwrap(), name.as_str());
            }
        }
    }
}

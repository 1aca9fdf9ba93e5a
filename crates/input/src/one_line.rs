//! Errors in one line.

/// The text in one line, even if it has several, as the output of a tool.
pub fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// An error in a TOML text with its line number, without the TOML library's multi-line excerpt.
pub fn toml_error(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let message = error.message().replace('\n', " ");
    line.map_or(message.clone(), |line| format!("line {line}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_one_line() {
        assert_eq!(one_line(" a:\n\n  b\n"), "a:; b");
        let text = "a = 1\n\nb = é";
        let error = toml::from_str::<toml::Table>(text).unwrap_err();
        let told = toml_error(&error, text);
        assert!(told.starts_with("line 3: ") && !told.contains('\n'), "{told}");
    }
}

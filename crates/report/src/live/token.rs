//! The access token for users on other machines.

use super::Error;
use std::io::Read as _;
use std::path::Path;

/// A secret of letters, digits, `-` and `_`.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new token of 128 random bits.
    pub fn random() -> Result<Token, Error> {
        let mut bits = [0; 16];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut bits))
            .map_err(Error::Random)?;
        Ok(Token(bits.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Reads a token from a file, which should be readable only by its owner.
    pub fn read(path: &Path) -> Result<Token, Error> {
        let read = input::read_to_string(path);
        let text = read.map_err(|source| Error::TokenFile { path: path.to_owned(), source })?;
        let token = text.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        match (16..=256).contains(&token.len()) && token.chars().all(plain) {
            true => Ok(Token(token.to_owned())),
            false => Err(Error::Token { path: path.to_owned(), found: token.chars().count() }),
        }
    }

    /// The token as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `said` equals this token. The time taken does not reveal where they differ.
    pub fn is(&self, said: &str) -> bool {
        let differing = self
            .0
            .bytes()
            .zip(said.bytes())
            .fold(0, |differing, (a, b)| std::hint::black_box(differing | (a ^ b)));
        differing == 0 && self.0.len() == said.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_token_matches() {
        let token = Token::random().unwrap();
        assert_eq!(token.as_str().len(), 32);
        assert!(token.is(token.as_str()) && !token.is("") && !token.is(&token.as_str()[1..]));
        assert!(!token.is(&format!("{}0", token.as_str())) && !token.is(Token::random().unwrap().as_str()));
    }

    #[test]
    fn token_files_are_checked() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            Token::read(file.path()).map(|token| token.as_str().to_owned())
        };
        assert_eq!(read("0123456789abcdef\n").unwrap(), "0123456789abcdef");
        for bad in ["", "short", "0123456789 abcdef", "0123456789abcdef\nmore"] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}

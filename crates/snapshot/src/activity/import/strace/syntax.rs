//! Syntax of the calls in strace output.

/// The relevant calls.
const CALLS: [&str; 31] = [
    "open",
    "openat",
    "openat2",
    "creat",
    "mknod",
    "mknodat",
    "link",
    "linkat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "truncate",
    "chdir",
    "fchdir",
    "clone",
    "clone3",
    "fork",
    "vfork",
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "sendfile",
    "copy_file_range",
    "splice",
    "ftruncate",
    "fallocate",
    "lseek",
];

/// A call, with its arguments and its result.
pub struct Call<'l> {
    pub name: &'l str,
    pub args: Vec<Arg<'l>>,
    pub returned: Returned,
}

/// The result of a call.
pub struct Returned {
    pub failed: bool,
    pub number: u64,
    /// The path of the returned descriptor.
    pub path: Option<Vec<u8>>,
}

/// An argument as written.
pub struct Arg<'l>(&'l [u8]);

impl Arg<'_> {
    pub fn text(&self) -> &[u8] {
        self.0
    }

    /// A string, unescaped.
    pub fn string(&self) -> Option<Vec<u8>> {
        let inner = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        Some(unescape(inner))
    }

    /// A number, also of a descriptor.
    pub fn number(&self) -> Option<u64> {
        number(self.0)
    }

    /// The path of a descriptor annotated by `-y`, or of the working directory.
    pub fn descriptor_path(&self) -> Option<Vec<u8>> {
        annotation(self.0)
    }

    /// The annotated path of the working directory, if the argument is `AT_FDCWD`.
    pub fn working_dir(&self) -> Option<Vec<u8>> {
        if self.0.starts_with(b"AT_FDCWD<") { annotation(self.0) } else { None }
    }

    /// Whether the argument contains a flag.
    pub fn has(&self, flag: &str) -> bool {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        self.0.split(|byte| !is_word(byte)).any(|word| word == flag.as_bytes())
    }
}

/// The process, time and rest of a line; the process is 0 if strace followed only one.
pub fn head(line: &[u8]) -> Option<(u64, &str, &[u8])> {
    let (pid, rest) = match line.strip_prefix(b"[pid ") {
        Some(rest) => {
            let end = rest.iter().position(|byte| *byte == b']')?;
            (number(rest[..end].trim_ascii())?, rest[end + 1..].trim_ascii_start())
        }
        None => match word(line) {
            (first, rest) if first.iter().all(u8::is_ascii_digit) => (number(first)?, rest),
            _ => (0, line),
        },
    };
    let (time, rest) = word(rest);
    let time = str::from_utf8(time).ok()?;
    time.starts_with(|c: char| c.is_ascii_digit()).then_some((pid, time, rest))
}

fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_ascii_start())
}

/// The second half of a call, after `resumed>`.
pub fn resumed(rest: &[u8]) -> Option<&[u8]> {
    let inner = rest.strip_prefix(b"<... ")?;
    let mark = b" resumed>";
    let at = inner.windows(mark.len()).position(|window| window == mark)?;
    Some(&inner[at + mark.len()..])
}

/// The first half of an unfinished call.
pub fn unfinished(rest: &[u8]) -> Option<&[u8]> {
    rest.trim_ascii_end().strip_suffix(b"<unfinished ...>").map(<[u8]>::trim_ascii_end)
}

/// Whether this is the first half of a call that creates a process.
pub fn forks(begin: &[u8]) -> bool {
    [&b"clone"[..], b"fork", b"vfork"].iter().any(|name| begin.starts_with(name))
}

/// Parses a relevant call; an error says what is wrong with it.
pub fn call(text: &[u8]) -> Result<Option<Call<'_>>, String> {
    let Some(open) = text.iter().position(|byte| *byte == b'(') else { return Ok(None) };
    let name = str::from_utf8(&text[..open]).unwrap_or_default();
    if !CALLS.contains(&name) {
        return Ok(None);
    }
    let (args, rest) = arguments(&text[open + 1..]).ok_or("it ends within its arguments")?;
    let result = rest.trim_ascii_start().strip_prefix(b"=").ok_or("it has no result")?.trim_ascii_start();
    // A call that ends its process has no result.
    if result.starts_with(b"?") {
        return Ok(None);
    }
    let failed = result.starts_with(b"-");
    let number = number(result).unwrap_or(0);
    if !failed && !result.first().is_some_and(u8::is_ascii_digit) {
        return Err("its result is not a number".to_owned());
    }
    Ok(Some(Call { name, args, returned: Returned { failed, number, path: annotation(result) } }))
}

/// The arguments up to the closing parenthesis, and the rest.
fn arguments(text: &[u8]) -> Option<(Vec<Arg<'_>>, &[u8])> {
    let mut args = Vec::new();
    let (mut begin, mut depth, mut at) = (0, 0, 0);
    loop {
        let byte = *text.get(at)?;
        match byte {
            b'"' => at += string_length(&text[at..])? - 1,
            b'<' if is_annotation(text, at) => at += text[at..].iter().position(|byte| *byte == b'>')?,
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                args.push(Arg(text[begin..at].trim_ascii()));
                return Some((args, &text[at + 1..]));
            }
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                args.push(Arg(text[begin..at].trim_ascii()));
                begin = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
}

/// The length of the string at the start, with its quotes.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    let end = text[1..].iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })?;
    Some(end + 2)
}

/// Whether a path annotation begins here, after a descriptor or `AT_FDCWD`; other angle brackets are operators.
fn is_annotation(text: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    before.is_some_and(u8::is_ascii_alphanumeric) && text.get(at + 1).is_some_and(|next| *next != b'<')
}

/// The path in angle brackets after a descriptor.
fn annotation(text: &[u8]) -> Option<Vec<u8>> {
    let begin = text.iter().position(|byte| *byte == b'<')?;
    let is_descriptor = text[..begin].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let inner = &text[begin + 1..];
    let end = inner.iter().position(|byte| *byte == b'>')?;
    (is_descriptor && inner.starts_with(b"/")).then(|| unescape(&inner[..end]))
}

/// The leading number of a text.
fn number(text: &[u8]) -> Option<u64> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    str::from_utf8(&text[..end]).ok()?.parse().ok()
}

/// Resolves C escapes.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        let [escaped, tail @ ..] = tail else {
            plain.push(*byte);
            break;
        };
        if *byte != b'\\' {
            plain.push(*byte);
            continue;
        }
        rest = tail;
        plain.push(match escaped {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 0x0b,
            b'f' => 0x0c,
            b'x' => {
                let digits = rest.iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
                digit_value(&mut rest, digits, 16)
            }
            b'0'..=b'7' => {
                let digits = tail.iter().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                let first = u32::from(escaped - b'0') << (3 * digits);
                (first + u32::from(digit_value(&mut rest, digits, 8))) as u8
            }
            other => *other,
        });
    }
    plain
}

/// Consumes up to `digits` digits and returns their value.
fn digit_value(rest: &mut &[u8], digits: usize, radix: u32) -> u8 {
    let (digits, tail) = rest.split_at(digits);
    *rest = tail;
    str::from_utf8(digits).ok().and_then(|text| u8::from_str_radix(text, radix).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved() {
        for (text, plain) in [
            (&br"a\n\t\\b"[..], &b"a\n\t\\b"[..]),
            (br"\303\274", "ü".as_bytes()),
            (br"\xc3\xbc", "ü".as_bytes()),
            (br"\76x\0", b">x\0"),
            (br#"\""#, b"\""),
            (b"\\", b"\\"),
        ] {
            assert_eq!(unescape(text), plain);
        }
    }

    #[test]
    fn arguments_are_split() {
        let text = br#"3</a, (b>, "x, \")"..., [{iov_base="y)", iov_len=1}], 1<<3, O_A|O_B) = 5</c>"#;
        let (args, rest) = arguments(text).unwrap();
        let texts: Vec<&[u8]> = args.iter().map(Arg::text).collect();
        assert_eq!(texts.len(), 5, "{texts:?}");
        assert_eq!(args[0].descriptor_path().unwrap(), b"/a, (b");
        assert!(args[4].has("O_B") && !args[4].has("O"));
        assert_eq!(rest, b" = 5</c>");
    }
}

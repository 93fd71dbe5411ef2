//! White space around texts, as Python strips it.

/// What Python calls white space.
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// The same of a text as Python writes it in JSON.
pub fn strip_written(text: &str) -> &str {
    trim_end_written(trim_start_written(text))
}

pub fn trim_start_written(text: &str) -> &str {
    let mut rest = text.trim_start_matches(is_space);
    while let Some(length) = escaped_space(rest.as_bytes()) {
        rest = rest[length..].trim_start_matches(is_space);
    }
    rest
}

fn trim_end_written(text: &str) -> &str {
    let mut rest = text.trim_end_matches(is_space);
    while let Some(start) = last_escaped_space(rest.as_bytes()) {
        rest = rest[..start].trim_end_matches(is_space);
    }
    rest
}

/// The length of the escaped white space that a text begins with.
fn escaped_space(text: &[u8]) -> Option<usize> {
    match text {
        [b'\\', b'n' | b'r' | b't' | b'f', ..] => Some(2),
        [b'\\', b'u', b'0', b'0', b'0', b'b', ..] => Some(6),
        [b'\\', b'u', b'0', b'0', b'1', b'c'..=b'f', ..] => Some(6),
        _ => None,
    }
}

/// Where the escaped white space begins that a text ends with.
fn last_escaped_space(text: &[u8]) -> Option<usize> {
    [2, 6].into_iter().find_map(|length| {
        let start = text.len().checked_sub(length)?;
        let backslashes = text[..start].iter().rev().take_while(|byte| **byte == b'\\').count();
        let whole = backslashes % 2 == 0; // else its backslash is the second one of an escape
        (whole && escaped_space(&text[start..]) == Some(length)).then_some(start)
    })
}

#[cfg(test)]
mod tests {
    use super::{strip, strip_written, trim_start_written};
    use crate::json::{escape, unescaped};

    #[test]
    fn what_is_written_is_stripped_as_what_it_says() {
        let pieces =
            ["\n", "\\", "n", "\u{b}", "\u{1f}", "\u{8}", " ", "\u{a0}", "é", "\"", "u001c"];
        let texts =
            pieces.iter().flat_map(|one| pieces.iter().map(move |two| format!("{one}{two}")));
        let texts: Vec<String> = texts.collect();
        for (one, other) in texts.iter().flat_map(|one| texts.iter().map(move |two| (one, two))) {
            for said in [format!("{one}{other}"), format!("{one}x{other}")] {
                let mut written = String::new();
                escape(&said, &mut written);
                assert_eq!(unescaped(strip_written(&written)), strip(&said), "{said:?}");
                let trimmed = unescaped(trim_start_written(&written)).into_owned();
                assert_eq!(trimmed, said.trim_start_matches(super::is_space), "{said:?}");
            }
        }
    }
}

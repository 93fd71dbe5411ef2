//! JSON, read strictly and lazily: values that are not needed are checked and skipped.

mod shapes;

pub use shapes::{Marks, Shapes};

use std::borrow::Cow;

/// Nesting beyond this is left to Python, which allows 250 levels.
const DEEPEST: u32 = 100;
/// Longer numbers are left to Python, which has limits of its own for them.
const LONGEST_NUMBER: usize = 300;
/// Shorter integers fit into 64 bits.
const LONGEST_INTEGER: usize = 19;

/// Why a value is not read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum No {
    /// It is not JSON, or holds half a surrogate pair.
    Json,
    /// It is something that Python should judge.
    Odd,
}

pub type Result<T> = std::result::Result<T, No>;

/// A string as it is written, without its quotes.
#[derive(Debug, Clone, Copy)]
pub struct Str<'a> {
    pub raw: &'a str,
    pub escaped: bool,
    /// Whether Python would write it with other escapes.
    otherwise: bool,
}

impl<'a> Str<'a> {
    pub fn push_to(self, out: &mut String) {
        if self.escaped {
            unescape(self.raw, out);
        } else {
            out.push_str(self.raw);
        }
    }

    pub fn text(self) -> Cow<'a, str> {
        if self.escaped {
            let mut text = String::with_capacity(self.raw.len());
            unescape(self.raw, &mut text);
            Cow::Owned(text)
        } else {
            Cow::Borrowed(self.raw)
        }
    }

    /// Whether Python would write it with the same escapes.
    pub fn is_as_written(self) -> bool {
        !self.otherwise
    }

    /// Append it as Python writes it, without quotes.
    pub fn push_written_to(self, out: &mut String) {
        let mut rest = self.raw;
        if self.otherwise {
            let mut said = String::new();
            while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
                let Ok(end) = after_escape(rest.as_bytes(), at) else { break };
                let (before, one) = (&rest[..at], &rest[at..end]);
                out.push_str(before);
                if is_escape_as_written(&one.as_bytes()[1..]) {
                    out.push_str(one);
                } else {
                    said.clear();
                    unescape(one, &mut said);
                    escape(&said, out);
                }
                rest = &rest[end..];
            }
        }
        out.push_str(rest);
    }

    /// What Python writes, without quotes.
    pub fn written(self) -> Cow<'a, str> {
        if self.otherwise {
            let mut text = String::with_capacity(self.raw.len());
            self.push_written_to(&mut text);
            Cow::Owned(text)
        } else {
            Cow::Borrowed(self.raw)
        }
    }
}

/// A place in a text of JSON.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    /// Whether there was white space between what was read.
    pub spaced: bool,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Self {
        Cursor { text, at: 0, depth: 0, spaced: false }
    }

    /// The text from an earlier place to here.
    pub fn since(&self, start: Cursor<'a>) -> &'a str {
        &self.text[start.at..self.at]
    }

    /// The next byte that is no white space, not taken; 0 at the end.
    #[inline]
    pub fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if byte > b' ' || !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return byte;
            }
            self.at += 1;
            self.spaced = true;
        }
        0
    }

    #[inline]
    fn expect(&mut self, wanted: u8) -> Result<()> {
        if self.peek() != wanted {
            return Err(No::Json);
        }
        self.at += 1;
        Ok(())
    }

    /// Nothing but white space may follow.
    pub fn end(&mut self) -> Result<()> {
        self.peek();
        if self.at == self.text.len() {
            Ok(())
        } else {
            Err(No::Json)
        }
    }

    /// Each member of an object; the visitor takes its value.
    #[inline]
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Str<'a>) -> Result<()>,
    ) -> Result<()> {
        self.expect(b'{')?;
        self.descend()?;
        if self.peek() == b'}' {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        loop {
            if self.peek() != b'"' {
                return Err(No::Json);
            }
            let key = self.string()?;
            self.expect(b':')?;
            member(self, key)?;
            match self.peek() {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(());
                }
                _ => return Err(No::Json),
            }
        }
    }

    /// Each item of a list; the visitor takes it.
    #[inline]
    pub fn list(&mut self, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.expect(b'[')?;
        self.descend()?;
        if self.peek() == b']' {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        loop {
            item(self)?;
            match self.peek() {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(());
                }
                _ => return Err(No::Json),
            }
        }
    }

    fn descend(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            Err(No::Odd)
        } else {
            Ok(())
        }
    }

    /// A string; the next byte is its quote.
    #[inline]
    pub fn string(&mut self) -> Result<Str<'a>> {
        self.expect(b'"')?;
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut at = start;
        let (mut escaped, mut otherwise) = (false, false);
        loop {
            at = next_special(bytes, at);
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(Str { raw: &self.text[start..at], escaped, otherwise });
                }
                Some(b'\\') => {
                    escaped = true;
                    let after = after_escape(bytes, at)?;
                    otherwise |= !is_escape_as_written(&bytes[at + 1..after]);
                    at = after;
                }
                _ => return Err(No::Json),
            }
        }
    }

    /// The text of a number, and whether it is an integer.
    pub fn number(&mut self) -> Result<(&'a str, bool)> {
        self.peek();
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut at = start;
        let digits = |mut at: usize| {
            while matches!(bytes.get(at), Some(b'0'..=b'9')) {
                at += 1;
            }
            at
        };
        if bytes.get(at) == Some(&b'-') {
            at += 1;
        }
        match bytes.get(at) {
            Some(b'0') => at += 1,
            Some(b'1'..=b'9') => at = digits(at),
            _ => return Err(No::Json),
        }
        let mut integer = true;
        if bytes.get(at) == Some(&b'.') {
            integer = false;
            let end = digits(at + 1);
            if end == at + 1 {
                return Err(No::Json);
            }
            at = end;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            integer = false;
            at += 1;
            if matches!(bytes.get(at), Some(b'+' | b'-')) {
                at += 1;
            }
            let end = digits(at);
            if end == at {
                return Err(No::Json);
            }
            at = end;
        }
        if at - start > LONGEST_NUMBER {
            return Err(No::Odd);
        }
        self.at = at;
        Ok((&self.text[start..at], integer))
    }

    #[inline]
    pub fn word(&mut self, word: &str) -> Result<()> {
        self.peek();
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(No::Json)
        }
    }

    /// Take a null, if one is next.
    #[inline]
    pub fn null(&mut self) -> Result<bool> {
        if self.peek() != b'n' {
            return Ok(false);
        }
        self.word("null")?;
        Ok(true)
    }

    /// Null must be next: anything else is for Python.
    #[inline]
    pub fn only_null(&mut self) -> Result<()> {
        if self.null()? {
            Ok(())
        } else {
            Err(No::Odd)
        }
    }

    /// Check a value and go past it.
    pub fn skip(&mut self) -> Result<()> {
        match self.peek() {
            b'"' => self.string().map(drop),
            b'{' => self.object(|cursor, _| cursor.skip()),
            b'[' => self.list(Self::skip),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number().map(drop),
        }
    }

    /// Go past a value that was checked before and is written with the same bytes again. Nothing
    /// can follow an object or a list that would make it a longer one.
    pub fn skip_known(&mut self, known: &str) -> bool {
        self.peek();
        let same = self.text.as_bytes()[self.at..].starts_with(known.as_bytes());
        if same {
            self.at += known.len();
        }
        same
    }

    /// The text of a value.
    pub fn raw(&mut self) -> Result<&'a str> {
        self.peek();
        let start = *self;
        self.skip()?;
        Ok(self.since(start))
    }

    /// Check a value, and whether Python would write it with the same bytes, spaces left aside.
    pub fn as_written(&mut self) -> Result<bool> {
        match self.peek() {
            b'"' => self.string().map(Str::is_as_written),
            b'{' => {
                let mut same = true;
                let mut keys = Vec::new();
                self.object(|cursor, key| {
                    same &= key.is_as_written() & cursor.as_written()?;
                    keys.push(key.raw);
                    Ok(())
                })?;
                keys.sort_unstable();
                Ok(same && keys.windows(2).all(|two| two[0] != two[1]))
            }
            b'[' => {
                let mut same = true;
                self.list(|cursor| {
                    same &= cursor.as_written()?;
                    Ok(())
                })?;
                Ok(same)
            }
            b't' | b'f' | b'n' => self.skip().map(|()| true),
            _ => self.number().map(|(text, integer)| is_number_as_written(text, integer)),
        }
    }

    /// Write a value as Python writes it once it has read it: in its order, without white space.
    pub fn rewrite(&mut self, out: &mut String) -> Result<()> {
        match self.peek() {
            b'{' => {
                let mut keys = Vec::new();
                out.push('{');
                self.object(|cursor, key| {
                    if key.escaped {
                        return Err(No::Odd);
                    }
                    if !keys.is_empty() {
                        out.push(',');
                    }
                    keys.push(key.raw);
                    write_canonical_str(key, out);
                    out.push(':');
                    cursor.rewrite(out)
                })?;
                out.push('}');
                keys.sort_unstable();
                let twice = keys.windows(2).any(|two| two[0] == two[1]);
                return if twice { Err(No::Odd) } else { Ok(()) };
            }
            b'[' => self.rewrite_list(out, Self::rewrite)?,
            b'"' | b't' | b'f' | b'n' => self.canonical(out)?,
            _ => {
                let start = out.len();
                let (text, integer) = self.number()?;
                write_number(text, integer, out)?;
                let digits = &out[start..];
                if digits.len() >= LONGEST_INTEGER && integer || digits.contains('e') {
                    return Err(No::Odd);
                }
            }
        }
        Ok(())
    }

    /// Write a list, each item in its own way.
    fn rewrite_list(
        &mut self,
        out: &mut String,
        item: fn(&mut Self, &mut String) -> Result<()>,
    ) -> Result<()> {
        out.push('[');
        let start = out.len();
        self.list(|cursor| {
            if out.len() > start {
                out.push(',');
            }
            item(cursor, out)
        })?;
        out.push(']');
        Ok(())
    }

    /// Write a value in canonical form.
    pub fn canonical(&mut self, out: &mut String) -> Result<()> {
        match self.peek() {
            b'"' => {
                write_canonical_str(self.string()?, out);
                Ok(())
            }
            b'{' => self.canonical_object(out),
            b'[' => self.rewrite_list(out, Self::canonical),
            b't' => self.canonical_word("true", out),
            b'f' => self.canonical_word("false", out),
            b'n' => self.canonical_word("null", out),
            _ => {
                let (text, integer) = self.number()?;
                write_number(text, integer, out)
            }
        }
    }

    fn canonical_word(&mut self, word: &str, out: &mut String) -> Result<()> {
        self.word(word)?;
        out.push_str(word);
        Ok(())
    }

    fn canonical_object(&mut self, out: &mut String) -> Result<()> {
        out.push('{');
        let start = out.len();
        let mut members: Vec<(Cow<'a, str>, usize, usize)> = Vec::new();
        let mut sorted = true;
        self.object(|cursor, key| {
            let begin = out.len();
            write_canonical_str(key, out);
            out.push(':');
            cursor.canonical(out)?;
            let key = key.text();
            sorted = sorted && members.last().is_none_or(|(last, ..)| *last < key);
            members.push((key, begin, out.len()));
            out.push(',');
            Ok(())
        })?;
        if members.is_empty() {
            out.push('}');
            return Ok(());
        }
        if !sorted {
            members.sort_by(|one, other| one.0.cmp(&other.0)); // equal keys stay in order
            let mut ordered = String::with_capacity(out.len() - start);
            for (at, (key, begin, end)) in members.iter().enumerate() {
                if members.get(at + 1).is_some_and(|next| next.0 == *key) {
                    continue; // of a key that occurs twice the last one counts
                }
                ordered.push_str(&out[*begin..*end]);
                ordered.push(',');
            }
            out.truncate(start);
            out.push_str(&ordered);
        }
        out.pop();
        out.push('}');
        Ok(())
    }
}

/// Where the next quote, backslash or control character is; the length if there is none.
#[inline]
fn next_special(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    while let Some(eight) = bytes.get(at..at + 8) {
        let word = u64::from_le_bytes(eight.try_into().unwrap_or_default());
        // Of all bytes, control characters and the quote alone are below 0x21 once a bit is flipped.
        let low = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
        let slash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
        let found = (low | slash) & !word & HIGH; // the lowest one is right
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            return at;
        }
        at += 1;
    }
    at
}

fn hex(bytes: &[u8], at: usize) -> Result<u32> {
    let mut value = 0;
    for place in at..at + 4 {
        let digit = match bytes.get(place) {
            Some(byte @ b'0'..=b'9') => byte - b'0',
            Some(byte @ b'a'..=b'f') => byte - b'a' + 10,
            Some(byte @ b'A'..=b'F') => byte - b'A' + 10,
            _ => return Err(No::Json),
        };
        value = value << 4 | u32::from(digit);
    }
    Ok(value)
}

/// The place after an escape, which must be a whole one.
#[inline]
fn after_escape(bytes: &[u8], at: usize) -> Result<usize> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match hex(bytes, at + 2)? {
            0xd800..=0xdbff if bytes.get(at + 6..at + 8) == Some(b"\\u") => {
                match hex(bytes, at + 8)? {
                    0xdc00..=0xdfff => Ok(at + 12),
                    _ => Err(No::Json),
                }
            }
            0xd800..=0xdfff => Err(No::Json),
            _ => Ok(at + 6),
        },
        _ => Err(No::Json),
    }
}

/// Whether Python would write what is behind a backslash.
#[inline]
fn is_escape_as_written(escape: &[u8]) -> bool {
    match escape {
        [b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't'] => true,
        [b'u', b'0', b'0', b'0', other] => matches!(other, b'0'..=b'7' | b'b' | b'e' | b'f'),
        [b'u', b'0', b'0', b'1', other] => !other.is_ascii_uppercase(),
        _ => false,
    }
}

/// What a text says that is written as in a string.
pub fn unescaped(written: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\\', written.as_bytes()).is_none() {
        return Cow::Borrowed(written);
    }
    let mut text = String::with_capacity(written.len());
    unescape(written, &mut text);
    Cow::Owned(text)
}

/// Append what a checked string says.
pub fn unescape(raw: &str, out: &mut String) {
    let bytes = raw.as_bytes();
    let mut from = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[from..]) {
        let at = from + found;
        out.push_str(&raw[from..at]);
        from = at + 2;
        out.push(match bytes[at + 1] {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let mut code = hex(bytes, at + 2).unwrap_or(0xfffd);
                from = at + 6;
                if (0xd800..0xdc00).contains(&code) {
                    let low = hex(bytes, at + 8).unwrap_or(0xdc00);
                    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                    from = at + 12;
                }
                char::from_u32(code).unwrap_or('\u{fffd}')
            }
            other => other as char,
        });
    }
    out.push_str(&raw[from..]);
}

fn write_canonical_str(given: Str, out: &mut String) {
    out.push('"');
    given.push_written_to(out);
    out.push('"');
}

/// Write a text as a canonical string.
pub fn write_str(text: &str, out: &mut String) {
    out.push('"');
    escape(text, out);
    out.push('"');
}

/// Write a text as in a canonical string, without quotes.
pub fn escape(text: &str, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    let mut from = 0;
    out.reserve(text.len() + 1); // and a quote behind it
    loop {
        let at = next_special(bytes, from);
        out.push_str(&text[from..at]);
        let Some(&byte) = bytes.get(at) else { break };
        from = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            8 => out.push_str("\\b"),
            12 => out.push_str("\\f"),
            _ => {
                out.push_str("\\u00");
                out.push(DIGITS[usize::from(byte >> 4)] as char);
                out.push(DIGITS[usize::from(byte & 15)] as char);
            }
        }
    }
}

/// Whether Python would write a number with the same digits; false where that is not certain.
pub fn is_number_as_written(text: &str, integer: bool) -> bool {
    if integer {
        return text.len() < LONGEST_INTEGER && text != "-0";
    }
    let Ok(value) = text.parse::<f64>() else { return false };
    let mut written = String::new();
    write_double(value, &mut written);
    written == text && !text.contains('e')
}

fn write_number(text: &str, integer: bool, out: &mut String) -> Result<()> {
    if integer {
        out.push_str(if text == "-0" { "0" } else { text });
        return Ok(());
    }
    let value: f64 = text.parse().map_err(|_| No::Odd)?;
    if !value.is_finite() {
        return Err(No::Odd);
    }
    write_double(value, out);
    Ok(())
}

/// The fewest digits that read back as the same double.
pub fn write_double(value: f64, out: &mut String) {
    use std::fmt::Write;
    let size = value.abs();
    if size == 0.0 || (1e-4..1e16).contains(&size) {
        let start = out.len();
        let _ = write!(out, "{value}");
        if !out[start..].contains('.') {
            out.push_str(".0");
        }
    } else {
        let _ = write!(out, "{value:e}");
    }
}

//! Rows that are pairs: two answers to a question, of which one is preferred.

use std::borrow::Cow;

use crate::chat::{Chat, Once, Role};
use crate::identity::{digest, hexadecimal, Digest, ABSENT};
use crate::json::{is_number_as_written, Cursor, No, Result, Str};
use crate::numbers::{gap_between, number, read_index, read_score};
use crate::one_answer::digest_tools;

/// The fields of a pair in the order in which Python writes them; the last ones only if they say something.
const FIELDS: [&str; 16] = [
    "id",
    "group",
    "prompt",
    "chosen",
    "rejected",
    "chosen_score",
    "rejected_score",
    "gap",
    "chosen_index",
    "rejected_index",
    "chosen_origin",
    "rejected_origin",
    "tools",
    "chosen_tokens",
    "rejected_tokens",
    "meta",
];
const ALWAYS_THERE: u32 = (1 << 12) - 1;

/// The key in meta for the digest of the rejected answer's prompt, if it is another one.
const OTHER_PROMPT: &str = "prompt_of_rejected";

/// How the keys in meta end that may mark an answer: such pairs are counted by Python.
const MARKS: [&str; 7] = [
    "finish_reason",
    "stop_reason",
    "status",
    "incomplete_details",
    "truncated",
    "error",
    "exception",
];

/// What stages see of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    pub gap: Option<f64>,
    pub chosen_score: Option<f64>,
    pub rejected_score: Option<f64>,
    pub id: Digest,
    pub prompt: Digest,
    /// `ABSENT` where there are none.
    pub tools: Digest,
    pub chosen: Digest,
    pub rejected: Digest,
    pub group: Digest,
    /// The digest of the rejected answer's prompt, if it is another one; else `ABSENT`.
    pub other_prompt: Digest,
    /// Whether Python would write the line with these very bytes, and has nothing to count in it.
    pub as_written: bool,
}

/// Reads rows of pairs.
#[derive(Default)]
pub struct Reader {
    prompt: Chat,
    chosen: Chat,
    rejected: Chat,
}

impl Reader {
    /// The pair of a line whose id is that of its content and that can be trained on; `No` where
    /// Python must look.
    pub fn read(&mut self, line: &str) -> Result<Pair> {
        let mut fields = Fields { as_written: true, ..Fields::default() };
        let mut cursor = Cursor::new(line);
        if cursor.peek() != b'{' {
            return Err(No::Odd);
        }
        for chat in [&mut self.prompt, &mut self.chosen, &mut self.rejected] {
            chat.clear();
        }
        cursor.object(|cursor, key| fields.read_field(cursor, key, self))?;
        fields.as_written &= !cursor.spaced && line.ends_with("}\n");
        cursor.end()?;
        self.pair(fields)
    }

    /// The same for the bytes of a line. Longer ones than `longest` are left to Python.
    pub fn read_light(&mut self, line: &[u8], longest: usize) -> Option<Pair> {
        let light = Some(line).filter(|line| line.len() <= longest)?;
        self.read(simdutf8::basic::from_utf8(light).ok()?).ok()
    }

    fn pair(&mut self, fields: Fields) -> Result<Pair> {
        let [Some(prompt), Some(chosen), Some(rejected)] = fields.forms else {
            return Err(No::Odd);
        };
        let asks = self.prompt.messages.iter().any(|turn| self.prompt.says_something(turn));
        let one_form = prompt == chosen && prompt == rejected;
        if !(one_form && asks && answers(&self.chosen) && answers(&self.rejected)) {
            return Err(No::Odd);
        }
        let before = Some(&self.prompt);
        let as_written = fields.as_written
            && fields.seen & ALWAYS_THERE == ALWAYS_THERE
            && self.prompt.is_numbered(None)
            && self.chosen.is_numbered(before)
            && self.rejected.is_numbered(before);
        let tools = fields.tools.map_or(Ok(ABSENT), digest_tools)?;
        let other_prompt = fields.other_prompt.unwrap_or(ABSENT);
        if other_prompt != ABSENT && self.rejected.has_calls() {
            return Err(No::Odd); // they may belong to calls of the other prompt
        }
        let prompt = self.prompt.digest(None)?;
        let before = Some(&self.prompt);
        let (chosen, rejected) = (self.chosen.digest(before)?, self.rejected.digest(before)?);
        let id = digest(&[b"pair\0", &prompt, &tools, &chosen, &rejected]);
        if chosen == rejected || fields.id.is_none_or(|given| given.raw != hexadecimal(&id)) {
            return Err(No::Odd);
        }
        let given = fields.group.map(Str::text).filter(|name| !name.is_empty());
        let named = given.unwrap_or_else(|| Cow::Owned(format!("prompt:{}", hexadecimal(&prompt))));
        let [chosen_score, rejected_score, given] = fields.numbers;
        let gap = match (chosen_score, rejected_score) {
            (Some(better), Some(worse)) => Some(gap_between(better, worse)?),
            _ => given,
        };
        if gap.is_some_and(|gap| gap <= 0.0) {
            return Err(No::Odd); // Python notices such pairs
        }
        Ok(Pair {
            gap,
            chosen_score,
            rejected_score,
            id,
            prompt,
            tools,
            chosen,
            rejected,
            group: digest(&[b"name\0", named.as_bytes()]),
            other_prompt,
            as_written: as_written && gap == given,
        })
    }
}

/// Whether a chat begins with the model, which says or calls something.
fn answers(chat: &Chat) -> bool {
    let first = chat.messages.first();
    let mut spoken = chat.messages.iter().filter(|turn| turn.role == Role::Assistant);
    first.is_some_and(|turn| turn.role == Role::Assistant)
        && spoken.any(|turn| chat.says_something(turn))
}

/// The fields of a row.
#[derive(Default)]
struct Fields<'a> {
    id: Option<Str<'a>>,
    group: Option<Str<'a>>,
    /// Whether prompt, chosen and rejected are chats.
    forms: [Option<bool>; 3],
    /// Scores and gap.
    numbers: [Option<f64>; 3],
    tools: Option<Cursor<'a>>,
    other_prompt: Option<Digest>,
    seen: u32,
    passed: usize,
    as_written: bool,
}

impl<'a> Fields<'a> {
    fn read_field(
        &mut self,
        cursor: &mut Cursor<'a>,
        key: Str<'a>,
        reader: &mut Reader,
    ) -> Result<()> {
        let known = FIELDS.iter().position(|name| *name == key.raw);
        let Some(place) = known.filter(|_| !key.escaped) else { return Err(No::Odd) };
        if self.seen & (1 << place) != 0 {
            return Err(No::Odd);
        }
        self.seen |= 1 << place;
        self.as_written &= place >= self.passed;
        self.passed = place + 1;
        match key.raw {
            "id" => self.id.once(cursor),
            "group" => {
                self.group.once(cursor)?;
                let group = self.group.filter(|name| !name.raw.is_empty());
                self.as_written &= group.is_some_and(Str::is_as_written);
                Ok(())
            }
            "prompt" => self.read_text(0, cursor, &mut reader.prompt, Role::User),
            "chosen" => self.read_text(1, cursor, &mut reader.chosen, Role::Assistant),
            "rejected" => self.read_text(2, cursor, &mut reader.rejected, Role::Assistant),
            "chosen_score" | "rejected_score" | "gap" => self.read_number(place - 5, cursor),
            "chosen_index" | "rejected_index" => {
                let mut text = *cursor;
                if read_index(cursor)?.is_some() {
                    let (text, integer) = number(&mut text)?;
                    self.as_written &= is_number_as_written(text, integer);
                }
                Ok(())
            }
            "chosen_origin" | "rejected_origin" => {
                let mut origin: Option<Str> = None;
                origin.once(cursor)?;
                self.as_written &= origin.is_some_and(Str::is_as_written);
                Ok(())
            }
            "tools" => {
                let mut whole = *cursor;
                self.tools = Some(whole);
                self.as_written &= whole.as_written()? && !is_empty(*cursor)?;
                cursor.skip()
            }
            "meta" => self.read_meta(cursor),
            _ => {
                if cursor.peek() != b'{' {
                    self.as_written = false;
                    return cursor.only_null();
                }
                let from = *cursor;
                let same = cursor.as_written()?;
                self.as_written &= same && !is_empty(from)?;
                Ok(())
            }
        }
    }

    fn read_text(
        &mut self,
        side: usize,
        cursor: &mut Cursor<'a>,
        chat: &mut Chat,
        role: Role,
    ) -> Result<()> {
        self.forms[side] = Some(cursor.peek() == b'[');
        if cursor.peek() == b'[' {
            self.as_written &= chat.read_messages(cursor)?;
        } else if cursor.peek() == b'"' {
            let text = cursor.string()?;
            self.as_written &= text.is_as_written();
            chat.say_as_given(role, text);
        } else {
            return Err(No::Odd);
        }
        Ok(())
    }

    fn read_number(&mut self, place: usize, cursor: &mut Cursor) -> Result<()> {
        if cursor.null()? {
            return Ok(());
        }
        let mut text = *cursor;
        let value = read_score(cursor)?;
        let (text, integer) = number(&mut text)?;
        // Floats alone are as written, and those that rounding leaves as they are.
        self.as_written &= !integer && is_number_as_written(text, false);
        self.as_written &= text.parse() == Ok(value) && (value != 0.0 || text == "0.0");
        self.numbers[place] = Some(value);
        Ok(())
    }

    fn read_meta(&mut self, cursor: &mut Cursor) -> Result<()> {
        if cursor.peek() != b'{' {
            self.as_written = false;
            return cursor.only_null();
        }
        let mut whole = *cursor;
        self.as_written &= whole.as_written()?;
        let mut empty = true;
        cursor.object(|cursor, key| {
            let name = key.text();
            empty = false;
            self.as_written &= !MARKS.iter().any(|mark| name.ends_with(mark));
            if name != OTHER_PROMPT {
                return cursor.skip();
            }
            if self.other_prompt.is_some() {
                return Err(No::Odd);
            }
            let mut given: Option<Str> = None;
            given.once(cursor)?;
            self.other_prompt = given.map(|given| read_digest(given.raw)).transpose()?;
            Ok(())
        })?;
        self.as_written &= !empty;
        Ok(())
    }
}

/// Whether a value is null, or has no members or items.
fn is_empty(mut value: Cursor) -> Result<bool> {
    let mut empty = true;
    match value.peek() {
        b'{' => value.object(|cursor, _| {
            empty = false;
            cursor.skip()
        })?,
        b'[' => value.list(|cursor| {
            empty = false;
            cursor.skip()
        })?,
        _ => {}
    }
    Ok(empty)
}

/// A digest in hexadecimal digits. One of zeros is left to Python.
fn read_digest(text: &str) -> Result<Digest> {
    let mut found = ABSENT;
    let bytes = text.as_bytes();
    let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if bytes.len() != 2 * found.len() || !bytes.iter().all(digit) {
        return Err(No::Odd);
    }
    for (place, byte) in found.iter_mut().enumerate() {
        let digits = text.get(2 * place..2 * place + 2).ok_or(No::Odd)?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| No::Odd)?;
    }
    if found == ABSENT {
        return Err(No::Odd);
    }
    Ok(found)
}

//! Rows of any columns, whose prompt, answer and score are known by their names.

use std::collections::HashMap;

use crate::chat::Chat;
use crate::json::{Cursor, No, Result};
use crate::numbers::{read_score, NO_INDEX};
use crate::one_answer::{Format, Row, Shape};
use crate::reference::Reference;

/// What a column may hold that could change what is read of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MayBe {
    Prompt,
    Response,
    Score,
    /// Null, no text and no items.
    Nothing,
    Null,
    Missing,
    /// Why an answer ended, if it was not cut off.
    Incomplete,
    /// An error, if there was none.
    Failed,
    Anything,
    /// Null, a number, or true or false.
    NoText,
    /// Anything else than an object.
    NoObject,
    /// A reference, or nothing; the code of its column.
    Reference(u8),
}

impl MayBe {
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "prompt" => MayBe::Prompt,
            "response" => MayBe::Response,
            "score" => MayBe::Score,
            "nothing" => MayBe::Nothing,
            "null" => MayBe::Null,
            "missing" => MayBe::Missing,
            "incomplete" => MayBe::Incomplete,
            "failed" => MayBe::Failed,
            "anything" => MayBe::Anything,
            "no text" => MayBe::NoText,
            "no object" => MayBe::NoObject,
            other => MayBe::Reference(other.strip_prefix("reference ")?.parse().ok()?),
        })
    }
}

/// What says that an answer was cut off; any other text says that it ended.
const CUT_OFF: [&str; 8] = [
    "length",
    "max_length",
    "max_tokens",
    "max_output_tokens",
    "model_length",
    "model_context_window_exceeded",
    "incomplete",
    "truncated",
];

/// The columns of the rows of a file.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    may_be: HashMap<String, (usize, MayBe)>,
    /// Whether the score is a verdict, true or false.
    judged: bool,
    /// Whether rows have no other columns.
    narrow: bool,
    /// Whether text in the column of the prompt could be a chat.
    of_chats: bool,
}

impl Columns {
    pub fn new(
        named: impl Iterator<Item = (String, MayBe)>,
        judged: bool,
        narrow: bool,
        of_chats: bool,
    ) -> Self {
        let may_be =
            named.enumerate().map(|(place, (name, may_be))| (name, (place, may_be))).collect();
        Columns { may_be, judged, narrow, of_chats }
    }
}

impl Format for Columns {
    const MAY_BE_UNFINISHED: bool = true;
}

impl Shape for Columns {
    fn read<'a>(&self, line: &'a str, answer: &mut Chat) -> Result<Row<'a>> {
        let (mut prompt, mut score, mut reference) = (None, None, None);
        let mut cursor = Cursor::new(line);
        if cursor.peek() != b'{' {
            return Err(No::Odd);
        }
        let mut seen = Seen::default();
        cursor.object(|cursor, key| {
            if key.escaped {
                return Err(No::Odd);
            }
            let Some((place, may_be)) = self.may_be.get(key.raw) else {
                return if self.narrow { Err(No::Odd) } else { cursor.skip() };
            };
            seen.first(*place)?;
            match may_be {
                MayBe::Prompt => {
                    if self.of_chats && cursor.peek() == b'"' {
                        return Err(No::Odd);
                    }
                    prompt = Some(cursor.raw()?);
                    Ok(())
                }
                MayBe::Response => {
                    if cursor.peek() != b'"' {
                        return Err(No::Odd);
                    }
                    let words = cursor.string()?;
                    answer.say_as_given(crate::chat::Role::Assistant, words);
                    Ok(())
                }
                MayBe::Score => {
                    score = Some(score_of(cursor, self.judged)?);
                    Ok(())
                }
                MayBe::Reference(column) => {
                    if let Some(found) = Reference::read(cursor, *column)? {
                        reference = Some(found.or(reference));
                    }
                    Ok(())
                }
                other => check(cursor, *other),
            }
        })?;
        cursor.end()?;
        let (Some(prompt), [said]) = (prompt, &answer.messages[..]) else {
            return Err(No::Odd);
        };
        if answer.may_think(said) {
            return Err(No::Odd);
        }
        let (group, origin) = (None, None);
        let (tools, index) = ("null", NO_INDEX);
        Ok(Row {
            prompt,
            tools,
            group,
            score,
            index,
            origin,
            reference,
            is_text: true,
            more: false,
        })
    }
}

/// A score; in `judged` rows it is true or false.
pub(crate) fn score_of(cursor: &mut Cursor, judged: bool) -> Result<f64> {
    if !judged {
        return read_score(cursor);
    }
    let verdict = cursor.peek() == b't';
    cursor.word(if verdict { "true" } else { "false" }).map_err(|_| No::Odd)?;
    Ok(f64::from(u8::from(verdict)))
}

/// Which of the columns a row had.
#[derive(Default)]
pub(crate) struct Seen {
    places: [u64; 8],
}

impl Seen {
    pub(crate) fn first(&mut self, place: usize) -> Result<()> {
        let word = self.places.get_mut(place / 64).ok_or(No::Odd)?;
        let bit = 1 << (place % 64);
        if *word & bit != 0 {
            return Err(No::Odd);
        }
        *word |= bit;
        Ok(())
    }
}

/// Take a value that is only checked.
pub(crate) fn check(cursor: &mut Cursor, may_be: MayBe) -> Result<()> {
    let next = cursor.peek();
    let is_number = matches!(next, b'-' | b'0'..=b'9');
    let known = match may_be {
        MayBe::Anything => true,
        MayBe::Nothing => match next {
            b'"' => return if cursor.string()?.raw.is_empty() { Ok(()) } else { Err(No::Odd) },
            b'[' => return cursor.list(|_| Err(No::Odd)),
            next => next == b'n',
        },
        MayBe::Null => next == b'n',
        MayBe::Incomplete => match next {
            b'"' => {
                let reason = cursor.string()?;
                let cut_off = CUT_OFF.iter().any(|known| reason.raw.eq_ignore_ascii_case(known));
                let ended = !cut_off && !reason.escaped && reason.raw.is_ascii();
                return if ended { Ok(()) } else { Err(No::Odd) };
            }
            next => is_number || matches!(next, b'n' | b'f'),
        },
        MayBe::Failed => match next {
            b'"' => return if cursor.string()?.raw.is_empty() { Ok(()) } else { Err(No::Odd) },
            next => is_number || matches!(next, b'n' | b'f'),
        },
        MayBe::NoObject => next != b'{',
        MayBe::NoText => is_number || matches!(next, b'n' | b't' | b'f'),
        _ => false,
    };
    if known {
        cursor.skip()
    } else {
        Err(No::Odd)
    }
}

//! Candidates, as `prefpairs extract` writes them.

use crate::chat::{Chat, Once};
use crate::json::{Cursor, No, Result, Str};
use crate::numbers::{read_index, read_score, NO_INDEX};
use crate::one_answer::{read_answer, Format, Row, Shape};
use crate::reference::Reference;

const FIELDS: [&str; 10] = [
    "group",
    "prompt",
    "response",
    "score",
    "origin",
    "index",
    "tools",
    "reference",
    "tokens",
    "meta",
];
/// A row without one of the first five is no candidate.
const NEEDED: u32 = (1 << 5) - 1;

/// How the keys in meta end that say more of the answer: its task, and marks.
const TELLING: [&str; 8] = [
    "source_task",
    "finish_reason",
    "stop_reason",
    "status",
    "incomplete_details",
    "truncated",
    "error",
    "exception",
];

/// The fields of a candidate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Candidates;

impl Format for Candidates {
    const MAY_BE_UNFINISHED: bool = false; // extract has dropped those that it should not keep
}

impl Shape for Candidates {
    fn read<'a>(&self, line: &'a str, answer: &mut Chat) -> Result<Row<'a>> {
        let mut seen = 0_u32;
        let (mut group, mut origin): (Option<Str>, Option<Str>) = (None, None);
        let (mut prompt, mut tools, mut score, mut index) = ("", "null", None, NO_INDEX);
        let (mut is_text, mut more, mut reference) = (false, false, None);
        let mut cursor = Cursor::new(line);
        if cursor.peek() != b'{' {
            return Err(No::Odd);
        }
        cursor.object(|cursor, key| {
            let known = FIELDS.iter().position(|name| *name == key.raw);
            let place = known.filter(|_| !key.escaped).ok_or(No::Odd)?;
            if seen & (1 << place) != 0 {
                return Err(No::Odd);
            }
            seen |= 1 << place;
            match key.raw {
                "group" => group.once(cursor)?,
                "prompt" => prompt = cursor.raw()?,
                "response" => is_text = read_answer(cursor, answer)?,
                "score" => score = Some(read_score(cursor)?),
                "origin" => origin.once(cursor)?,
                "index" => index = read_index(cursor)?.unwrap_or(NO_INDEX),
                "tools" => tools = cursor.raw()?,
                "reference" => reference = Reference::read(cursor, 0)?,
                _ if cursor.null()? => {}
                "meta" => {
                    cursor.object(|cursor, key| {
                        let name = key.text();
                        if TELLING.iter().any(|end| name.ends_with(end)) {
                            return Err(No::Odd);
                        }
                        more = true;
                        cursor.skip()
                    })?;
                }
                _ => {
                    if cursor.peek() != b'{' {
                        return Err(No::Odd);
                    }
                    more = true;
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        cursor.end()?;
        let group = group.filter(|name| !name.raw.is_empty());
        if group.is_none() || seen & NEEDED != NEEDED {
            return Err(No::Odd);
        }
        Ok(Row { prompt, tools, group, score, index, origin, reference, is_text, more })
    }
}

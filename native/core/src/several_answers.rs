//! Rows with several answers to one question: texts in a list, or in the objects of a list.

use std::collections::{HashMap, HashSet};

use crate::block::{Found, Group, Lookup, Rows};
use crate::chat::{Chat, Role};
use crate::generic::{check, score_of, MayBe, Seen};
use crate::identity::Digest;
use crate::json::{Cursor, No, Result};
use crate::meta::Meta;
use crate::numbers::NO_INDEX;
use crate::one_answer::{self, Format, Row};
use crate::questions::Questions;
use crate::reading::Reading;
use crate::reference::Reference;
use crate::winners::{Winner, Winners};

/// What a column of a row may hold.
#[derive(Debug, Clone, Copy)]
pub enum Holds {
    Alone(MayBe),
    /// A list with a value for each answer. Values that are only checked may also be alone.
    OfEach(MayBe),
    /// Objects, with an answer in each.
    Items,
}

impl Holds {
    pub fn named(name: &str) -> Option<Self> {
        if name == "items" {
            return Some(Holds::Items);
        }
        match name.strip_suffix(" of each") {
            Some(kind) => MayBe::named(kind).map(Holds::OfEach),
            None => MayBe::named(name).map(Holds::Alone),
        }
    }
}

/// The columns of the rows of a file.
#[derive(Debug, Clone)]
pub struct Columns {
    of_row: HashMap<String, (usize, Holds)>,
    of_item: HashMap<String, MayBe>,
    /// Whether scores are verdicts, true or false.
    judged: bool,
    /// Whether text in the column of the prompt could be a chat.
    of_chats: bool,
    /// Whether answers with marks are dropped, so that Python must read their rows.
    drops_marked: bool,
}

impl Columns {
    pub fn new(
        of_row: impl Iterator<Item = (String, Holds)>,
        of_item: impl Iterator<Item = (String, MayBe)>,
        judged: bool,
        of_chats: bool,
        drops_marked: bool,
    ) -> Self {
        let of_row = of_row.enumerate().map(|(place, (name, holds))| (name, (place, holds)));
        Columns {
            of_row: of_row.collect(),
            of_item: of_item.collect(),
            judged,
            of_chats,
            drops_marked,
        }
    }

    /// The fields of a row; each answer becomes a message of the empty chat.
    fn read<'a>(&self, line: &'a str, said: &mut Answers) -> Result<Row<'a>> {
        let (mut prompt, mut reference) = (None, None);
        let mut lengths = Lengths::default();
        let mut cursor = Cursor::new(line);
        let mut seen = Seen::default();
        open(&mut cursor, b'{')?;
        cursor.object(|cursor, key| {
            if key.escaped {
                return Err(No::Odd);
            }
            let Some((place, holds)) = self.of_row.get(key.raw) else {
                return if self.may_be_path(key.raw) { Err(No::Odd) } else { cursor.skip() };
            };
            seen.first(*place)?;
            match holds {
                Holds::Alone(MayBe::Prompt) => {
                    if self.of_chats && cursor.peek() == b'"' {
                        return Err(No::Odd);
                    }
                    prompt = Some(cursor.raw()?);
                    Ok(())
                }
                Holds::Alone(MayBe::Reference(column)) => {
                    if let Some(found) = Reference::read(cursor, *column)? {
                        reference = Some(found.or(reference));
                    }
                    Ok(())
                }
                Holds::Alone(may_be) => check(cursor, *may_be),
                Holds::OfEach(may_be) => self.read_each(cursor, *may_be, said, &mut lengths),
                Holds::Items => {
                    open(cursor, b'[')?;
                    cursor.list(|cursor| self.read_item(cursor, said))
                }
            }
        })?;
        cursor.end()?;
        let count = said.chat.messages.len();
        let (Some(prompt), true) = (prompt, count > 0 && said.scores.len() == count) else {
            return Err(No::Odd);
        };
        said.all_marked |= !said.marks.are(count);
        if !lengths.are(count)
            || !said.chat.messages.iter().all(|turn| said.chat.is_plain(turn))
            || (self.drops_marked && (said.all_marked || !said.marked.is_empty()))
        {
            return Err(No::Odd);
        }
        Ok(Row {
            prompt,
            tools: "null",
            group: None,
            score: None,
            index: NO_INDEX,
            origin: None,
            reference,
            is_text: true,
            more: false,
        })
    }

    /// Whether a column has the name of a path into one of the lists.
    fn may_be_path(&self, name: &str) -> bool {
        let column = name.split(['.', '[']).next().unwrap_or_default();
        let is_list = |holds: &Holds| {
            matches!(holds, Holds::Items | Holds::OfEach(MayBe::Response | MayBe::Score))
        };
        column.len() < name.len()
            && self.of_row.get(column).is_some_and(|(_, holds)| is_list(holds))
    }

    /// Take a list with a value for each answer.
    fn read_each(
        &self,
        cursor: &mut Cursor,
        may_be: MayBe,
        said: &mut Answers,
        lengths: &mut Lengths,
    ) -> Result<()> {
        if cursor.peek() != b'[' {
            return match may_be {
                MayBe::Response | MayBe::Score => Err(No::Odd),
                MayBe::Incomplete | MayBe::Failed => {
                    said.all_marked |= is_marked(cursor, may_be)?;
                    Ok(())
                }
                other => check(cursor, other),
            };
        }
        let mut count = 0;
        cursor.list(|cursor| {
            count += 1;
            self.read_value(cursor, may_be, said, count - 1)
        })?;
        match may_be {
            MayBe::Incomplete | MayBe::Failed => said.marks.add(count),
            _ => lengths.add(count),
        }
        Ok(())
    }

    /// Take an object with an answer.
    fn read_item(&self, cursor: &mut Cursor, said: &mut Answers) -> Result<()> {
        let before = said.chat.messages.len();
        open(cursor, b'{')?;
        cursor.object(|cursor, key| {
            if key.escaped {
                return Err(No::Odd);
            }
            match self.of_item.get(key.raw) {
                Some(may_be) => self.read_value(cursor, *may_be, said, before),
                None => cursor.skip(),
            }
        })?;
        let scores_are_here = self.of_item.values().any(|may_be| *may_be == MayBe::Score);
        let count = said.chat.messages.len();
        if count == before + 1 && (!scores_are_here || said.scores.len() == count) {
            Ok(())
        } else {
            Err(No::Odd)
        }
    }

    /// Take a value of one answer, at this place among all of them.
    fn read_value(
        &self,
        cursor: &mut Cursor,
        may_be: MayBe,
        said: &mut Answers,
        place: usize,
    ) -> Result<()> {
        match may_be {
            MayBe::Incomplete | MayBe::Failed => {
                if is_marked(cursor, may_be)? {
                    said.marked.insert(place);
                }
                Ok(())
            }
            MayBe::Response => {
                open(cursor, b'"')?;
                said.chat.say_as_given(Role::Assistant, cursor.string()?);
                Ok(())
            }
            MayBe::Score => {
                said.scores.push(score_of(cursor, self.judged)?);
                Ok(())
            }
            other => check(cursor, other),
        }
    }
}

impl Format for Columns {
    const MAY_BE_UNFINISHED: bool = true;
}

/// The next value must begin like this.
fn open(cursor: &mut Cursor, sign: u8) -> Result<()> {
    if cursor.peek() == sign {
        Ok(())
    } else {
        Err(No::Odd)
    }
}

/// Whether a value marks an answer, or may do so.
fn is_marked(cursor: &mut Cursor, may_be: MayBe) -> Result<bool> {
    let start = *cursor;
    match check(cursor, may_be) {
        Err(No::Odd) => {
            *cursor = start;
            cursor.skip()?;
            Ok(true)
        }
        checked => checked.map(|()| false),
    }
}

/// The lengths of the lists of a row that are not empty.
#[derive(Debug, Default)]
struct Lengths {
    least: Option<usize>,
    most: usize,
}

impl Lengths {
    fn add(&mut self, length: usize) {
        if length > 0 {
            self.least = Some(self.least.map_or(length, |least| least.min(length)));
            self.most = self.most.max(length);
        }
    }

    /// Whether all are this one.
    fn are(&self, length: usize) -> bool {
        self.least.is_none_or(|least| least == length && self.most == length)
    }
}

/// The answers of a row, each a message, and their scores.
#[derive(Debug, Default)]
struct Answers {
    chat: Chat,
    scores: Vec<f64>,
    /// The places of answers that were cut off or failed, or may have been.
    marked: HashSet<usize>,
    all_marked: bool,
    /// The lengths of lists of marks; where one has another length, they may be of all answers.
    marks: Lengths,
}

impl Answers {
    fn clear(&mut self) {
        self.chat.clear();
        self.scores.clear();
        self.marked.clear();
        (self.all_marked, self.marks) = (false, Lengths::default());
    }

    fn is_marked(&self, place: usize) -> bool {
        self.all_marked || self.marked.contains(&place)
    }
}

/// Reads rows; remembers the questions that they asked.
pub struct Reader {
    /// What it reads of questions.
    asked: one_answer::Reader<Columns>,
    said: Answers,
    /// What pairs say of the row that was read last.
    meta: Meta,
    /// Whether the row that was read last is wholly known, so that pairs can have its answers.
    is_known: bool,
}

impl Reader {
    pub fn new(columns: Columns, reading: Reading) -> Self {
        Reader::of(one_answer::Reader::new(columns, reading))
    }

    /// A reader for another thread.
    pub fn like(other: &Self) -> Self {
        Reader::of(one_answer::Reader::like(&other.asked))
    }

    fn of(asked: one_answer::Reader<Columns>) -> Self {
        Reader { asked, said: Answers::default(), meta: Meta::default(), is_known: false }
    }

    fn read<'a>(&mut self, line: &'a str, values: &str) -> Result<(Row<'a>, Digest)> {
        self.said.clear();
        let row = self.asked.shape.read(line, &mut self.said)?;
        for score in &mut self.said.scores {
            *score = self.asked.reading.signed(*score);
        }
        let asked = self.asked.fingerprint(&row, values);
        Ok((row, asked))
    }
}

impl Rows for Reader {
    /// With the values that name its group.
    type Asked<'a> = (Row<'a>, String);

    fn index<'a>(
        &mut self,
        line: &'a str,
        found: &mut Vec<Found>,
    ) -> Result<Option<Lookup<Self::Asked<'a>>>> {
        let values = self.asked.reading.values(line)?;
        let (row, fingerprint) = self.read(line, &values)?;
        let Answers { chat, scores, .. } = &self.said;
        found.extend(chat.messages.iter().zip(scores).map(|(turn, score)| Found {
            score: *score,
            index: NO_INDEX,
            response: chat.digest_words(turn),
            ..Found::default()
        }));
        Ok(Some(Lookup { fingerprint, asked: (row, values) }))
    }

    fn group(&mut self, (row, values): &Self::Asked<'_>) -> Result<(Group, u32)> {
        let (calls, group, _) = self.asked.new_question(row, values)?;
        Ok((group, calls))
    }

    fn questions(&self) -> &Questions {
        &self.asked.questions
    }
}

impl Winners for Reader {
    fn winner(&mut self, line: &str, slot: u32, found: &mut Winner) -> Result<()> {
        self.is_known = false;
        if self.asked.reading.keeps_more {
            return Err(No::Odd);
        }
        let values = self.asked.reading.values(line)?;
        let (row, asked) = self.read(line, &values)?;
        self.asked.learn_last(&row, &values, asked)?;
        self.meta.clear();
        self.asked.write_meta(line, &mut self.meta)?;
        self.is_known = true;
        self.again(slot, found)
    }

    fn again(&mut self, slot: u32, found: &mut Winner) -> Result<()> {
        let Answers { chat, scores, .. } = &self.said;
        let place = slot as usize;
        let (Some(turn), Some(score)) = (chat.messages.get(place), scores.get(place)) else {
            return Err(No::Odd);
        };
        if !self.is_known || self.said.is_marked(place) {
            return Err(No::Odd); // Python counts marks in pairs
        }
        found.clear();
        self.asked.give_question(found);
        found.meta.clone_from(&self.meta);
        let several = chat.messages.len() > 1;
        (found.score, found.index) = (*score, if several { i64::from(slot) } else { NO_INDEX });
        found.number = if several { slot + 1 } else { 0 };
        found.response_digest = chat.digest_words(turn);
        chat.write_words(turn, &mut found.response);
        found.response_is_text = true;
        Ok(())
    }
}

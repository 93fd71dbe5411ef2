//! Items of the NeMo Agent Toolkit: each has the candidates of several turns among its steps.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;

use crate::block::{Found, Group, Lookup, Rows};
use crate::chat::{strip, Chat, Once, Role};
use crate::identity::{digest, Digest, ABSENT};
use crate::json::{write_str, Cursor, No, Result, Str};
use crate::meta::Meta;
use crate::numbers::{number, read_index, read_score, NO_INDEX};
use crate::questions::Questions;
use crate::reading::{Named, Reading};
use crate::winners::{Winner, Winners};

const ENDED: &str = "TTC_END";
/// Larger indexes are left to Python, which reads them as floats, too.
const LARGEST_INDEX: u64 = 1 << 53;

/// A step that ended a candidate.
struct Step<'a> {
    turn: Str<'a>,
    input: &'a str,
    output: Cow<'a, str>,
    score: f64,
    index: i64,
}

/// The candidates of an item, and its id as JSON.
struct Item<'a> {
    id: String,
    steps: Vec<Step<'a>>,
}

/// A question as pairs have it.
#[derive(Clone)]
struct Asked {
    group: Group,
    name: String,
    prompt: String,
    is_text: bool,
    meta: Meta,
}

/// Reads items; remembers the questions that they asked.
pub struct Reader {
    step_name: String,
    reading: Reading,
    questions: Questions,
    /// The groups of the item that may be new, by their keys and by the bytes of their questions; and
    /// what their questions are known by.
    fresh: HashMap<Digest, (Digest, Group)>,
    prompt: Chat,
    /// Whether the prompt ends in an answer, or did: it may be that of the step.
    ends_in_an_answer: bool,
    /// All candidates of the item that was read last, for pairs.
    winners: Vec<Option<Winner>>,
}

impl Reader {
    /// Of the options, it knows those of scores and of what pairs take.
    pub fn new(step_name: &str, reading: Reading) -> Self {
        Reader {
            step_name: step_name.to_owned(),
            reading,
            questions: Questions::default(),
            fresh: HashMap::new(),
            prompt: Chat::default(),
            ends_in_an_answer: false,
            winners: Vec::new(),
        }
    }

    /// A reader for another thread.
    pub fn like(other: &Self) -> Self {
        let own = Reader::new(&other.step_name, other.reading.clone());
        Reader { questions: other.questions.clone(), ..own }
    }

    fn read<'a>(&self, line: &'a str) -> Result<Item<'a>> {
        let mut cursor = Cursor::new(line);
        let mut id: Option<&str> = None;
        if cursor.peek() != b'{' {
            return Err(No::Odd);
        }
        let mut found = None;
        cursor.object(|cursor, key| match key.raw {
            _ if key.escaped => Err(No::Odd),
            "id" => {
                if id.is_some() {
                    return Err(No::Odd);
                }
                id = Some(cursor.raw()?);
                Ok(())
            }
            "intermediate_steps" => {
                if found.replace(self.read_steps(cursor)?).is_some() {
                    return Err(No::Odd);
                }
                Ok(())
            }
            "responses_create_params" | "origin" => Err(No::Odd),
            _ => cursor.skip(),
        })?;
        cursor.end()?;
        match (id, found) {
            (Some(id), Some(steps)) if !steps.is_empty() => Ok(Item { id: read_id(id)?, steps }),
            _ => Err(No::Odd),
        }
    }

    fn read_steps<'a>(&self, cursor: &mut Cursor<'a>) -> Result<Vec<Step<'a>>> {
        let mut steps = Vec::new();
        if cursor.peek() != b'[' {
            return Err(No::Odd);
        }
        cursor.list(|cursor| {
            let mut seen = false;
            if cursor.peek() != b'{' {
                return Err(No::Odd);
            }
            cursor.object(|cursor, key| match key.raw {
                _ if key.escaped => Err(No::Odd),
                "payload" => {
                    if std::mem::replace(&mut seen, true) {
                        return Err(No::Odd);
                    }
                    steps.extend(self.read_payload(cursor)?);
                    Ok(())
                }
                _ => cursor.skip(),
            })?;
            if seen {
                Ok(())
            } else {
                Err(No::Odd)
            }
        })?;
        Ok(steps)
    }

    /// The candidate of a step, if it ended one.
    fn read_payload<'a>(&self, cursor: &mut Cursor<'a>) -> Result<Option<Step<'a>>> {
        let (mut kind, mut name): (Option<Str>, Option<Str>) = (None, None);
        let mut data: Option<Cursor> = None;
        if cursor.peek() != b'{' {
            return Err(No::Odd);
        }
        cursor.object(|cursor, key| match key.raw {
            _ if key.escaped => Err(No::Odd),
            "event_type" => kind.once(cursor),
            "name" => name.once(cursor),
            "data" => data.once(cursor),
            _ => cursor.skip(),
        })?;
        let kind = kind.filter(|kind| !kind.escaped).ok_or(No::Odd)?;
        if kind.raw != ENDED || name.map(Str::text).as_deref() != Some(self.step_name.as_str()) {
            return Ok(None);
        }
        read_data(data.ok_or(No::Odd)?).map(Some)
    }

    /// Read the prompt of a step, without the answer of the step itself at its end. Whether that
    /// was there, and whether the prompt is text.
    fn read_prompt(&mut self, step: &Step) -> Result<(bool, bool)> {
        self.prompt.clear();
        let mut cursor = Cursor::new(step.input);
        let is_text = cursor.peek() != b'[';
        match cursor.peek() {
            b'"' => self.prompt.say_as_given(Role::User, cursor.string()?),
            b'[' => self.prompt.read_messages(&mut cursor).map(drop)?,
            b'{' => {
                let mut text = String::new();
                cursor.rewrite(&mut text)?;
                self.prompt.say(Role::User, if text == "{}" { "" } else { &text });
            }
            _ => return Err(No::Odd),
        }
        let last = self.prompt.messages.last().copied();
        let held = last.filter(|turn| turn.role == Role::Assistant).is_some_and(|turn| {
            let said = self.prompt.words_of(&turn);
            self.prompt.calls_of(&turn).next().is_none() && strip(&said) == strip(&step.output)
        });
        if held {
            self.prompt.messages.pop();
        }
        if !self.prompt.messages.iter().any(|turn| self.prompt.says_something(turn)) {
            return Err(No::Odd);
        }
        if self.prompt.may_open_thinking() {
            return Err(No::Odd);
        }
        Ok((held, is_text))
    }

    /// The group of a step whose prompt was read, and its name.
    fn group(&mut self, id: &str, step: &Step) -> Result<(Group, String)> {
        let prompt = self.prompt.digest(None)?;
        let mut name = format!("[{id},");
        write_str(&step.turn.text(), &mut name);
        name.push(']');
        let named = Named { group: name, task: None };
        Ok((Group::new(&named, prompt, ABSENT), named.group))
    }

    /// What the question of a step is known by, and whether its prompt held its answer.
    fn question(&mut self, id: &str, step: &Step) -> Result<(Digest, bool)> {
        let pieces = [id, "\0", step.turn.raw, "\0", step.input];
        let asked = digest(&pieces.map(str::as_bytes));
        if let Some((known_by, _)) = self.fresh.get(&asked) {
            return Ok((*known_by, false));
        }
        if self.questions.find(&asked).is_some() {
            return Ok((asked, false));
        }
        let (held, _) = self.read_prompt(step)?;
        let (group, _) = self.group(id, step)?;
        let last = self.prompt.messages.last();
        // Otherwise the answer of another step may be at its end.
        let as_given = !held && last.is_some_and(|turn| turn.role != Role::Assistant);
        let own = (if as_given { asked } else { group.key }, group);
        let known = *self.fresh.entry(group.key).or_insert(own);
        if as_given {
            self.fresh.insert(asked, known);
        }
        Ok((known.0, held))
    }

    fn asked(&mut self, id: &str, step: &Step) -> Result<Asked> {
        let (held, is_text) = self.read_prompt(step)?;
        let last = self.prompt.messages.last();
        self.ends_in_an_answer = held || last.is_some_and(|turn| turn.role == Role::Assistant);
        let (group, named) = self.group(id, step)?;
        let (mut name, mut prompt) = (String::new(), String::new());
        write_str(&named, &mut name);
        match (&self.prompt.messages[..], is_text) {
            ([words], true) => self.prompt.write_words(words, &mut prompt),
            (turns, _) => self.prompt.write(turns, &self.prompt.answers(None), 0, &mut prompt),
        }
        let mut meta = Meta::default();
        meta.add("example_id", id.to_owned());
        meta.say("turn_id", &step.turn.text());
        Ok(Asked { group, name, prompt, is_text, meta })
    }

    /// All candidates of an item as pairs have them.
    fn read_winners(&mut self, line: &str) -> Result<()> {
        self.winners.clear();
        if self.reading.keeps_more || !self.reading.keep.is_empty() {
            return Err(No::Odd);
        }
        let item = self.read(line)?;
        let mut last: Option<(&Step, Asked)> = None;
        let mut winners = Vec::new();
        for (place, step) in item.steps.iter().enumerate() {
            let same = last.as_ref().is_some_and(|(before, _): &(&Step, Asked)| {
                let same = (before.turn.raw, before.input) == (step.turn.raw, step.input);
                same && !self.ends_in_an_answer
            });
            if !same {
                last = Some((step, self.asked(&item.id, step)?));
            }
            let Some((_, asked)) = &last else { return Err(No::Odd) };
            let mut response = String::new();
            write_str(&step.output, &mut response);
            winners.push(Some(Winner {
                score: self.reading.signed(step.score),
                index: step.index,
                response_digest: response_digest(&step.output),
                question: asked.group.question,
                group: asked.name.clone(),
                prompt: asked.prompt.clone(),
                prompt_is_text: asked.is_text,
                response,
                response_is_text: true,
                meta: asked.meta.clone(),
                number: if item.steps.len() > 1 { place as u32 + 1 } else { 0 },
                ..Winner::default()
            }));
        }
        self.winners = winners;
        Ok(())
    }
}

impl Rows for Reader {
    /// The steps of an item ask several questions, which are looked up at once.
    type Asked<'a> = Infallible;

    fn index(&mut self, line: &str, found: &mut Vec<Found>) -> Result<Option<Lookup<Infallible>>> {
        let before = found.len();
        let item = self.read(line)?;
        self.fresh.clear();
        let asked = item.steps.iter().map(|step| self.question(&item.id, step));
        let asked: Vec<(Digest, bool)> = asked.collect::<Result<_>>()?;
        for (step, (known_by, held)) in item.steps.iter().zip(asked) {
            let question = match self.fresh.get(&known_by) {
                Some((_, group)) => Some(self.questions.add(known_by, *group, 0)),
                None => self.questions.find(&known_by),
            };
            found.push(Found {
                group: question.ok_or(No::Odd)?.group,
                score: self.reading.signed(step.score),
                index: step.index,
                response: response_digest(&step.output),
                held,
                ..Found::default()
            });
        }
        if let Some(first) = found.get_mut(before) {
            first.item = Some(digest(&[b"item\0", item.id.as_bytes()]));
        }
        Ok(None)
    }

    fn group(&mut self, asked: &Infallible) -> Result<(Group, u32)> {
        match *asked {}
    }

    fn questions(&self) -> &Questions {
        &self.questions
    }
}

impl Winners for Reader {
    fn winner(&mut self, line: &str, slot: u32, found: &mut Winner) -> Result<()> {
        self.read_winners(line)?;
        self.again(slot, found)
    }

    fn again(&mut self, slot: u32, found: &mut Winner) -> Result<()> {
        *found = self.winners.get_mut(slot as usize).and_then(Option::take).ok_or(No::Odd)?;
        Ok(())
    }
}

fn response_digest(words: &str) -> Digest {
    digest(&[b"text\0assistant\0", words.as_bytes()])
}

/// An id as JSON: a number or text.
fn read_id(raw: &str) -> Result<String> {
    let mut cursor = Cursor::new(raw);
    let mut id = String::new();
    if cursor.peek() != b'"' {
        let (text, integer) = number(&mut cursor.clone())?;
        if !integer || text == "-0" {
            return Err(No::Odd);
        }
    }
    cursor.canonical(&mut id)?;
    Ok(id)
}

/// What a step that ended a candidate says of it.
fn read_data(mut cursor: Cursor) -> Result<Step> {
    let (mut turn, mut output): (Option<Str>, Option<Str>) = (None, None);
    let (mut input, mut score, mut index): (Option<&str>, _, _) = (None, None, None);
    if cursor.peek() != b'{' {
        return Err(No::Odd);
    }
    cursor.object(|cursor, key| match key.raw {
        _ if key.escaped => Err(No::Odd),
        "turn_id" => turn.once(cursor),
        "output" => output.once(cursor),
        "input" => {
            if input.replace(cursor.raw()?).is_some() {
                return Err(No::Odd);
            }
            Ok(())
        }
        "score" => {
            if score.replace(read_score(cursor)?).is_some() {
                return Err(No::Odd);
            }
            Ok(())
        }
        "candidate_index" => {
            let read = read_index(cursor)?.unwrap_or(NO_INDEX);
            if index.replace(read).is_some()
                || (read != NO_INDEX && read.unsigned_abs() > LARGEST_INDEX)
            {
                return Err(No::Odd);
            }
            Ok(())
        }
        _ => cursor.skip(),
    })?;
    let (Some(turn), Some(output), Some(score), Some(input)) = (turn, output, score, input) else {
        return Err(No::Odd);
    };
    let output = output.text();
    if strip(&output).is_empty() || memchr::memmem::find(output.as_bytes(), b"think>").is_some() {
        return Err(No::Odd);
    }
    Ok(Step { turn, input, output, score, index: index.unwrap_or(NO_INDEX) })
}

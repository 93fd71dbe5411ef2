//! Rows with one question and one answer, whatever their fields are called.

use crate::block::{Found, Group, Lookup, Rows};
use crate::chat::{Chat, Message, Role};
use crate::identity::{digest, Digest, ABSENT};
use crate::json::{write_str, Cursor, No, Result, Str};
use crate::meta::Meta;
use crate::questions::Questions;
use crate::reading::{Named, Reading};
use crate::reference::Reference;
use crate::winners::{only, Winner, Winners};

/// What the fields of a row say; its answer is read already.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Text or messages, as JSON.
    pub prompt: &'a str,
    /// Tools in chat form, as JSON; `null` where there are none.
    pub tools: &'a str,
    /// The name of its group; else its prompt is all that answers have in common.
    pub group: Option<Str<'a>>,
    pub score: Option<f64>,
    pub index: i64,
    pub origin: Option<Str<'a>>,
    pub reference: Option<Reference<'a>>,
    /// Whether the answer is text, and no list of messages.
    pub is_text: bool,
    /// Whether it has more that pairs take over.
    pub more: bool,
}

/// A format of rows.
pub trait Format: Clone + Send {
    /// Whether answers may be cut off in the middle of thinking that their prompt begins.
    const MAY_BE_UNFINISHED: bool;
}

/// The fields of the rows of a format.
pub trait Shape: Format {
    /// The fields of a row; its answer goes into the empty chat.
    fn read<'a>(&self, line: &'a str, answer: &mut Chat) -> Result<Row<'a>>;
}

/// Reads rows; remembers the questions that they asked.
pub struct Reader<S> {
    pub(crate) shape: S,
    pub(crate) reading: Reading,
    pub(crate) questions: Questions,
    answer: Chat,
    prompt: Chat,
    last: LastQuestion,
}

/// The question of the winner that was read last. Winners of one group are read one after the other.
#[derive(Default)]
struct LastQuestion {
    asked: Digest,
    digests: [Digest; 3],
    calls: u32,
    group: String,
    prompt: String,
    is_text: bool,
    tools: String,
    /// The task that the group does not name.
    task: Option<String>,
}

/// A row, and what follows from it and from the options.
struct Given<'a> {
    row: Row<'a>,
    score: f64,
    /// Whether the answer is the last text of a turn that has results of calls.
    rests: bool,
    asked: Digest,
}

impl<S: Format> Reader<S> {
    pub fn new(shape: S, reading: Reading) -> Self {
        Reader {
            shape,
            reading,
            questions: Questions::default(),
            answer: Chat::default(),
            prompt: Chat::default(),
            last: LastQuestion::default(),
        }
    }

    /// A reader for another thread.
    pub fn like(other: &Self) -> Self {
        let (shape, reading) = (other.shape.clone(), other.reading.clone());
        Reader { questions: other.questions.clone(), ..Reader::new(shape, reading) }
    }

    /// What the question of a row is known by.
    pub(crate) fn fingerprint(&self, row: &Row, values: &str) -> Digest {
        let tools = if row.tools == "null" { "" } else { row.tools };
        let mut room = [0; 4];
        let (column, json) = row.reference.map_or(("", ""), |reference| {
            (&*char::from(reference.column).encode_utf8(&mut room), reference.json)
        });
        let named = row.group.map_or(column, |name| name.raw);
        self.questions.fingerprint([row.prompt, tools, named, json, values])
    }

    /// Of a new question the number of calls in it, its group, and the group's name.
    pub(crate) fn new_question(&mut self, row: &Row, values: &str) -> Result<(u32, Group, Named)> {
        self.read_prompt(row.prompt)?;
        let turns = &self.prompt.messages;
        let ends = [turns.first(), turns.last()];
        let by_model = ends.iter().flatten().any(|turn| turn.role == Role::Assistant);
        if by_model || !turns.iter().any(|turn| self.prompt.says_something(turn)) {
            return Err(No::Odd);
        }
        if S::MAY_BE_UNFINISHED && self.prompt.may_open_thinking() {
            return Err(No::Odd);
        }
        let calls = self.prompt.call_count() as u32;
        let prompt = self.prompt.digest(None)?;
        let tools = digest_tools(Cursor::new(row.tools))?;
        let given = row.group.map(|name| name.text().into_owned());
        let named = self.reading.name(values, &prompt, given);
        let reference = row.reference.map_or(Ok(0), |reference| reference.mark())?;
        Ok((calls, Group { reference, ..Group::new(&named, prompt, tools) }, named))
    }

    fn read_prompt(&mut self, prompt: &str) -> Result<()> {
        self.prompt.clear();
        let mut cursor = Cursor::new(prompt);
        match cursor.peek() {
            b'"' => self.prompt.say_as_given(Role::User, cursor.string()?),
            b'[' => self.prompt.read_messages(&mut cursor).map(drop)?,
            _ => return Err(No::Odd),
        }
        Ok(())
    }

    /// Read the prompt once more, if the answer may have results of its calls.
    fn read_calls(&mut self, prompt: &str, calls: u32) -> Result<bool> {
        let bound = calls > 0 && self.answer.messages.iter().any(|turn| turn.role == Role::Tool);
        if bound {
            self.read_prompt(prompt)?;
        }
        Ok(bound)
    }

    /// Read the question of a winner, unless it is the last one's.
    pub(crate) fn learn_last(&mut self, row: &Row, values: &str, asked: Digest) -> Result<()> {
        if self.last.asked == asked && asked != ABSENT {
            return Ok(());
        }
        let mut last = std::mem::take(&mut self.last); // it stays empty after an error
        let (calls, group, named) = self.new_question(row, values)?;
        (last.digests, last.calls, last.asked) = (group.question, calls, asked);
        for text in [&mut last.group, &mut last.prompt, &mut last.tools] {
            text.clear();
        }
        write_str(&named.group, &mut last.group);
        last.task = named.task;
        last.is_text = row.prompt.starts_with('"');
        write_text(&self.prompt, last.is_text, &self.prompt.answers(None), 0, &mut last.prompt);
        if group.question[2] != ABSENT {
            Cursor::new(row.tools).rewrite(&mut last.tools)?;
        }
        self.last = last;
        Ok(())
    }

    /// Give a winner the question that was learnt last.
    pub(crate) fn give_question(&self, found: &mut Winner) {
        found.question = self.last.digests;
        found.group.clone_from(&self.last.group);
        found.prompt.clone_from(&self.last.prompt);
        found.prompt_is_text = self.last.is_text;
        found.tools.clone_from(&self.last.tools);
    }

    /// Write what pairs say of a row whose question was learnt last.
    pub(crate) fn write_meta(&self, line: &str, meta: &mut Meta) -> Result<()> {
        self.reading.write_meta(self.last.task.as_deref(), line, meta)
    }
}

impl<S: Shape> Reader<S> {
    fn read<'a>(&mut self, line: &'a str, values: &str) -> Result<Given<'a>> {
        self.answer.clear();
        let mut row = self.shape.read(line, &mut self.answer)?;
        row.reference = row.reference.filter(|_| self.reading.references_matter());
        let score = self.reading.score(line, row.score)?;
        let turns = &self.answer.messages;
        let spoken = |turn: Option<&Message>| turn.map(|turn| turn.role);
        if spoken(turns.first()) != Some(Role::Assistant)
            || spoken(turns.last()) != Some(Role::Assistant)
        {
            return Err(No::Odd);
        }
        let rests = self.apply(row.more)?;
        let says =
            |turn: &Message| turn.role == Role::Assistant && self.answer.says_something(turn);
        if !self.answer.messages.iter().any(says) {
            return Err(No::Odd);
        }
        let asked = self.fingerprint(&row, values);
        Ok(Given { row, score, rests, asked })
    }

    /// Leave out of the answer what options say. Whether results of calls were given up.
    fn apply(&mut self, more: bool) -> Result<bool> {
        let Reading { drop_reasoning, only_last_text, .. } = self.reading;
        if more && (drop_reasoning || only_last_text) {
            return Err(No::Odd); // its tokens do not fit any more
        }
        if drop_reasoning {
            self.answer.drop_reasoning()?;
        }
        Ok(only_last_text && self.answer.keep_last_text()?)
    }
}

impl<S: Shape> Rows for Reader<S> {
    /// With the values that name its group.
    type Asked<'a> = (Row<'a>, String);

    fn index<'a>(
        &mut self,
        line: &'a str,
        found: &mut Vec<Found>,
    ) -> Result<Option<Lookup<Self::Asked<'a>>>> {
        let values = self.reading.values(line)?;
        let Given { row, score, rests, asked } = self.read(line, &values)?;
        let lookup = Lookup { fingerprint: asked, asked: (row, values) };
        let mut bound = false;
        if self.answer.messages.iter().any(|turn| turn.role == Role::Tool) {
            let calls = self.find_or_add(&lookup)?.calls;
            bound = self.read_calls(row.prompt, calls)?;
        }
        let response = self.answer.digest(bound.then_some(&self.prompt))?;
        let index = row.index;
        found.push(Found { score, index, response, rests, ..Found::default() });
        Ok(Some(lookup))
    }

    fn group(&mut self, (row, values): &Self::Asked<'_>) -> Result<(Group, u32)> {
        let (calls, group, _) = self.new_question(row, values)?;
        Ok((group, calls))
    }

    fn questions(&self) -> &Questions {
        &self.questions
    }
}

impl<S: Shape> Winners for Reader<S> {
    fn winner(&mut self, line: &str, slot: u32, found: &mut Winner) -> Result<()> {
        only(slot)?;
        if self.reading.keeps_more {
            return Err(No::Odd);
        }
        let values = self.reading.values(line)?;
        let Given { row, score, asked, .. } = self.read(line, &values)?;
        if row.more {
            return Err(No::Odd);
        }
        self.learn_last(&row, &values, asked)?;
        let calls = self.last.calls;
        let bound = self.read_calls(row.prompt, calls)?;
        let before = bound.then_some(&self.prompt);
        let answers = self.answer.answers(before);
        (found.score, found.index) = (score, row.index);
        found.response_digest = self.answer.digest(before)?;
        found.clear();
        write_text(&self.answer, row.is_text, &answers, calls as usize, &mut found.response);
        found.response_is_text = row.is_text;
        self.give_question(found);
        self.write_meta(line, &mut found.meta)?;
        if let Some(origin) = row.origin.filter(|origin| !origin.raw.is_empty()) {
            write_str(&origin.text(), &mut found.origin);
        }
        Ok(())
    }
}

/// Write a chat as a list of messages, or its only words as text.
fn write_text(chat: &Chat, is_text: bool, answered: &[usize], calls: usize, out: &mut String) {
    match (&chat.messages[..], is_text) {
        ([words], true) => chat.write_words(words, out),
        (messages, _) => chat.write(messages, answered, calls, out),
    }
}

/// The digest of tools in chat form; `ABSENT` where there are none.
pub fn digest_tools(mut tools: Cursor) -> Result<Digest> {
    if tools.null()? {
        return Ok(ABSENT);
    }
    let (mut written, mut whole) = (String::new(), tools);
    if tools.peek() != b'[' {
        return Err(No::Odd);
    }
    tools.list(|cursor| if cursor.peek() == b'{' { cursor.skip() } else { Err(No::Odd) })?;
    whole.canonical(&mut written)?;
    Ok(if written == "[]" { ABSENT } else { digest(&[b"tools\0", written.as_bytes()]) })
}

/// Read an answer: text, or messages. Whether it is text.
pub fn read_answer(cursor: &mut Cursor, answer: &mut Chat) -> Result<bool> {
    match cursor.peek() {
        b'"' => {
            answer.say_as_given(Role::Assistant, cursor.string()?);
            Ok(true)
        }
        b'[' => answer.read_messages(cursor).map(|_| false),
        _ => Err(No::Odd),
    }
}

//! Rollouts of NeMo Gym: one line is the reply of an agent to one run of one task.

use crate::block::{Found, Group, Lookup, Rows};
use crate::chat::{strip, Chat, Message, Once, Role};
use crate::identity::{digest, Digest, ABSENT};
use crate::json::{write_str, Cursor, Marks, No, Result, Shapes, Str};
use crate::numbers::{number, read_index, read_score, NO_INDEX};
use crate::questions::{Question, Questions};
use crate::reading::{Named, Reading};
use crate::winners::{only, Winner, Winners};

/// How many raw values make a question.
const PIECES: usize = 3;
/// How many questions are kept, and how many bytes of each.
const MOST_KEPT: usize = 16;
const LONGEST_KEPT: usize = 1 << 16;
/// After so many rows whose question was none of these, two rows in so many are compared with them.
const MOST_MISSED: usize = 64;
const SELDOM: usize = 16;
/// The number of the response among the fields of a row that may not occur twice.
const RESPONSE: u32 = 31;

/// A row with one candidate, whose messages are in `Reader::answer`.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    pub asked: Asked<'a>,
    pub score: f64,
    pub index: i64,
    /// Whether turns before the model's first word belong to the prompt.
    pub moved: bool,
    /// Whether turns behind the model's last word were cut.
    pub cut: bool,
    /// Whether the answer is the last text of a turn that has results of calls.
    pub rests: bool,
}

/// What is needed to read a single row; prompt and tools are left to the caller.
#[derive(Debug)]
pub struct Whole<'a> {
    pub row: Row<'a>,
    pub response: Digest,
    /// The number of calls in the prompt; those of the response are counted on from there.
    pub calls: u32,
    /// For each message the number of the call that it answers, or 0.
    pub answers: Vec<usize>,
}

/// The raw values that a question is made of.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub params: &'a str,
    pub agent: &'a str,
    pub task: &'a str,
}

impl<'a> Asked<'a> {
    fn raw(&self) -> [&'a str; PIECES] {
        [self.params, self.agent, self.task]
    }
}

/// Reads rows; remembers the questions that they asked.
#[derive(Default)]
pub struct Reader {
    reading: Reading,
    questions: Questions,
    /// The messages of the last row, the prompt left out.
    pub answer: Chat,
    prompt: Chat,
    /// The question of the winner that was read last.
    last: LastQuestion,
    recent: Recent,
    rows: Shapes<Field, ()>,
    requests: Shapes<Value, ()>,
    last_tools: Tools,
}

/// The question of a row.
enum Met {
    Before(Question),
    /// Its fingerprint is missing where others spoke, too.
    First {
        calls: u32,
        group: Group,
        fingerprint: Option<Digest>,
    },
    /// It is to be looked up, and no calls in it matter.
    Unknown {
        fingerprint: Digest,
    },
}

/// What was read lately: most rows repeat much of it.
#[derive(Default)]
struct Recent {
    /// Recent questions: rows of one task are often near each other.
    asked: Vec<([String; PIECES], Question)>,
    next: usize,
    /// How many rows asked another question since the last one that did not.
    missed: usize,
    requests: Shapes<(), ()>,
}

/// The tools of a request, which are those of the one before in most rows.
#[derive(Default)]
struct Tools {
    raw: String,
    digest: Digest,
    /// As Python writes them; empty as long as no pair has them.
    written: String,
}

impl Tools {
    /// Take tools, and go past them.
    fn read(&mut self, cursor: &mut Cursor) -> Result<()> {
        let whole = *cursor;
        if !self.raw.starts_with('[') || !cursor.skip_known(&self.raw) {
            cursor.skip()?;
            let digest = digest_tools(whole)?;
            *self = Tools { raw: cursor.since(whole).to_owned(), digest, written: String::new() };
        }
        Ok(())
    }

    fn write(&mut self, out: &mut String) -> Result<()> {
        if self.written.is_empty() {
            let mut written = String::new();
            write_tools(Cursor::new(&self.raw), Form::AsPythonWrites, &mut written)?;
            self.written = written;
        }
        out.push_str(&self.written);
        Ok(())
    }
}

impl Recent {
    /// Go past a request.
    fn skip(&mut self, cursor: &mut Cursor) -> Result<()> {
        if self.asked().iter().any(|([params, ..], _)| cursor.skip_known(params)) {
            return Ok(());
        }
        if self.requests.follow(cursor, |_, _| Ok(())).is_some() {
            return Ok(());
        }
        let mut marks = self.requests.marks(cursor);
        cursor.object(|cursor, _| cursor.skip_marked(&mut marks))?;
        self.requests.learn(cursor, marks, ());
        Ok(())
    }

    /// Whether the question of the next row may be one of these. Where hardly any is, two rows in so
    /// many are looked at: the second may repeat the first.
    fn may_repeat(&self) -> bool {
        self.missed < MOST_MISSED || self.missed % SELDOM < 2
    }

    /// The questions that are worth a look.
    fn asked(&self) -> &[([String; PIECES], Question)] {
        if self.may_repeat() {
            &self.asked
        } else {
            &[]
        }
    }

    fn find(&mut self, asked: Asked) -> Option<Question> {
        let raw = asked.raw();
        let known =
            |given: &[String; PIECES]| given.iter().zip(raw).rev().all(|(one, other)| one == other);
        let found = self.asked().iter().find(|(given, _)| known(given)).map(|(_, known)| *known);
        self.missed = if found.is_some() { 0 } else { self.missed + 1 };
        found
    }

    fn add(&mut self, asked: Asked, question: Question) {
        let raw = asked.raw();
        if raw.map(str::len).iter().sum::<usize>() > LONGEST_KEPT {
            return;
        }
        if self.asked.len() < MOST_KEPT {
            self.asked.push((raw.map(str::to_owned), question));
            return;
        }
        let (kept, known) = &mut self.asked[self.next];
        for (kept, given) in kept.iter_mut().zip(raw) {
            kept.clear();
            kept.push_str(given);
        }
        *known = question;
        self.next = (self.next + 1) % MOST_KEPT;
    }
}

/// A question as pairs have it. Winners of one group are read one after the other.
#[derive(Default)]
struct LastQuestion {
    /// The raw values that it is made of; empty where others spoke, too.
    asked: [String; PIECES],
    values: String,
    digests: [Digest; 3],
    calls: u32,
    group: String,
    prompt: String,
    tools: String,
    /// The task that the group does not name.
    task: Option<String>,
}

impl LastQuestion {
    fn is_of(&self, asked: Asked, values: &str) -> bool {
        self.asked == asked.raw() && self.values == values
    }
}

impl Rows for Reader {
    /// With the values that name its group.
    type Asked<'a> = (Asked<'a>, String);

    fn index<'a>(
        &mut self,
        line: &'a str,
        found: &mut Vec<Found>,
    ) -> Result<Option<Lookup<Self::Asked<'a>>>> {
        let values = self.reading.values(line)?;
        let row = self.read(line)?;
        let question = self.question(&row, &values)?;
        let calls = match question {
            Met::Before(Question { calls, .. }) | Met::First { calls, .. } => calls,
            Met::Unknown { .. } => 0,
        };
        let bound = self.read_calls(row.asked, calls)?;
        let response = self.answer.digest(bound.then_some(&self.prompt))?;
        let (group, lookup) = match question {
            Met::Before(known) => (known.group, None),
            Met::First { calls, group, fingerprint } => {
                (self.add(&row, calls, group, fingerprint), None)
            }
            Met::Unknown { fingerprint } => {
                (0, Some(Lookup { fingerprint, asked: (row.asked, values) }))
            }
        };
        let Row { score, index, moved, cut, rests, .. } = row;
        found.push(Found { group, score, index, response, moved, cut, rests, ..Found::default() });
        Ok(lookup)
    }

    fn group(&mut self, (asked, values): &Self::Asked<'_>) -> Result<(Group, u32)> {
        let (calls, group, _) = self.new_question(*asked, values, false)?;
        Ok((group, calls))
    }

    fn questions(&self) -> &Questions {
        &self.questions
    }
}

impl Winners for Reader {
    fn winner(&mut self, line: &str, slot: u32, found: &mut Winner) -> Result<()> {
        only(slot)?;
        if self.reading.keeps_more {
            return Err(No::Odd);
        }
        let values = self.reading.values(line)?;
        let row = self.read(line)?;
        if row.moved || !self.last.is_of(row.asked, &values) {
            self.read_question(&row, &values)?;
        }
        let calls = self.last.calls;
        let bound = self.read_calls(row.asked, calls)?;
        let prompt = bound.then_some(&self.prompt);
        let answers = self.answer.answers(prompt);
        (found.score, found.index) = (row.score, row.index);
        found.response_digest = self.answer.digest(prompt)?;
        found.clear();
        let messages = &self.answer.messages;
        self.answer.write(messages, &answers, calls as usize, &mut found.response);
        found.question = self.last.digests;
        found.group.clone_from(&self.last.group);
        found.prompt.clone_from(&self.last.prompt);
        found.tools.clone_from(&self.last.tools);
        self.reading.write_meta(self.last.task.as_deref(), line, &mut found.meta)?;
        Ok(())
    }
}

impl Reader {
    pub fn new(reading: Reading) -> Self {
        Reader { reading, ..Reader::default() }
    }

    /// A reader for another thread.
    pub fn like(other: &Self) -> Self {
        let (reading, questions) = (other.reading.clone(), other.questions.clone());
        Reader { reading, questions, ..Reader::default() }
    }

    /// A row without its prompt; the caller must check that the prompt does not begin with the model.
    pub fn whole<'a>(&mut self, line: &'a str) -> Result<Whole<'a>> {
        let row = self.read(line)?;
        let mut calls = 0;
        if row.moved {
            self.new_question(row.asked, "", true)?;
        } else if may_hold_calls(row.asked.params) {
            self.read_prompt(row.asked)?;
            calls = self.prompt.call_count() as u32;
        }
        let bound = self.read_calls(row.asked, calls)?;
        let prompt = bound.then_some(&self.prompt);
        let answers = self.answer.answers(prompt);
        let response = self.answer.digest(prompt)?;
        Ok(Whole { row, response, calls, answers })
    }

    fn read<'a>(&mut self, line: &'a str) -> Result<Row<'a>> {
        let is_scored = !self.reading.scores.is_empty();
        let mut fields = Fields { is_scored, ..Fields::default() };
        let mut cursor = Cursor::new(line);
        if cursor.peek() != b'{' {
            return Err(No::Odd);
        }
        let (answer, recent) = (&mut self.answer, &mut self.recent);
        let known = self.rows.follow(&mut cursor, |cursor, field| match field {
            Some(field) => fields.take(cursor, field, answer, recent),
            None => fields.clear(answer),
        });
        if known.is_none() {
            fields.clear(answer)?;
            let mut marks = self.rows.marks(&mut cursor);
            cursor
                .object(|cursor, key| fields.read_field(cursor, key, answer, recent, &mut marks))?;
            self.rows.learn(&cursor, marks, ());
        }
        cursor.end()?;
        let (Some(params), true) = (fields.params, fields.output) else {
            return Err(No::Odd);
        };
        let score = self.reading.score(line, fields.score)?;
        let (cut, rests) = self.fair_turns()?;
        let (agent, task) = (fields.agent.unwrap_or("null"), fields.task.unwrap_or("null"));
        let asked = Asked { params, agent, task };
        let (index, moved) = (fields.index.unwrap_or(NO_INDEX), !self.answer.leading.is_empty());
        Ok(Row { asked, score, index, moved, cut, rests })
    }

    /// Keep the model's own turn: from its first word to its last, or its last text alone. Whether
    /// something was cut behind it, and whether results of calls were given up.
    fn fair_turns(&mut self) -> Result<(bool, bool)> {
        let answer = &mut self.answer;
        let spoken = |turn: &Message| turn.role == Role::Assistant;
        let last = answer.messages.iter().rposition(spoken).ok_or(No::Odd)?;
        let first = answer.messages.iter().position(spoken).ok_or(No::Odd)?;
        let cut = last + 1 < answer.messages.len();
        answer.messages.truncate(last + 1);
        answer.leading = answer.messages.drain(..first).collect();
        answer.split_reasoning();
        if self.reading.drop_reasoning {
            answer.drop_reasoning()?;
        }
        let rests = self.reading.only_last_text && answer.keep_last_text()?;
        if !answer.messages.iter().any(|turn| spoken(turn) && answer.says_something(turn)) {
            return Err(No::Odd);
        }
        Ok((cut, rests))
    }

    /// A question that was asked before is known by its bytes, unless others spoke, too.
    fn question(&mut self, row: &Row, values: &str) -> Result<Met> {
        let asked = row.asked;
        if row.moved {
            let (calls, group, _) = self.new_question(asked, values, true)?;
            return Ok(Met::First { calls, group, fingerprint: None });
        }
        let may_repeat = self.recent.may_repeat();
        if let Some(known) = self.recent.find(asked).filter(|_| values.is_empty()) {
            return Ok(Met::Before(known));
        }
        let [params, agent, task] = asked.raw();
        let fingerprint = match values {
            "" => self.questions.fingerprint([params, agent, task]),
            values => self.questions.fingerprint([params, agent, task, values]),
        };
        let alone = may_repeat || self.has_results() && may_hold_calls(params);
        if !alone {
            return Ok(Met::Unknown { fingerprint });
        }
        if let Some(known) = self.questions.find(&fingerprint) {
            self.recent.add(asked, known);
            return Ok(Met::Before(known));
        }
        let (calls, group, _) = self.new_question(asked, values, false)?;
        Ok(Met::First { calls, group, fingerprint: Some(fingerprint) })
    }

    /// Of a new question the number of calls in it, its group, and the group's name.
    fn new_question(
        &mut self,
        asked: Asked,
        values: &str,
        moved: bool,
    ) -> Result<(u32, Group, Named)> {
        let tools = self.read_prompt(asked)?;
        if moved {
            self.move_leading()?;
        }
        let turns = &self.prompt.messages;
        if !turns.iter().any(|turn| self.prompt.says_something(turn)) {
            return Err(No::Odd);
        }
        let (first, calls) = (turns[0].role, self.prompt.call_count() as u32);
        if first == Role::Assistant {
            return Err(No::Odd); // the answer may begin with all of its prompt
        }
        let prompt = self.prompt.digest(None)?;
        let named = self.reading.name(values, &prompt, task_name(asked)?);
        Ok((calls, Group::new(&named, prompt, tools), named))
    }

    /// Read the question of a winner.
    fn read_question(&mut self, row: &Row, values: &str) -> Result<()> {
        let raw = row.asked.raw();
        let mut last = std::mem::take(&mut self.last); // it stays empty after an error
        let (calls, group, named) = self.new_question(row.asked, values, row.moved)?;
        (last.digests, last.calls) = (group.question, calls);
        for text in [&mut last.group, &mut last.prompt, &mut last.tools] {
            text.clear();
        }
        write_str(&named.group, &mut last.group);
        last.task = named.task;
        let prompt = &self.prompt;
        prompt.write(&prompt.messages, &prompt.answers(None), 0, &mut last.prompt);
        if group.question[2] != ABSENT {
            self.last_tools.write(&mut last.tools)?;
        }
        for (kept, given) in last.asked.iter_mut().zip(raw) {
            kept.clear();
            kept.push_str(if row.moved { "" } else { given });
        }
        values.clone_into(&mut last.values);
        if !row.moved {
            self.recent.add(row.asked, Question { group: 0, calls }); // its group is never asked for
        }
        self.last = last;
        Ok(())
    }

    /// Add to the prompt what others said before the model did.
    fn move_leading(&mut self) -> Result<()> {
        let (prompt, answer) = (&mut self.prompt, &self.answer);
        let others = answer.leading.iter().map(|turn| turn.role);
        let repeated =
            |first: &Message| others.clone().any(|role| role == first.role || role == Role::System);
        let bound = prompt.call_count() > 0 || others.clone().any(|role| role == Role::Tool);
        if bound || prompt.messages.first().is_some_and(repeated) {
            return Err(No::Odd);
        }
        for turn in &answer.leading {
            prompt.say(turn.role, &answer.words_of(turn));
        }
        Ok(())
    }

    /// Add a group, now that it has a candidate; remember who else belongs to it.
    fn add(&mut self, row: &Row, calls: u32, group: Group, fingerprint: Option<Digest>) -> u32 {
        let Some(fingerprint) = fingerprint else { return self.questions.add_group(group) };
        let question = self.questions.add(fingerprint, group, calls);
        self.recent.add(row.asked, question);
        question.group
    }

    /// Read the prompt once more, if the answer may have results of its calls.
    fn read_calls(&mut self, asked: Asked, calls: u32) -> Result<bool> {
        let bound = calls > 0 && self.has_results();
        if bound {
            self.read_prompt(asked)?;
        }
        Ok(bound)
    }

    /// Whether the answer has results of calls.
    fn has_results(&self) -> bool {
        self.answer.messages.iter().any(|turn| turn.role == Role::Tool)
    }

    /// Read the messages of a prompt; the digest of its tools, or `ABSENT`.
    fn read_prompt(&mut self, asked: Asked) -> Result<Digest> {
        self.prompt.clear();
        let (mut request, tools) = (Request::default(), &mut self.last_tools);
        let mut cursor = Cursor::new(asked.params);
        let known = self.requests.follow(&mut cursor, |cursor, value| {
            match value {
                Some(value) => request.take(cursor, value, tools)?,
                None => request = Request::default(),
            }
            Ok(())
        });
        if known.is_none() {
            request = Request::default();
            let mut marks = self.requests.marks(&mut cursor);
            cursor.object(|cursor, key| request.read_field(cursor, key, tools, &mut marks))?;
            self.requests.learn(&cursor, marks, ());
        }
        request.read_prompt(&mut self.prompt)?;
        Ok(if request.tools { tools.digest } else { ABSENT })
    }
}

/// Whether a request may hold calls in any form: all their keys and types end in these letters.
fn may_hold_calls(params: &str) -> bool {
    params.contains("_call") || params.contains("\\u")
}

/// The fields of a row that are read.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Field {
    Params,
    Output,
    Score,
    Agent,
    Task,
    Index,
}

/// What the fields of a row say.
#[derive(Default)]
struct Fields<'a> {
    params: Option<&'a str>,
    score: Option<f64>,
    /// Whether options say where the score is.
    is_scored: bool,
    output: bool,
    agent: Option<&'a str>,
    task: Option<&'a str>,
    index: Option<i64>,
    seen: u32,
}

impl<'a> Fields<'a> {
    /// Begin a row anew.
    fn clear(&mut self, answer: &mut Chat) -> Result<()> {
        *self = Fields { is_scored: self.is_scored, ..Fields::default() };
        answer.clear();
        Ok(())
    }

    /// Read a field; a key that occurs twice is left to Python.
    fn take(
        &mut self,
        cursor: &mut Cursor<'a>,
        field: Field,
        answer: &mut Chat,
        recent: &mut Recent,
    ) -> Result<()> {
        let kind = cursor.peek();
        match field {
            Field::Params => {
                if kind != b'{' {
                    return Err(No::Odd);
                }
                let start = *cursor;
                recent.skip(cursor)?;
                self.params = Some(cursor.since(start));
            }
            Field::Output => {
                if kind != b'[' {
                    return Err(No::Odd);
                }
                read_output(cursor, answer)?;
                self.output = true;
            }
            Field::Score if self.is_scored => cursor.skip()?,
            Field::Score => self.score = Some(read_score(cursor)?),
            Field::Agent => self.agent = Some(cursor.raw()?),
            Field::Task => self.task = Some(cursor.raw()?),
            Field::Index => self.index = read_index(cursor)?,
        }
        Ok(())
    }

    /// Take a field that occurs only once, and note where it is.
    fn take_once(
        &mut self,
        cursor: &mut Cursor<'a>,
        field: Field,
        answer: &mut Chat,
        recent: &mut Recent,
        marks: &mut Marks<Field>,
    ) -> Result<()> {
        self.first(field as u32)?;
        cursor.peek();
        let start = *cursor;
        self.take(cursor, field, answer, recent)?;
        marks.note(&start, cursor, field);
        Ok(())
    }

    fn first(&mut self, field: u32) -> Result<()> {
        if self.seen & (1 << field) != 0 {
            return Err(No::Odd);
        }
        self.seen |= 1 << field;
        Ok(())
    }

    fn read_field(
        &mut self,
        cursor: &mut Cursor<'a>,
        key: Str<'a>,
        answer: &mut Chat,
        recent: &mut Recent,
        marks: &mut Marks<Field>,
    ) -> Result<()> {
        if key.escaped {
            return Err(No::Odd);
        }
        let field = match key.raw {
            "responses_create_params" => Field::Params,
            "reward" => Field::Score,
            "agent_ref" => Field::Agent,
            "_ng_task_index" => Field::Task,
            "_ng_rollout_index" => Field::Index,
            "response" => {
                self.first(RESPONSE)?;
                return self.read_response(cursor, answer, recent, marks);
            }
            "_ng_failure_class" | "instance_config.mask_sample" => return cursor.only_null(),
            "mask_sample" => return no_mask(cursor),
            "instance_config" => {
                if cursor.peek() != b'{' {
                    return cursor.only_null();
                }
                return cursor.object(|cursor, key| match key.raw {
                    _ if key.escaped => Err(No::Odd),
                    "mask_sample" => no_mask(cursor),
                    _ => cursor.skip_marked(marks),
                });
            }
            _ => return cursor.skip_marked(marks),
        };
        self.take_once(cursor, field, answer, recent, marks)
    }

    fn read_response(
        &mut self,
        cursor: &mut Cursor<'a>,
        answer: &mut Chat,
        recent: &mut Recent,
        marks: &mut Marks<Field>,
    ) -> Result<()> {
        if cursor.peek() != b'{' {
            return Err(No::Odd);
        }
        cursor.object(|cursor, key| match key.raw {
            _ if key.escaped => Err(No::Odd),
            "output" => self.take_once(cursor, Field::Output, answer, recent, marks),
            "incomplete_details" => cursor.only_null(),
            _ => cursor.skip_marked(marks),
        })
    }
}

fn no_mask(cursor: &mut Cursor) -> Result<()> {
    if cursor.peek() == b'f' {
        cursor.word("false")
    } else {
        cursor.only_null()
    }
}

/// Items, or a list of them for each step of the agent.
fn read_output(cursor: &mut Cursor, answer: &mut Chat) -> Result<()> {
    let mut steps: Option<Vec<&str>> = None;
    let mut first = true;
    cursor.list(|cursor| {
        match cursor.peek() {
            b'[' if first || steps.is_some() => add_step(cursor, steps.get_or_insert_default())?,
            b'{' if steps.is_none() => answer.read_item(cursor)?,
            _ => return Err(No::Odd),
        }
        first = false;
        Ok(())
    })?;
    for item in steps.into_iter().flatten() {
        answer.read_item(&mut Cursor::new(item))?;
    }
    answer.finish(answer.end());
    Ok(())
}

/// Where a step repeats all that went before, it is the whole; else it goes behind.
fn add_step<'a>(cursor: &mut Cursor<'a>, whole: &mut Vec<&'a str>) -> Result<()> {
    let mut step = Vec::new();
    cursor.list(|cursor| {
        step.push(cursor.raw()?);
        Ok(())
    })?;
    if step.len() < whole.len() {
        whole.extend(step);
        return Ok(());
    }
    for (one, other) in step.iter().zip(whole.iter()) {
        if one != other && !differ(one, other)? {
            return Err(No::Odd);
        }
        if one != other {
            whole.extend(step);
            return Ok(());
        }
    }
    *whole = step;
    Ok(())
}

/// Whether two values surely differ: in what is no number, as Python compares these.
fn differ(one: &str, other: &str) -> Result<bool> {
    let mut texts = [String::new(), String::new()];
    for (given, text) in [one, other].into_iter().zip(&mut texts) {
        Cursor::new(given).canonical(text)?;
    }
    let kind = |text: &str| -> Option<String> {
        let mut kind = None;
        let mut cursor = Cursor::new(text);
        if cursor.peek() != b'{' {
            return None;
        }
        let read = cursor.object(|cursor, key| {
            if key.raw == "type" && cursor.peek() == b'"' {
                kind = Some(cursor.string()?.raw.to_owned());
                return Ok(());
            }
            cursor.skip()
        });
        read.ok().and(kind)
    };
    let [one, other] = &texts;
    Ok(one != other && kind(one) != kind(other))
}

/// Agent and task, where there is a task.
fn task_name(asked: Asked) -> Result<Option<String>> {
    let mut written = String::with_capacity(asked.agent.len() + asked.task.len());
    written.push('[');
    write_agent(asked.agent, &mut written)?;
    written.push(',');
    let mut task = Cursor::new(asked.task);
    match task.peek() {
        b'n' => return Ok(None),
        b'"' => {}
        _ => {
            let (_, integer) = number(&mut task.clone())?;
            if !integer {
                return Err(No::Odd);
            }
        }
    }
    task.canonical(&mut written)?;
    written.push(']');
    Ok(Some(written))
}

fn write_agent(agent: &str, out: &mut String) -> Result<()> {
    let mut cursor = Cursor::new(agent);
    if cursor.null()? {
        out.push_str("null");
        return Ok(());
    }
    if cursor.peek() != b'{' {
        return Err(No::Odd);
    }
    let mut name: Option<Str> = None;
    cursor.object(|cursor, key| match key.raw {
        _ if key.escaped => Err(No::Odd),
        "name" => name.once(cursor),
        _ => cursor.skip(),
    })?;
    match name {
        Some(name) => write_str(&name.text(), out),
        None => out.push_str("null"),
    }
    Ok(())
}

/// The values of a request that are read.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Input,
    Instructions,
    Tools,
    Metadata,
}

/// The fields of a request.
#[derive(Default)]
struct Request<'a> {
    input: Option<Cursor<'a>>,
    instructions: Option<Str<'a>>,
    problem: Option<Str<'a>>,
    tools: bool,
    metadata: bool,
}

impl<'a> Request<'a> {
    fn read_field(
        &mut self,
        cursor: &mut Cursor<'a>,
        key: Str<'a>,
        tools: &mut Tools,
        marks: &mut Marks<Value>,
    ) -> Result<()> {
        if key.escaped {
            return Err(No::Odd);
        }
        let value = match key.raw {
            "input" => Value::Input,
            "instructions" => Value::Instructions,
            "tools" => Value::Tools,
            "metadata" => Value::Metadata,
            "tool_choice" => {
                if cursor.peek() != b'"' {
                    return cursor.only_null();
                }
                return if cursor.string()?.raw == "auto" { Ok(()) } else { Err(No::Odd) };
            }
            "previous_response_id"
            | "conversation"
            | "prompt"
            | "text"
            | "response_format"
            | "metadata.problem_statement" => return cursor.only_null(),
            _ => return cursor.skip_marked(marks),
        };
        cursor.peek();
        let start = *cursor;
        self.take(cursor, value, tools)?;
        marks.note(&start, cursor, value);
        Ok(())
    }

    /// Read a value; a key that occurs twice is left to Python.
    fn take(&mut self, cursor: &mut Cursor<'a>, value: Value, tools: &mut Tools) -> Result<()> {
        match value {
            Value::Input => self.input.once(cursor),
            Value::Instructions => self.instructions.once(cursor),
            Value::Tools => {
                if std::mem::replace(&mut self.tools, true) {
                    return Err(No::Odd);
                }
                tools.read(cursor)
            }
            Value::Metadata => {
                if std::mem::replace(&mut self.metadata, true) {
                    return Err(No::Odd);
                }
                if cursor.peek() != b'{' {
                    return cursor.only_null();
                }
                cursor.object(|cursor, key| match key.raw {
                    _ if key.escaped => Err(No::Odd),
                    "problem_statement" => self.problem.once(cursor),
                    _ => cursor.skip(),
                })
            }
        }
    }

    fn read_prompt(&self, prompt: &mut Chat) -> Result<()> {
        let instructions = self.instructions.map(Str::written).filter(|text| !text.is_empty());
        if let Some(mut input) = self.input {
            match input.peek() {
                b'"' => {
                    let text = input.string()?;
                    if !strip(&text.text()).is_empty() {
                        prompt.say_as_given(Role::User, text);
                    }
                }
                b'[' => {
                    prompt.read_items(&mut input)?;
                    prompt.finish(prompt.end());
                }
                _ => input.only_null()?,
            }
        }
        if prompt.messages.is_empty() {
            match self.problem {
                Some(problem) if !strip(&problem.text()).is_empty() => {
                    prompt.say_as_given(Role::User, problem);
                }
                _ => return Ok(()),
            }
        }
        prompt.with_one_system_message(instructions.as_deref());
        Ok(())
    }
}

/// The digest of the tools of a request, or `ABSENT`.
fn digest_tools(tools: Cursor) -> Result<Digest> {
    let mut written = String::new();
    write_tools(tools, Form::Canonical, &mut written)?;
    Ok(if written.is_empty() { ABSENT } else { digest(&[b"tools\0", written.as_bytes()]) })
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Canonical,
    AsPythonWrites,
}

/// Write tools in chat form; nothing if there are none.
fn write_tools(mut tools: Cursor, form: Form, out: &mut String) -> Result<()> {
    if tools.null()? {
        return Ok(());
    }
    if tools.peek() != b'[' {
        return Err(No::Odd);
    }
    let start = out.len();
    tools.list(|cursor| {
        out.push(if out.len() == start { '[' } else { ',' });
        write_tool(cursor, form, out)
    })?;
    if out.len() > start {
        out.push(']');
    }
    Ok(())
}

/// A tool in chat form: the flat one of this API loses its `strict`.
fn write_tool(cursor: &mut Cursor, form: Form, out: &mut String) -> Result<()> {
    if cursor.peek() != b'{' {
        return Err(No::Odd);
    }
    let write = |cursor: &mut Cursor, out: &mut String| match form {
        Form::Canonical => cursor.canonical(out),
        Form::AsPythonWrites => cursor.rewrite(out),
    };
    let whole = *cursor;
    let mut kind: Option<Str> = None;
    let mut nested = false;
    let mut members: Vec<(&str, String)> = Vec::new();
    cursor.object(|cursor, key| {
        if key.escaped || members.iter().any(|known| known.0 == key.raw) {
            return Err(No::Odd);
        }
        match key.raw {
            "type" => kind.once(cursor),
            "strict" => cursor.skip(),
            name => {
                nested |= name == "function";
                if cursor.null()? {
                    return Ok(());
                }
                let mut value = String::new();
                write(cursor, &mut value)?;
                members.push((name, value));
                Ok(())
            }
        }
    })?;
    if kind.is_some_and(|kind| kind.escaped) {
        return Err(No::Odd);
    }
    if nested || kind.is_none_or(|kind| kind.raw != "function") {
        return write(&mut { whole }, out);
    }
    out.push_str(match form {
        Form::Canonical => {
            members.sort();
            "{\"function\":{"
        }
        Form::AsPythonWrites => {
            let first = ["name", "description", "parameters"];
            members.sort_by_key(|(name, _)| {
                first.iter().position(|known| known == name).unwrap_or(first.len())
            });
            "{\"type\":\"function\",\"function\":{"
        }
    });
    for (place, (name, value)) in members.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        write_str(name, out);
        out.push(':');
        out.push_str(value);
    }
    out.push_str(match form {
        Form::Canonical => "},\"type\":\"function\"}",
        Form::AsPythonWrites => "}}",
    });
    Ok(())
}

//! Items of the Responses API to chat messages, and the digests of those.

mod messages;
mod strip;
mod written;

pub use strip::{is_space, strip};

use crate::identity::{digest, Digest};
use std::borrow::Cow;
use strip::{strip_written, trim_start_written};

use crate::json::{escape, unescape, unescaped, write_str, Cursor, Marks, No, Result, Shapes, Str};

/// Rows with more calls are left to Python.
const MOST_CALLS: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }

    fn named(name: &str) -> Option<Role> {
        match name {
            "system" | "developer" => Some(Role::System),
            "user" => Some(Role::User),
            "assistant" => Some(Role::Assistant),
            "tool" | "function" => Some(Role::Tool),
            _ => None,
        }
    }
}

/// A piece of one of the texts of a chat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    from: usize,
    to: usize,
}

impl Span {
    pub fn of(self, text: &str) -> &str {
        &text[self.from..self.to]
    }

    pub fn is_empty(self) -> bool {
        self.from == self.to
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Call {
    name: Span,
    arguments: Span,
    id: Span,
}

#[derive(Debug, Clone, Copy)]
pub struct Message {
    pub role: Role,
    pub words: Span,
    thoughts: Span,
    calls: (usize, usize),
    /// The id of the call that a result answers.
    answers: Span,
}

/// Messages in chat-completions form; their text is in three long strings.
#[derive(Debug, Default)]
pub struct Chat {
    pub messages: Vec<Message>,
    /// What others said before the model did, once `split_off_leading` has taken it away.
    pub leading: Vec<Message>,
    /// Words and thoughts as they are written in JSON: most are read, digested and written so.
    words: String,
    thoughts: String,
    names: String,
    calls: Vec<Call>,
    waiting: Waiting,
    bare: String,
    canonical: String,
    shapes: Shapes<Wanted, About>,
    marks: Marks<Wanted>,
}

/// The values of an item that are read, if it has a known shape.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wanted {
    Name,
    Arguments,
    CallId,
    /// All that is said in a message, or the result of a call.
    Words,
    Thoughts,
}

/// What all items of a shape are.
#[derive(Debug, Clone, Copy)]
enum About {
    Message(Role),
    Call,
    Result,
    Reasoning,
}

/// What the model did since the last turn of another role.
#[derive(Debug, Default, Clone, Copy)]
struct Waiting {
    words: usize,
    thoughts: usize,
    calls: usize,
    any_words: bool,
    any_thoughts: bool,
}

impl Chat {
    pub fn clear(&mut self) {
        self.messages.clear();
        self.leading.clear();
        self.words.clear();
        self.thoughts.clear();
        self.names.clear();
        self.calls.clear();
        self.waiting = Waiting::default();
        self.marks.refuse();
    }

    pub fn call_count(&self) -> usize {
        self.calls.len()
    }

    pub fn words_of(&self, message: &Message) -> Cow<'_, str> {
        unescaped(message.words.of(&self.words))
    }

    pub fn thoughts_of(&self, message: &Message) -> Cow<'_, str> {
        unescaped(message.thoughts.of(&self.thoughts))
    }

    /// Whether there may be inline thinking in the words of a message.
    pub fn may_think(&self, message: &Message) -> bool {
        memchr::memmem::find(message.words.of(&self.words).as_bytes(), b"think>").is_some()
    }

    /// Whether a message says something, and nothing that may be thinking.
    pub fn is_plain(&self, message: &Message) -> bool {
        self.says_something(message) && !self.may_think(message)
    }

    /// Write the words of a message as a string.
    pub fn write_words(&self, message: &Message, out: &mut String) {
        write_written(message.words.of(&self.words), out);
    }

    /// Names and arguments of the functions that a message calls.
    pub fn calls_of(&self, message: &Message) -> impl Iterator<Item = (&str, &str)> {
        let calls = &self.calls[message.calls.0..message.calls.1];
        calls.iter().map(|call| (call.name.of(&self.names), call.arguments.of(&self.names)))
    }

    /// A message that is words alone.
    pub fn say(&mut self, role: Role, words: &str) {
        let from = self.words.len();
        escape(words, &mut self.words);
        self.push(role, from, Span::default());
    }

    fn push(&mut self, role: Role, from: usize, answers: Span) {
        let words = Span { from, to: self.words.len() };
        let calls = (self.calls.len(), self.calls.len());
        self.messages.push(Message { role, words, thoughts: Span::default(), calls, answers });
        self.wait();
    }

    fn wait(&mut self) {
        self.waiting = Waiting {
            words: self.words.len(),
            thoughts: self.thoughts.len(),
            calls: self.calls.len(),
            any_words: false,
            any_thoughts: false,
        };
    }

    /// Make a message of what waits; its words end where those of the next speaker begin.
    pub fn finish(&mut self, to: usize) {
        let Waiting { words, thoughts, calls, any_words, any_thoughts } = self.waiting;
        if any_words || any_thoughts || self.calls.len() > calls {
            self.messages.push(Message {
                role: Role::Assistant,
                words: Span { from: words, to },
                thoughts: Span { from: thoughts, to: self.thoughts.len() },
                calls: (calls, self.calls.len()),
                answers: Span::default(),
            });
        }
        self.wait();
    }

    /// The end of the words so far.
    pub fn end(&self) -> usize {
        self.words.len()
    }

    /// Add a thought, as it is written.
    fn think(&mut self, text: &str) {
        if self.waiting.any_thoughts {
            self.thoughts.push_str("\\n");
        }
        self.thoughts.push_str(text);
        self.waiting.any_thoughts = true;
    }

    fn name(&mut self, text: Str) -> Span {
        let from = self.names.len();
        text.push_to(&mut self.names);
        Span { from, to: self.names.len() }
    }

    /// Take in a list of items.
    pub fn read_items(&mut self, cursor: &mut Cursor) -> Result<()> {
        cursor.list(|cursor| self.read_item(cursor))
    }

    pub fn read_item<'a>(&mut self, cursor: &mut Cursor<'a>) -> Result<()> {
        let mut values = Values::default();
        let known = self.shapes.follow(cursor, |cursor, wanted| values.take(cursor, wanted));
        if let Some(about) = known {
            return self.add_known(about, &values);
        }
        self.marks = self.shapes.marks(cursor);
        let about = self.read_new_item(cursor)?;
        self.shapes.learn(cursor, std::mem::take(&mut self.marks), about);
        Ok(())
    }

    /// Add an item of a known shape.
    fn add_known(&mut self, about: About, values: &Values) -> Result<()> {
        let before = self.words.len();
        match about {
            About::Message(role) => {
                self.add_words(values.words);
                self.add_turn(role, before)
            }
            About::Call => self.add_call(values.name, values.arguments, values.call_id),
            About::Result => {
                self.finish(before);
                self.add_words(values.words);
                self.add_answer(values.call_id, before);
                Ok(())
            }
            About::Reasoning => {
                if let Some(text) = values.thoughts {
                    self.add_thought(text);
                }
                Ok(())
            }
        }
    }

    /// Read an item, and say what others of its shape are.
    fn read_new_item<'a>(&mut self, cursor: &mut Cursor<'a>) -> Result<About> {
        let mut item = Item::default();
        let before = self.words.len();
        cursor.object(|cursor, key| self.read_field(cursor, key, &mut item))?;
        let kind = match &item.kind {
            None => "message",
            Some(kind) if kind.escaped => return Err(No::Odd),
            Some(kind) if kind.raw.is_empty() => "message",
            Some(kind) => kind.raw,
        };
        if kind != "message" {
            self.words.truncate(before);
            if item.content.is_some_and(|mut content| content.start.peek() != b'n') {
                self.marks.refuse(); // what is said there counts for some kinds only
            }
        }
        match kind {
            "message" => self.add_message(&item, before).map(About::Message),
            "function_call" => {
                self.add_call(item.name, item.arguments, item.call_id).map(|()| About::Call)
            }
            "function_call_output" => self.add_result(&item, before).map(|()| About::Result),
            "reasoning" => self.add_reasoning(&item).map(|()| About::Reasoning),
            _ => Err(No::Odd),
        }
    }

    /// Take a value, and note what it is wanted for, if it is text.
    fn once<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        known: &mut Option<Str<'a>>,
        wanted: Wanted,
    ) -> Result<()> {
        cursor.peek();
        let start = *cursor;
        known.once(cursor)?;
        if known.is_some() {
            self.marks.note(&start, cursor, wanted);
        }
        Ok(())
    }

    fn read_field<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        key: Str<'a>,
        item: &mut Item<'a>,
    ) -> Result<()> {
        if key.escaped {
            return Err(No::Odd);
        }
        match key.raw {
            "type" => item.kind.once(cursor),
            "role" => item.role.once(cursor),
            "name" => self.once(cursor, &mut item.name, Wanted::Name),
            "arguments" => self.once(cursor, &mut item.arguments, Wanted::Arguments),
            "call_id" => self.once(cursor, &mut item.call_id, Wanted::CallId),
            "content" => {
                let (start, from) = (*cursor, self.words.len());
                if item.content.is_some() {
                    return Err(No::Odd);
                }
                let read = self.read_content(cursor);
                let content = match read {
                    Ok(()) => Content { start, odd: false },
                    Err(No::Json) => return Err(No::Json),
                    Err(No::Odd) => {
                        self.words.truncate(from);
                        self.marks.refuse();
                        *cursor = start;
                        cursor.skip()?;
                        Content { start, odd: true }
                    }
                };
                item.content = Some(content);
                Ok(())
            }
            "summary" => item.summary.once(cursor),
            "output" => item.output.once(cursor),
            "text" | "parts" | "refusal" | "image" | "images" | "image_url" | "image_urls"
            | "audio" | "audios" | "input_audio" | "video" | "videos" | "file" | "files"
            | "file_id" | "file_ids" | "document" | "documents" | "attachment" | "attachments"
            | "media" | "context" | "tools" | "functions" | "reasoning_content" | "reasoning"
            | "thinking" | "function_call" | "tool_call" | "tool_calls" | "tool_call_id" => {
                cursor.only_null()
            }
            _ => cursor.skip_marked(&mut self.marks),
        }
    }

    /// Content that is words: text, or parts of text. Nothing else is left behind, if it is odd.
    fn read_content(&mut self, cursor: &mut Cursor) -> Result<()> {
        match cursor.peek() {
            b'"' => self.read_words(cursor),
            b'[' => cursor.list(|cursor| self.read_part(cursor)),
            b'n' => cursor.word("null"),
            _ => Err(No::Odd),
        }
    }

    fn read_words(&mut self, cursor: &mut Cursor) -> Result<()> {
        let mut words = None;
        self.once(cursor, &mut words, Wanted::Words)?;
        self.add_words(words);
        Ok(())
    }

    fn add_words(&mut self, words: Option<Str>) {
        if let Some(words) = words {
            words.push_written_to(&mut self.words);
        }
    }

    fn read_part(&mut self, cursor: &mut Cursor) -> Result<()> {
        if cursor.peek() == b'"' {
            return self.read_words(cursor);
        }
        let mut kind: Option<Str> = None;
        let mut text: Option<Str> = None;
        if cursor.peek() != b'{' {
            return Err(No::Odd);
        }
        cursor.object(|cursor, key| {
            if key.escaped {
                return Err(No::Odd);
            }
            match key.raw {
                "type" => kind.once(cursor),
                "text" => self.once(cursor, &mut text, Wanted::Words),
                "parts" | "refusal" | "image" | "images" | "image_url" | "image_urls" | "audio"
                | "audios" | "input_audio" | "video" | "videos" | "file" | "files" | "file_id"
                | "file_ids" | "document" | "documents" | "attachment" | "attachments"
                | "media" | "context" | "tools" | "functions" => cursor.only_null(),
                _ => cursor.skip_marked(&mut self.marks),
            }
        })?;
        match (kind, text) {
            (Some(kind), Some(text))
                if matches!(kind.raw, "output_text" | "input_text" | "text") =>
            {
                text.push_written_to(&mut self.words);
                Ok(())
            }
            _ => Err(No::Odd),
        }
    }

    fn add_message(&mut self, item: &Item, before: usize) -> Result<Role> {
        let role = match item.role {
            Some(role) if !role.escaped => Role::named(role.raw).ok_or(No::Odd)?,
            _ => return Err(No::Odd),
        };
        if item.content.is_some_and(|content| content.odd) || item.name.is_some() {
            return Err(No::Odd);
        }
        self.add_turn(role, before).map(|()| role)
    }

    /// Make a turn of the words from here on; those of the model wait for more.
    fn add_turn(&mut self, role: Role, before: usize) -> Result<()> {
        match role {
            Role::Assistant => self.waiting.any_words = true,
            Role::Tool => return Err(No::Odd),
            _ => {
                self.finish(before);
                self.push(role, before, Span::default());
            }
        }
        Ok(())
    }

    fn add_call(
        &mut self,
        name: Option<Str>,
        arguments: Option<Str>,
        id: Option<Str>,
    ) -> Result<()> {
        let (Some(name), Some(arguments)) = (name, arguments) else {
            return Err(No::Odd);
        };
        if self.calls.len() >= MOST_CALLS {
            return Err(No::Odd);
        }
        let name = self.name(name);
        let arguments = self.name(arguments);
        let id = id.map_or(Span::default(), |id| self.name(id));
        self.calls.push(Call { name, arguments, id });
        Ok(())
    }

    fn add_result(&mut self, item: &Item, before: usize) -> Result<()> {
        self.finish(before);
        if let Some(mut output) = item.output {
            self.read_content(&mut output)?;
        }
        self.add_answer(item.call_id, before);
        Ok(())
    }

    /// Make a turn of the words from here on, which are the result of a call.
    fn add_answer(&mut self, id: Option<Str>, before: usize) {
        let answers = id.map_or(Span::default(), |id| self.name(id));
        self.push(Role::Tool, before, answers);
    }

    fn add_reasoning(&mut self, item: &Item) -> Result<()> {
        let places = [item.summary, item.content.map(|content| content.start)];
        for mut place in places.into_iter().flatten() {
            if place.null()? {
                continue;
            }
            if place.peek() != b'[' {
                return Err(No::Odd);
            }
            let mut any = false;
            place.list(|cursor| {
                let mut text: Option<Str> = None;
                if cursor.peek() != b'{' {
                    return Err(No::Odd);
                }
                cursor.object(|cursor, key| match key.raw {
                    "text" => self.once(cursor, &mut text, Wanted::Thoughts),
                    _ if key.escaped => Err(No::Odd),
                    _ => cursor.skip_marked(&mut self.marks),
                })?;
                any |= text.is_some_and(|text| self.add_thought(text));
                Ok(())
            })?;
            if any {
                break;
            }
        }
        Ok(())
    }

    /// Whether the last message ends in `<think>`: an answer may then begin with thinking.
    pub fn may_open_thinking(&self) -> bool {
        let last = self.messages.last();
        last.is_some_and(|turn| self.words_of(turn).trim_end_matches(is_space).ends_with("<think>"))
    }

    /// Take a thought; whether it says something.
    fn add_thought(&mut self, text: Str) -> bool {
        let text = text.written();
        let spoken = strip_written(&text);
        if !spoken.is_empty() {
            self.think(spoken);
        }
        !spoken.is_empty()
    }

    /// Move inline thinking in the model's text to its own field.
    pub fn split_reasoning(&mut self) {
        for place in 0..self.messages.len() {
            let message = self.messages[place];
            if message.role == Role::Assistant && self.may_think(&message) {
                self.split(place);
            }
        }
    }

    fn split(&mut self, place: usize) {
        let message = self.messages[place];
        let words = message.words.of(&self.words);
        let Some((first, mut end)) = closing_tag(words).or_else(|| open_tag(words)) else {
            return;
        };
        if first.contains("<think>") {
            return;
        }
        let mut thoughts = message.thoughts.of(&self.thoughts).to_owned();
        let mut found = first;
        loop {
            let thought = strip_written(found);
            if !thought.is_empty() {
                if !thoughts.is_empty() {
                    thoughts.push_str("\\n");
                }
                thoughts.push_str(thought);
            }
            let rest = &words[end..];
            match block(rest).or_else(|| open_tag(rest)) {
                Some((next, length)) => {
                    found = next;
                    end += length;
                }
                None => break,
            }
        }
        let from = self.thoughts.len();
        self.thoughts.push_str(&thoughts);
        let message = &mut self.messages[place];
        message.words.from += end;
        message.thoughts = Span { from, to: self.thoughts.len() };
    }

    /// Forget what the model thought. Where thinking may be among its words, Python reads the row.
    pub fn drop_reasoning(&mut self) -> Result<()> {
        for message in self.messages.iter_mut().filter(|turn| turn.role == Role::Assistant) {
            let words = message.words.of(&self.words);
            if memchr::memmem::find(words.as_bytes(), b"think>").is_some() {
                return Err(No::Odd);
            }
            message.thoughts = Span::default();
        }
        Ok(())
    }

    /// Keep the last text of the model alone. Whether results of calls were given up.
    pub fn keep_last_text(&mut self) -> Result<bool> {
        let rests = self.messages.iter().any(|turn| turn.role == Role::Tool);
        let says = |turn: &&Message| {
            turn.role == Role::Assistant && !strip_written(turn.words.of(&self.words)).is_empty()
        };
        let last = *self.messages.iter().rev().find(says).ok_or(No::Odd)?;
        self.messages.clear();
        self.messages.push(Message { calls: (0, 0), ..last });
        Ok(rests)
    }

    /// One system message of the instructions, as they are written, and those at the beginning.
    pub fn with_one_system_message(&mut self, instructions: Option<&str>) {
        let leading = self.messages.iter().take_while(|turn| turn.role == Role::System).count();
        if instructions.is_none() && leading < 2 {
            return;
        }
        let texts: Vec<&str> = instructions
            .into_iter()
            .chain(self.messages[..leading].iter().map(|turn| turn.words.of(&self.words)))
            .collect();
        let joined = texts.join("\\n\\n");
        let from = self.words.len();
        self.words.push_str(&joined);
        let words = Span { from, to: self.words.len() };
        let (role, none) = (Role::System, Span::default());
        let system = Message { role, words, thoughts: none, calls: (0, 0), answers: none };
        self.messages.splice(..leading, [system]);
    }

    pub fn says_something(&self, message: &Message) -> bool {
        message.calls.0 < message.calls.1
            || !strip_written(message.words.of(&self.words)).is_empty()
    }

    /// The digest of messages; ids of calls are those of a conversation that began with `before`.
    pub fn digest(&mut self, before: Option<&Chat>) -> Result<Digest> {
        let answers = self.answers(before);
        let base = before.map_or(0, Chat::call_count);
        let mut canonical = std::mem::take(&mut self.canonical);
        let mut bare = std::mem::take(&mut self.bare);
        let mut one = [0; 16];
        let mut all: Vec<u8> = Vec::new();
        for (place, message) in self.messages.iter().enumerate() {
            let answered = answers.get(place).copied().unwrap_or(0);
            one = self.digest_message(message, answered, base, &mut canonical, &mut bare)?;
            if self.messages.len() > 1 {
                all.extend_from_slice(&one);
            }
        }
        self.canonical = canonical;
        self.bare = bare;
        Ok(if self.messages.len() == 1 { one } else { digest(&[b"chat\0", &all]) })
    }

    /// The digest of a message that is words alone.
    pub fn digest_words(&self, message: &Message) -> Digest {
        let words = self.words_of(message);
        digest(&[b"text\0", message.role.name().as_bytes(), b"\0", words.as_bytes()])
    }

    fn digest_message(
        &self,
        message: &Message,
        answered: usize,
        base: usize,
        out: &mut String,
        bare: &mut String,
    ) -> Result<Digest> {
        use std::fmt::Write;
        let words = message.words.of(&self.words);
        let (first, last) = message.calls;
        if answered == 0 && first == last && message.thoughts.is_empty() {
            let mut plain = words;
            if memchr::memchr(b'\\', words.as_bytes()).is_some() {
                out.clear();
                unescape(words, out);
                plain = out;
            }
            let role = message.role.name().as_bytes();
            return Ok(digest(&[b"text\0", role, b"\0", plain.as_bytes()]));
        }
        out.clear();
        out.push('{');
        if answered > base {
            let _ = write!(out, "\"answers\":{},", answered - base);
        } else if answered > 0 {
            let _ = write!(out, "\"answers\":\"call_{answered}\",");
        }
        if first < last {
            out.push_str("\"calls\":[");
            for call in &self.calls[first..last] {
                out.push('[');
                write_str(call.name.of(&self.names), out);
                out.push(',');
                write_arguments(call.arguments.of(&self.names), out, bare)?;
                out.push_str("],");
            }
            out.pop();
            out.push_str("],");
        }
        out.push_str("\"content\":");
        write_written(words, out);
        if !message.thoughts.is_empty() {
            out.push_str(",\"reasoning\":");
            write_written(message.thoughts.of(&self.thoughts), out);
        }
        let _ = write!(out, ",\"role\":\"{}\"}}", message.role.name());
        Ok(digest(&[b"message\0", out.as_bytes()]))
    }

    /// For each message the number of the call that it answers, from the beginning of `before`.
    pub fn answers(&self, before: Option<&Chat>) -> Vec<usize> {
        if !self.messages.iter().any(|message| message.role == Role::Tool) {
            return Vec::new();
        }
        let mut calls = Calls::default();
        if let Some(before) = before {
            for message in &before.messages {
                calls.follow(before, message);
            }
        }
        self.messages.iter().map(|message| calls.follow(self, message)).collect()
    }
}

/// The calls of a conversation so far, with their ids and names, and which are open.
#[derive(Default)]
struct Calls<'a> {
    calls: Vec<(&'a str, &'a str, bool)>,
}

impl<'a> Calls<'a> {
    fn follow(&mut self, chat: &'a Chat, message: &Message) -> usize {
        for call in &chat.calls[message.calls.0..message.calls.1] {
            self.calls.push((call.id.of(&chat.names), call.name.of(&chat.names), true));
        }
        if message.role == Role::Tool {
            self.answered(message.answers.of(&chat.names))
        } else {
            0
        }
    }

    fn answered(&mut self, given: &str) -> usize {
        let mut found = None;
        if given.is_empty() {
            found = self.first(|call| call.1.is_empty() && call.2);
        }
        if found.is_none() {
            found = self.first(|call| call.0 == given && call.2);
            if found.is_none() && !given.is_empty() {
                found = self.calls.iter().rposition(|call| call.0 == given);
            }
        }
        if found.is_none() {
            found = self.first(|call| call.2);
        }
        found.map_or(0, |place| {
            self.calls[place].2 = false;
            place + 1
        })
    }

    fn first(&self, wanted: impl Fn(&(&str, &str, bool)) -> bool) -> Option<usize> {
        self.calls.iter().position(wanted)
    }
}

/// The fields of an item that may matter, whatever its type is.
#[derive(Default)]
struct Item<'a> {
    kind: Option<Str<'a>>,
    role: Option<Str<'a>>,
    name: Option<Str<'a>>,
    arguments: Option<Str<'a>>,
    call_id: Option<Str<'a>>,
    content: Option<Content<'a>>,
    summary: Option<Cursor<'a>>,
    output: Option<Cursor<'a>>,
}

/// The values of an item of a known shape.
#[derive(Default)]
struct Values<'a> {
    name: Option<Str<'a>>,
    arguments: Option<Str<'a>>,
    call_id: Option<Str<'a>>,
    words: Option<Str<'a>>,
    thoughts: Option<Str<'a>>,
}

impl<'a> Values<'a> {
    fn take(&mut self, cursor: &mut Cursor<'a>, wanted: Option<Wanted>) -> Result<()> {
        let value = match wanted {
            None => {
                *self = Values::default();
                return Ok(());
            }
            Some(Wanted::Name) => &mut self.name,
            Some(Wanted::Arguments) => &mut self.arguments,
            Some(Wanted::CallId) => &mut self.call_id,
            Some(Wanted::Words) => &mut self.words,
            Some(Wanted::Thoughts) => &mut self.thoughts,
        };
        if cursor.peek() != b'"' || value.is_some() {
            return Err(No::Odd);
        }
        *value = Some(cursor.string()?);
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Content<'a> {
    start: Cursor<'a>,
    /// Whether it is anything but words.
    odd: bool,
}

/// A field that is read once: a key that occurs twice is left to Python.
pub trait Once<'a> {
    fn once(&mut self, cursor: &mut Cursor<'a>) -> Result<()>;
}

impl<'a> Once<'a> for Option<Str<'a>> {
    /// Text, or null.
    fn once(&mut self, cursor: &mut Cursor<'a>) -> Result<()> {
        if self.is_some() {
            return Err(No::Odd);
        }
        match cursor.peek() {
            b'"' => *self = Some(cursor.string()?),
            b'n' => cursor.word("null")?,
            _ => {
                cursor.skip()?;
                return Err(No::Odd);
            }
        }
        Ok(())
    }
}

impl<'a> Once<'a> for Option<Cursor<'a>> {
    /// Where a value begins.
    fn once(&mut self, cursor: &mut Cursor<'a>) -> Result<()> {
        if self.is_some() {
            return Err(No::Odd);
        }
        *self = Some(*cursor);
        cursor.skip()
    }
}

fn write_arguments(text: &str, out: &mut String, bare: &mut String) -> Result<()> {
    bare.clear();
    let mut cursor = Cursor::new(text);
    let read = cursor.canonical(bare).and_then(|()| cursor.end());
    match read {
        Ok(()) => {
            out.push('[');
            out.push_str(bare);
            out.push(']');
            Ok(())
        }
        Err(No::Json) => {
            write_str(text, out);
            Ok(())
        }
        Err(No::Odd) => Err(No::Odd),
    }
}

/// Write a string of what is already written as in one.
fn write_written(written: &str, out: &mut String) {
    out.push('"');
    out.push_str(written);
    out.push('"');
}

/// Thinking up to the first closing tag, and where what follows begins.
fn closing_tag(text: &str) -> Option<(&str, usize)> {
    let start = trim_start_written(text);
    up_to_end(text, start.strip_prefix("<think>").unwrap_or(start))
}

fn block(text: &str) -> Option<(&str, usize)> {
    up_to_end(text, text.strip_prefix("<think>")?)
}

fn up_to_end<'a>(text: &'a str, inside: &'a str) -> Option<(&'a str, usize)> {
    let (thought, rest) = inside.split_once("</think>")?;
    Some((thought, text.len() - trim_start_written(rest).len()))
}

/// Thinking that never came to an end.
fn open_tag(text: &str) -> Option<(&str, usize)> {
    let thought = trim_start_written(text).strip_prefix("<think>")?;
    Some((thought, text.len()))
}

//! Messages in chat-completions form, as most formats but the Responses API have them.

use super::{Call, Chat, Message, Once, Role, Span};
use crate::json::{Cursor, No, Result, Str};

/// The keys of a message that Python writes, in its order.
const KEYS: [&str; 5] = ["role", "content", "reasoning_content", "tool_calls", "tool_call_id"];

/// What is known of a message while its fields are read.
#[derive(Default)]
struct Fields<'a> {
    role: Option<Str<'a>>,
    content: bool,
    thoughts: Option<Str<'a>>,
    calls: bool,
    answers: Option<Str<'a>>,
    /// How many of `KEYS` may not come any more, if the message is to be as Python writes it.
    passed: usize,
    as_written: bool,
}

impl Chat {
    /// Take in a list of messages. Whether Python would write them so, spaces and ids left aside.
    pub fn read_messages(&mut self, cursor: &mut Cursor) -> Result<bool> {
        if cursor.peek() != b'[' {
            return Err(No::Odd);
        }
        let mut as_written = true;
        cursor.list(|cursor| {
            as_written &= self.read_message(cursor)?;
            Ok(())
        })?;
        Ok(as_written)
    }

    /// A message that is words alone, as they are in a row.
    pub fn say_as_given(&mut self, role: Role, words: Str) {
        let from = self.words.len();
        words.push_written_to(&mut self.words);
        self.push(role, from, Span::default());
    }

    /// Whether there are calls, or results of calls.
    pub fn has_calls(&self) -> bool {
        !self.calls.is_empty() || self.messages.iter().any(|turn| turn.role == Role::Tool)
    }

    fn read_message(&mut self, cursor: &mut Cursor) -> Result<bool> {
        if cursor.peek() != b'{' {
            return Err(No::Odd);
        }
        let mut fields = Fields { as_written: true, ..Fields::default() };
        let (words, first) = (self.words.len(), self.calls.len());
        cursor.object(|cursor, key| self.read_member(cursor, key, &mut fields))?;
        let Some(given) = fields.role.filter(|role| !role.escaped) else { return Err(No::Odd) };
        let role = Role::named(given.raw).ok_or(No::Odd)?;
        let called = self.calls.len() > first;
        if (called && role != Role::Assistant) || (fields.answers.is_some() && role != Role::Tool) {
            return Err(No::Odd);
        }
        let thoughts = self.thoughts.len();
        if let Some(given) = fields.thoughts {
            given.push_written_to(&mut self.thoughts);
        }
        let answers = fields.answers.map_or(Span::default(), |id| self.name(id));
        self.messages.push(Message {
            role,
            words: Span { from: words, to: self.words.len() },
            thoughts: Span { from: thoughts, to: self.thoughts.len() },
            calls: (first, self.calls.len()),
            answers,
        });
        self.wait();
        Ok(fields.as_written && fields.content && given.raw == role.name())
    }

    fn read_member<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        key: Str<'a>,
        fields: &mut Fields<'a>,
    ) -> Result<()> {
        if key.escaped {
            return Err(No::Odd);
        }
        let place = KEYS.iter().position(|known| *known == key.raw);
        fields.as_written &= place.is_some_and(|place| place >= fields.passed);
        fields.passed = place.map_or(0, |place| place + 1);
        match key.raw {
            "role" => fields.role.once(cursor),
            "content" => {
                if std::mem::replace(&mut fields.content, true) {
                    return Err(No::Odd);
                }
                if cursor.peek() == b'"' {
                    let words = cursor.string()?;
                    fields.as_written &= words.is_as_written();
                    words.push_written_to(&mut self.words);
                    return Ok(());
                }
                fields.as_written = false;
                self.read_content(cursor)
            }
            "reasoning_content" => {
                fields.thoughts.once(cursor)?;
                let thoughts = fields.thoughts.filter(|text| !text.raw.is_empty());
                fields.as_written &= thoughts.is_some_and(Str::is_as_written);
                Ok(())
            }
            "tool_calls" => {
                if std::mem::replace(&mut fields.calls, true) {
                    return Err(No::Odd);
                }
                let first = self.calls.len();
                if cursor.peek() == b'[' {
                    cursor.list(|cursor| {
                        fields.as_written &= self.read_call(cursor)?;
                        Ok(())
                    })?;
                } else {
                    cursor.only_null()?;
                }
                fields.as_written &= self.calls.len() > first;
                Ok(())
            }
            "tool_call_id" => {
                fields.answers.once(cursor)?;
                let answers = fields.answers.filter(|id| !id.raw.is_empty());
                fields.as_written &= answers.is_some_and(Str::is_as_written);
                Ok(())
            }
            "text" | "parts" | "refusal" | "image" | "images" | "image_url" | "image_urls"
            | "audio" | "audios" | "input_audio" | "video" | "videos" | "file" | "files"
            | "file_id" | "file_ids" | "document" | "documents" | "attachment" | "attachments"
            | "media" | "context" | "tools" | "functions" | "reasoning" | "thinking"
            | "function_call" | "tool_call" | "name" => cursor.only_null(),
            _ => cursor.skip(),
        }
    }

    /// A call of a function. Whether Python would write it so, its id left aside.
    fn read_call(&mut self, cursor: &mut Cursor) -> Result<bool> {
        if self.calls.len() >= super::MOST_CALLS || cursor.peek() != b'{' {
            return Err(No::Odd);
        }
        let (mut id, mut kind): (Option<Str>, Option<Str>) = (None, None);
        let mut function: Option<Cursor> = None;
        let mut keys = 0;
        let mut as_written = true;
        cursor.object(|cursor, key| {
            let wanted = ["id", "type", "function"].get(keys);
            keys += 1;
            as_written &= wanted == Some(&key.raw);
            match key.raw {
                _ if key.escaped => Err(No::Odd),
                "id" => id.once(cursor),
                "type" => kind.once(cursor),
                "function" => function.once(cursor),
                _ => cursor.skip(),
            }
        })?;
        let (Some(mut function), "function") = (function, kind.map_or("function", |kind| kind.raw))
        else {
            return Err(No::Odd);
        };
        let (mut name, mut arguments): (Option<Str>, Option<Str>) = (None, None);
        let mut keys = 0;
        if function.peek() != b'{' {
            return Err(No::Odd);
        }
        function.object(|cursor, key| {
            let wanted = ["name", "arguments"].get(keys);
            keys += 1;
            as_written &= wanted == Some(&key.raw);
            match key.raw {
                _ if key.escaped => Err(No::Odd),
                "name" => name.once(cursor),
                "arguments" => arguments.once(cursor),
                _ => cursor.skip(),
            }
        })?;
        let (Some(name), Some(arguments)) = (name, arguments) else { return Err(No::Odd) };
        as_written &= id.is_some_and(Str::is_as_written) && kind.is_some();
        as_written &= name.is_as_written() && arguments.is_as_written();
        let (name, arguments) = (self.name(name), self.name(arguments));
        let id = id.map_or(Span::default(), |id| self.name(id));
        self.calls.push(Call { name, arguments, id });
        Ok(as_written)
    }

    /// Whether calls and results have the ids that Python gives: those of a conversation that
    /// began with `before`.
    pub fn is_numbered(&self, before: Option<&Chat>) -> bool {
        let mut number = before.map_or(0, Chat::call_count);
        let numbered = |given: Span, number: usize| {
            given
                .of(&self.names)
                .strip_prefix("call_")
                .is_some_and(|rest| *rest == number.to_string())
        };
        let called = self.calls.iter().all(|call| {
            number += 1;
            numbered(call.id, number)
        });
        let answers = self.answers(before);
        called
            && self.messages.iter().enumerate().all(|(place, message)| {
                match answers.get(place).copied().unwrap_or(0) {
                    0 => message.answers.is_empty(),
                    answered => numbered(message.answers, answered),
                }
            })
    }
}

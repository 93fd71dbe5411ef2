//! Messages as Python writes them.

use super::{write_written, Chat, Message};
use crate::json::write_str;

impl Chat {
    /// Write messages as a list. `answered` has for each the number of the call that it answers, or
    /// 0; their own calls are numbered on from `calls`.
    pub fn write(
        &self,
        messages: &[Message],
        answered: &[usize],
        mut calls: usize,
        out: &mut String,
    ) {
        out.push('[');
        for (place, message) in messages.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            let answered = answered.get(place).copied().unwrap_or(0);
            self.write_message(message, answered, &mut calls, out);
        }
        out.push(']');
    }

    fn write_message(
        &self,
        message: &Message,
        answered: usize,
        calls: &mut usize,
        out: &mut String,
    ) {
        use std::fmt::Write;
        out.push_str("{\"role\":\"");
        out.push_str(message.role.name());
        out.push_str("\",\"content\":");
        self.write_words(message, out);
        if !message.thoughts.is_empty() {
            out.push_str(",\"reasoning_content\":");
            write_written(message.thoughts.of(&self.thoughts), out);
        }
        let before = *calls;
        for (name, arguments) in self.calls_of(message) {
            out.push_str(if *calls == before { ",\"tool_calls\":[" } else { "," });
            *calls += 1;
            let _ = write!(out, "{{\"id\":\"call_{calls}\",\"type\":\"function\",");
            out.push_str("\"function\":{\"name\":");
            write_str(name, out);
            out.push_str(",\"arguments\":");
            write_str(arguments, out);
            out.push_str("}}");
        }
        if *calls > before {
            out.push(']');
        }
        if answered > 0 {
            let _ = write!(out, ",\"tool_call_id\":\"call_{answered}\"");
        }
        out.push('}');
    }
}

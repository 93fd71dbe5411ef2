//! What pairs say of their candidates besides: the task, and fields that options name.

use crate::json::{write_str, No, Result};

/// Names and values, these as Python writes them in JSON.
#[derive(Debug, Clone, Default)]
pub struct Meta {
    members: Vec<(String, String)>,
}

impl Meta {
    pub fn clear(&mut self) {
        self.members.clear();
    }

    pub fn add(&mut self, name: &str, value: String) {
        self.members.push((name.to_owned(), value));
    }

    /// Add text.
    pub fn say(&mut self, name: &str, text: &str) {
        let mut value = String::new();
        write_str(text, &mut value);
        self.add(name, value);
    }

    pub fn extend(&mut self, other: &Meta) {
        self.members.extend_from_slice(&other.members);
    }

    /// The bytes that it takes, used or not.
    pub fn room(&self) -> usize {
        self.members.iter().map(|(name, value)| name.capacity() + value.capacity()).sum()
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.members.iter().find(|member| member.0 == name).map(|member| member.1.as_str())
    }

    /// Write what a pair says of both: once what they share, else that of each side. Nothing if there
    /// is nothing to say.
    pub fn write_joined(chosen: &Meta, rejected: &Meta, out: &mut String) -> Result<()> {
        let others = rejected.members.iter().filter(|member| chosen.get(&member.0).is_none());
        let mut before = ",\"meta\":{";
        for (name, _) in chosen.members.iter().chain(others) {
            let sides = [("chosen_", chosen.get(name)), ("rejected_", rejected.get(name))];
            out.push_str(before);
            match sides {
                [(_, Some(one)), (_, Some(other))] if one == other => write_member(name, one, out),
                [(ours, one), (theirs, other)] => {
                    if let (Some(one), Some(other)) = (one, other) {
                        differ(one, other)?;
                    }
                    write_member(&format!("{ours}{name}"), one.unwrap_or("null"), out);
                    out.push(',');
                    write_member(&format!("{theirs}{name}"), other.unwrap_or("null"), out);
                }
            }
            before = ",";
        }
        if before == "," {
            out.push('}');
        }
        Ok(())
    }
}

fn write_member(name: &str, value: &str, out: &mut String) {
    write_str(name, out);
    out.push(':');
    out.push_str(value);
}

/// Values of other bytes differ, unless Python could find them equal, as 1, 1.0 and true.
fn differ(one: &str, other: &str) -> Result<()> {
    let [one, other] = [one, other].map(Kind::of);
    if one == other {
        Err(No::Odd)
    } else {
        Ok(())
    }
}

/// What a value is compared by with one of other bytes.
#[derive(PartialEq)]
enum Kind<'a> {
    Number(f64),
    Text(&'a str),
    Null,
    List,
    Object,
}

impl<'a> Kind<'a> {
    fn of(value: &'a str) -> Self {
        match value.as_bytes().first() {
            Some(b'"') => Kind::Text(value),
            Some(b'n') => Kind::Null,
            Some(b'[') => Kind::List,
            Some(b'{') => Kind::Object,
            Some(b't') => Kind::Number(1.0),
            Some(b'f') => Kind::Number(0.0),
            _ => Kind::Number(value.parse().unwrap_or(0.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Meta;

    fn joined(chosen: &[(&str, &str)], rejected: &[(&str, &str)]) -> Option<String> {
        let [chosen, rejected] = [chosen, rejected].map(|members| {
            let mut meta = Meta::default();
            members.iter().for_each(|(name, value)| meta.add(name, (*value).to_owned()));
            meta
        });
        let mut out = String::new();
        Meta::write_joined(&chosen, &rejected, &mut out).ok()?;
        Some(out)
    }

    #[test]
    fn sides_share_what_is_equal() {
        let out = joined(&[("a", "1"), ("b", "\"x\"")], &[("c", "[]"), ("b", "2"), ("a", "1")]);
        let expected =
            r#","meta":{"a":1,"chosen_b":"x","rejected_b":2,"chosen_c":null,"rejected_c":[]}"#;
        assert_eq!(out.as_deref(), Some(expected));
        assert_eq!(joined(&[], &[]).as_deref(), Some(""));
        for (one, other) in [("1", "1.0"), ("true", "1"), ("0", "-0.0"), ("[1]", "[1.0]")] {
            assert_eq!(joined(&[("a", one)], &[("a", other)]), None, "{one} {other}");
        }
        for (one, other) in [("-7", "null"), ("0.5", "0.25"), ("{}", "[]"), ("\"1\"", "1")] {
            assert!(joined(&[("a", one)], &[("a", other)]).is_some(), "{one} {other}");
        }
    }
}

//! Members of an object that are the same in most rows: they are compared, not read again.

use super::{Cursor, No, Result, Str};

/// Longer objects are not kept.
const LONGEST_KEPT: usize = 1 << 16;

/// The members of an object as an earlier row had them.
#[derive(Debug, Default)]
pub struct Repeated {
    /// From the first key to the end of the last value.
    text: String,
    members: Vec<Member>,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    start: usize,
    end: usize,
    /// The end of the last one that may be passed with this one; its own start if it may not.
    run: usize,
}

impl Repeated {
    /// How many members from this place on a text begins with, and how many bytes they take.
    fn begins(&self, place: usize, text: &str) -> Option<(usize, usize)> {
        let first = self.members.get(place).filter(|first| first.run > first.start)?;
        let (known, text) = (&self.text.as_bytes()[first.start..first.run], text.as_bytes());
        let same = first.start + common_prefix(known, text);
        let mut count = self.members[place..].partition_point(|member| member.end <= same);
        let bytes = |count: usize| self.members[place + count - 1].end - first.start;
        if count > 0 && !matches!(text.get(bytes(count)), Some(b',' | b'}')) {
            count -= 1; // a number may go on
        }
        (count > 0).then(|| (count, bytes(count)))
    }

    fn learn(&mut self, text: &str, members: Vec<Member>) {
        let (Some(first), Some(last)) = (members.first(), members.last()) else { return };
        let (start, end) = (first.start, last.end);
        if end - start > LONGEST_KEPT {
            return;
        }
        self.text.push_str(&text[start..end]);
        self.members.extend(members.iter().map(|member| Member {
            start: member.start - start,
            end: member.end - start,
            run: member.run - start,
        }));
        for place in (1..members.len()).rev() {
            let next = self.members[place];
            let own = &mut self.members[place - 1];
            if own.run > own.start && next.run > next.start {
                own.run = next.run;
            }
        }
    }

    fn forget(&mut self) {
        self.text.clear();
        self.members.clear();
    }
}

impl<'a> Cursor<'a> {
    /// Each member of an object that is as deep as the one of the row before. The visitor takes its
    /// value, and says whether it needs no further look at the same bytes in another row.
    pub fn object_like(
        &mut self,
        known: &mut Repeated,
        mut member: impl FnMut(&mut Self, Str<'a>) -> Result<bool>,
    ) -> Result<()> {
        let learning = known.members.is_empty();
        let mut found = Vec::new();
        let (mut place, mut passed) = (0, 0);
        self.expect(b'{')?;
        self.descend()?;
        let mut more = self.peek() != b'}';
        while more {
            if self.peek() != b'"' {
                return Err(No::Json);
            }
            let start = self.at;
            if let Some((members, bytes)) = known.begins(place, &self.text[start..]) {
                self.at += bytes;
                place += members;
                passed += members;
            } else {
                let key = self.string()?;
                self.expect(b':')?;
                let may_pass = member(self, key)?;
                place += 1;
                if learning {
                    let end = self.at;
                    found.push(Member { start, end, run: if may_pass { end } else { start } });
                }
            }
            match self.peek() {
                b',' => self.at += 1,
                b'}' => more = false,
                _ => return Err(No::Json),
            }
        }
        self.at += 1;
        self.depth -= 1;
        if learning {
            known.learn(self.text, found);
        } else if 2 * passed < place {
            known.forget();
        }
        Ok(())
    }
}

/// How many first bytes two texts share.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    const STEP: usize = 32;
    let length = one.len().min(other.len());
    let (one, other) = (&one[..length], &other[..length]);
    let steps = one.chunks_exact(STEP).zip(other.chunks_exact(STEP));
    let start = STEP * steps.take_while(|(one, other)| one == other).count();
    let rest = one[start..].iter().zip(&other[start..]);
    start + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::{Cursor, No, Repeated};

    /// The keys that a visitor saw, of which all but `output` may be passed.
    fn seen(known: &mut Repeated, text: &str) -> Result<String, No> {
        let mut keys = String::new();
        let mut cursor = Cursor::new(text);
        cursor.object_like(known, |cursor, key| {
            keys.push_str(key.raw);
            cursor.skip()?;
            Ok(key.raw != "o")
        })?;
        cursor.end().map(|()| keys)
    }

    #[test]
    fn members_that_are_repeated_are_passed() {
        let known = &mut Repeated::default();
        let first = r#"{"a":1,"b":[2],"o":3,"c":"x","d":4}"#;
        assert_eq!(seen(known, first).as_deref(), Ok("abocd"));
        assert_eq!(seen(known, first).as_deref(), Ok("o"));
        assert_eq!(seen(known, &first.replace("[2]", "[5]")).as_deref(), Ok("bo"));
        assert_eq!(seen(known, &first.replace("4}", "40}")).as_deref(), Ok("od"));
        assert_eq!(seen(known, &first.replace("4}", "4 }")).as_deref(), Ok("od"));
        assert_eq!(seen(known, &first.replace(",\"d\":4", "")).as_deref(), Ok("o"));
        assert_eq!(seen(known, &first.replace("4}", "4")), Err(No::Json));
        assert_eq!(seen(known, &first.replace("4}", "4]")), Err(No::Json));
    }

    #[test]
    fn other_objects_are_learned_once_they_come() {
        let known = &mut Repeated::default();
        assert_eq!(seen(known, r#"{"a":1,"b":2,"c":3}"#).as_deref(), Ok("abc"));
        let other = r#"{"x":1,"y":"\u00e9","z":{"o":1}}"#;
        assert_eq!(seen(known, other).as_deref(), Ok("xyz"));
        assert_eq!(seen(known, other).as_deref(), Ok("xyz"));
        assert_eq!(seen(known, other).as_deref(), Ok(""));
        assert_eq!(seen(known, "{}").as_deref(), Ok(""));
    }
}

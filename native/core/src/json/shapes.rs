//! Objects that are alike in most rows: what they have in common is compared, not read again.
//!
//! While an object is read for the first time, its reader marks the values that it looks at, and
//! those that it passes unseen. All the rest is the shape: in another object with the same bytes
//! around these values, the reader would do the same again, and so only the values are read.

use super::{Cursor, Result};

/// Longer shapes are not kept, or those with more marks.
const LONGEST: usize = 1 << 16;
const MOST_MARKS: usize = 1 << 10;
const MOST_SHAPES: usize = 8;
/// After so many more objects of other shapes than of known ones, one in so many is compared.
const MOST_MISSED: usize = 32;
const SELDOM: usize = 16;

/// The values of an object that may differ from row to row, noted while it is read.
#[derive(Debug)]
pub struct Marks<U> {
    wanted: bool,
    start: usize,
    depth: u32,
    values: Vec<Value<U>>,
}

impl<U> Default for Marks<U> {
    fn default() -> Self {
        Marks { wanted: false, start: 0, depth: 0, values: Vec::new() }
    }
}

/// A value of a shape: the bytes that it took when the shape was learned, and how deep it is.
#[derive(Debug, Clone, Copy)]
struct Value<U> {
    start: usize,
    end: usize,
    depth: u32,
    /// What its reader wants it for; nothing if any value is passed unseen.
    wanted: Option<U>,
}

impl<U> Value<U> {
    fn holds(&self, other: &Value<U>) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

impl<U: Copy + PartialEq> Marks<U> {
    /// Note a value that was just read. Objects with several values for one purpose are not learned.
    pub fn note(&mut self, start: &Cursor, end: &Cursor, wanted: U) {
        if self.wanted && self.values.iter().any(|value| value.wanted == Some(wanted)) {
            self.refuse();
        }
        self.add(start, end, Some(wanted));
    }
}

impl<U> Marks<U> {
    /// Nothing is to be learned of this object.
    pub fn refuse(&mut self) {
        self.wanted = false;
    }

    fn add(&mut self, start: &Cursor, end: &Cursor, wanted: Option<U>) {
        if self.wanted {
            let depth = start.depth - self.depth;
            self.values.push(Value { start: start.at, end: end.at, depth, wanted });
            self.wanted = self.values.len() <= MOST_MARKS;
        }
    }
}

impl<'a> Cursor<'a> {
    /// Check a value that its reader passes unseen, and go past it.
    pub fn skip_marked<U>(&mut self, marks: &mut Marks<U>) -> Result<()> {
        if !marks.wanted {
            return self.skip();
        }
        let kind = self.peek();
        let start = *self;
        match kind {
            b'{' => self.object(|cursor, _| cursor.skip_marked(marks))?,
            b'[' => self.list(|cursor| match cursor.peek() {
                b'{' | b'[' => cursor.skip_marked(marks),
                _ => cursor.skip(),
            })?,
            _ => self.skip()?,
        }
        marks.add(&start, self, None);
        Ok(())
    }
}

/// The shapes of the objects in one place of rows, each with what is known of all objects like it.
#[derive(Debug)]
pub struct Shapes<U, A> {
    shapes: Vec<Shape<U, A>>,
    /// The shape of the last object.
    last: usize,
    /// How many objects had another shape, and nothing could be passed unseen instead.
    unknown: usize,
    /// How many more objects lately had another shape than a known one.
    missed: usize,
    /// How many objects were not compared since the last one that was.
    waiting: usize,
    oldest: usize,
}

impl<U, A> Default for Shapes<U, A> {
    fn default() -> Self {
        Shapes { shapes: Vec::new(), last: 0, unknown: 0, missed: 0, waiting: 0, oldest: 0 }
    }
}

#[derive(Debug)]
struct Shape<U, A> {
    /// The object, without the values that its reader wants.
    text: String,
    /// Values that are read, in order.
    read: Vec<Value<U>>,
    /// Values that were the same in all objects, though others would be passed unseen, too. Those
    /// that hold others come before them.
    same: Vec<Value<U>>,
    about: A,
    /// The shape of the object that followed the last one of this shape.
    next: usize,
}

impl<U: Copy, A: Copy> Shapes<U, A> {
    /// Read an object of a known shape: what is known of it, or nothing, and then the cursor has not
    /// moved. `take` reads a value; it is called without one where an object is begun, or begun again. What it
    /// did is to be forgotten if no shape is found.
    pub fn follow<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        mut take: impl FnMut(&mut Cursor<'a>, Option<U>) -> Result<()>,
    ) -> Option<A> {
        if self.missed >= MOST_MISSED && self.waiting < SELDOM {
            self.waiting += 1;
            return None;
        }
        self.waiting = 0;
        let count = self.shapes.len();
        let first = self.shapes.get(self.last).map_or(0, |last| last.next);
        for place in (first..count).chain(0..first) {
            take(cursor, None).ok()?;
            if self.shapes[place].follow(cursor, &mut take) {
                self.missed = self.missed.saturating_sub(1);
                self.follows(place);
                return Some(self.shapes[place].about);
            }
        }
        self.missed = MOST_MISSED.min(self.missed + 1);
        None
    }

    /// Marks for an object that has no known shape.
    pub fn marks(&mut self, cursor: &mut Cursor) -> Marks<U> {
        if self.waiting > 0 {
            return Marks::default();
        }
        cursor.peek();
        let nearest = self.shapes.iter_mut().max_by_key(|shape| shape.fitting(cursor));
        let mut wanted = false;
        if !nearest.is_some_and(|shape| shape.widen(cursor)) {
            self.unknown += 1;
            let rare = self.missed >= MOST_MISSED || self.unknown.is_power_of_two();
            wanted = rare || self.shapes.len() < MOST_SHAPES;
        }
        Marks { wanted, start: cursor.at, depth: cursor.depth, values: Vec::new() }
    }

    /// Learn the shape of the object that ends here.
    pub fn learn(&mut self, cursor: &Cursor, marks: Marks<U>, about: A) {
        let text = &cursor.text[marks.start..cursor.at];
        if !marks.wanted || text.len() > LONGEST {
            return;
        }
        let shape = Shape::new(text, marks, about);
        let place = if self.shapes.len() < MOST_SHAPES {
            self.shapes.push(shape);
            self.shapes.len() - 1
        } else {
            self.oldest = (self.oldest + 1) % MOST_SHAPES;
            self.shapes[self.oldest] = shape;
            self.oldest
        };
        self.follows(place);
    }

    fn follows(&mut self, place: usize) {
        self.shapes[self.last].next = place;
        self.last = place;
    }
}

impl<U: Copy, A> Shape<U, A> {
    fn new(given: &str, marks: Marks<U>, about: A) -> Self {
        let Marks { start: first, mut values, .. } = marks;
        values.sort_by_key(|value| (value.start, usize::MAX - value.end));
        let (mut read, mut same) = (Vec::new(), Vec::new());
        let (mut text, mut copied, mut left_out) = (String::new(), 0, first);
        for mut value in values {
            let (start, end) = (value.start - first, value.end - first);
            value.start -= left_out;
            if value.wanted.is_some() {
                text.push_str(&given[copied..start]);
                copied = end;
                left_out += end - start;
                value.end = value.start;
                read.push(value);
            } else {
                value.end -= left_out;
                same.push(value);
            }
        }
        text.push_str(&given[copied..]);
        Shape { text, read, same, about, next: 0 }
    }

    /// Read an object if it has this shape; else the cursor has not moved.
    #[inline]
    fn follow<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        take: &mut impl FnMut(&mut Cursor<'a>, Option<U>) -> Result<()>,
    ) -> bool {
        let mut here = *cursor;
        let (known, bytes) = (self.text.as_bytes(), cursor.text.as_bytes());
        let mut passed = 0;
        for value in &self.read {
            let fixed = &known[passed..value.start];
            if !bytes[here.at..].starts_with(fixed) {
                return false;
            }
            here.at += fixed.len();
            here.depth = cursor.depth + value.depth;
            let taken = match value.wanted {
                Some(_) => take(&mut here, value.wanted),
                None if here.peek() == b'"' => here.string().map(drop),
                None => here.skip(),
            };
            if taken.is_err() {
                return false;
            }
            passed = value.end;
        }
        let fixed = &known[passed..];
        let same = bytes[here.at..].starts_with(fixed);
        if same {
            cursor.at = here.at + fixed.len();
        }
        same
    }

    /// Where an object of another shape begins to differ: the place in it, and in this one.
    fn differs(&self, cursor: &Cursor) -> (usize, usize) {
        let mut here = *cursor;
        let (known, bytes) = (self.text.as_bytes(), cursor.text.as_bytes());
        let mut passed = 0;
        for value in &self.read {
            let fixed = &known[passed..value.start];
            let same = common_prefix(fixed, &bytes[here.at..]);
            here.at += same;
            if same < fixed.len() || here.skip().is_err() {
                return (here.at, passed + same);
            }
            passed = value.end;
        }
        let same = common_prefix(&known[passed..], &bytes[here.at..]);
        (here.at + same, passed + same)
    }

    /// How much of an object has this shape, if it differs in what may be passed unseen.
    fn fitting(&self, cursor: &Cursor) -> Option<usize> {
        let (there, here) = self.differs(cursor);
        self.around(here).map(|_| there)
    }

    /// The innermost value around a place that was the same so far, and may be another one.
    fn around(&self, place: usize) -> Option<usize> {
        self.same.iter().rposition(|value| value.start <= place && place <= value.end)
    }

    /// Read from now on the value in which an object differs, if it may be passed unseen.
    fn widen(&mut self, cursor: &Cursor) -> bool {
        let (_, here) = self.differs(cursor);
        let Some(found) = self.around(here) else { return false };
        let value = self.same[found];
        self.same.retain(|other| !value.holds(other));
        self.read.retain(|other| !value.holds(other));
        let place = self.read.partition_point(|other| other.start < value.start);
        self.read.insert(place, value);
        true
    }
}

/// How many first bytes two texts share.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Result, Shapes};
    use crate::json::No;

    /// Reads objects in which the member `o` is wanted.
    #[derive(Default)]
    struct Reader {
        shapes: Shapes<char, ()>,
    }

    impl Reader {
        /// What is wanted of an object, and whether its shape was known.
        fn read(&mut self, text: &str) -> Result<(String, bool)> {
            let mut cursor = Cursor::new(text);
            let mut found = String::new();
            let known = self.shapes.follow(&mut cursor, |cursor, wanted| {
                match wanted {
                    Some(_) => found.push_str(cursor.raw()?),
                    None => found.clear(),
                }
                Ok(())
            });
            if known.is_none() {
                found.clear();
                let mut marks = self.shapes.marks(&mut cursor);
                cursor.object(|cursor, key| {
                    if key.raw != "o" {
                        return cursor.skip_marked(&mut marks);
                    }
                    let start = *cursor;
                    found.push_str(cursor.raw()?);
                    marks.note(&start, cursor, 'o');
                    Ok(())
                })?;
                self.shapes.learn(&cursor, marks, ());
            }
            cursor.end().map(|()| (found, known.is_some()))
        }

        /// Objects of which the first is new, the second too if it differs, and the third is known.
        fn learns(&mut self, texts: [&str; 3], wanted: [&str; 3]) {
            let read = texts.map(|text| self.read(text).expect("an object"));
            assert_eq!(read.each_ref().map(|(found, _)| &found[..]), wanted);
            assert_eq!([read[0].1, read[2].1], [false, true], "{texts:?}");
        }
    }

    const FIRST: &str = r#"{"a":1,"b":["x"],"o":3,"c":{"d":"y"}}"#;

    #[test]
    fn what_is_passed_unseen_may_be_another_value_later() {
        let others = [
            ("1", "2"),
            ("1", "17"),
            ("1", "\"1\""),
            ("[\"x\"]", "[\"x\",5]"),
            ("\"y\"", "\"yy\""),
            ("\"y\"", "null"),
            ("{\"d\":\"y\"}", "{\"e\":\"y\"}"),
            (":3,", ":{\"o\":4},"),
        ];
        for (own, other) in others {
            let given = FIRST.replace(own, other);
            let wanted = if own == ":3," { ["3", "{\"o\":4}", "{\"o\":4}"] } else { ["3"; 3] };
            Reader::default().learns([FIRST, &given, &given], wanted);
        }
    }

    #[test]
    fn other_objects_have_shapes_of_their_own() {
        let mut reader = Reader::default();
        let other = r#"{"o":[1],"a":1}"#;
        let read = [FIRST, other, FIRST, other, "{}", "{}"].map(|text| reader.read(text));
        let known = read.map(|found| found.expect("an object").1);
        assert_eq!(known, [false, false, true, true, false, true]);
    }

    #[test]
    fn what_is_no_json_has_no_shape() {
        let mut reader = Reader::default();
        assert!(reader.read(FIRST).is_ok());
        for bent in ["1,", "1", "\"y\"", "}", "\"d\"", ":3"].map(|part| FIRST.replacen(part, "", 1))
        {
            for _ in 0..3 {
                let alone = Reader::default().read(&bent).err();
                assert_eq!(reader.read(&bent).err(), alone, "{bent}");
            }
        }
        assert_eq!(reader.read(&FIRST.replace("3", "03")).err(), Some(No::Json));
        assert_eq!(reader.read(FIRST), Ok(("3".to_owned(), true)));
    }

    #[test]
    fn values_are_as_deep_as_they_were() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let mut reader = Reader::default();
        for depth in [1, 2, 90, 99, 100] {
            let given = FIRST.replace("\"y\"", &nested(depth));
            let alone = Reader::default().read(&given).map(|found| found.0);
            assert_eq!(reader.read(&given).map(|found| found.0), alone, "{depth}");
        }
    }

    #[test]
    fn where_hardly_any_shape_is_known_few_objects_are_compared() {
        let mut reader = Reader::default();
        let read = (0..1000).map(|number| reader.read(&format!("{{\"k{number}\":1}}")));
        assert!(read.into_iter().all(|found| found.is_ok()));
        assert!(reader.shapes.unknown < 100, "{}", reader.shapes.unknown);
        let later: Vec<_> = (0..200).map(|_| reader.read(FIRST).expect("an object").1).collect();
        assert!(later[199]);
    }
}

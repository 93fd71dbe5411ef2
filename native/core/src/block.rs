//! Lines to columns, one entry for each candidate.

use std::ops::Range;

use crate::identity::{digest, Digest};
use crate::json::Result;
use crate::questions::{Question, Questions};
use crate::reading::Named;

/// A group: what candidates must share to compete.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    pub key: Digest,
    /// The digests of its name, prompt and tools.
    pub question: [Digest; 3],
    /// The mark of the reference that was met in it; 0 where there was none.
    pub reference: u64,
    /// The task of its candidates that its name does not say, or `ABSENT`.
    pub task: Digest,
}

impl Group {
    /// The group with a name, prompt and tools.
    pub fn new(named: &Named, prompt: Digest, tools: Digest) -> Self {
        let name = named.group.as_bytes();
        let key = digest(&[b"group\0", &prompt, &tools, name]);
        let question = [digest(&[b"name\0", name]), prompt, tools];
        Group { key, question, reference: 0, task: named.task_digest() }
    }
}

/// What an index remembers of a candidate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Found {
    /// The number of its group among all questions that were found.
    pub group: u32,
    pub score: f64,
    pub index: i64,
    pub response: Digest,
    /// Whether turns before the model's first word belong to the prompt.
    pub moved: bool,
    /// Whether turns behind the model's last word were cut.
    pub cut: bool,
    /// Whether its prompt held the answer.
    pub held: bool,
    /// Whether it is the last text of a turn that has results of calls.
    pub rests: bool,
    /// What is the same in rows that should not occur twice; of the first candidate of a row.
    pub item: Option<Digest>,
}

/// Reads the rows of a format.
pub trait Rows {
    /// What a new question is read from.
    type Asked<'a>;

    /// Add the candidates of a row; `No` where Python must read it. If their group is not known yet,
    /// it is what is to be looked up.
    fn index<'a>(
        &mut self,
        line: &'a str,
        found: &mut Vec<Found>,
    ) -> Result<Option<Lookup<Self::Asked<'a>>>>;

    /// The group of a new question, and the number of calls in its prompt.
    fn group(&mut self, asked: &Self::Asked<'_>) -> Result<(Group, u32)>;

    /// The questions that it shares with readers in other threads.
    fn questions(&self) -> &Questions;

    /// Find a question, or add it.
    fn find_or_add(&mut self, lookup: &Lookup<Self::Asked<'_>>) -> Result<Question> {
        if let Some(known) = self.questions().find(&lookup.fingerprint) {
            return Ok(known);
        }
        let (group, calls) = self.group(&lookup.asked)?;
        Ok(self.questions().add(lookup.fingerprint, group, calls))
    }
}

/// A question that is to be looked up.
pub struct Lookup<A> {
    pub fingerprint: Digest,
    pub asked: A,
}

/// Consecutive candidates, and the groups that were not there before, once they are joined.
#[derive(Default)]
pub struct Columns {
    pub fresh: Vec<Group>,
    pub groups: Vec<u32>,
    /// The tasks of candidates that their groups do not name; none as long as no group has one.
    pub tasks: Vec<Digest>,
    pub scores: Vec<f64>,
    pub indexes: Vec<i64>,
    pub digests: Vec<u8>,
    pub offsets: Vec<u64>,
    pub lengths: Vec<u32>,
    /// The places of candidates among those of their rows.
    pub slots: Vec<u32>,
    /// The places of the lines among all that were given, from 0.
    pub lines: Vec<u32>,
    pub rows: usize,
    /// In how many rows turns before the model's first word were moved to the prompt.
    pub moved: usize,
    /// In how many rows turns behind the model's last word were cut.
    pub cut: usize,
    /// How many prompts held the answer.
    pub held: usize,
    /// How many answers are the last text of a turn that has results of calls.
    pub rests: usize,
    /// What rows have that should not occur twice.
    pub items: Vec<u8>,
}

/// A line that is to be read.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Its place among the lines that were given, from 0.
    pub place: usize,
    pub offset: u64,
    /// Nothing if it is a long one.
    pub bytes: Option<&'a [u8]>,
}

/// A line that Python must read.
pub struct HandedUp {
    pub place: usize,
    pub offset: u64,
    pub line: Option<Vec<u8>>,
}

/// The outcomes of consecutive lines.
pub enum Part {
    Columns(Box<Columns>),
    HandedUp(HandedUp),
}

/// Read lines. Their groups are numbered once they are joined.
pub fn scan<'a, R: Rows>(reader: &mut R, lines: impl Iterator<Item = Line<'a>>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut columns = Box::<Columns>::default();
    let mut batch = Batch {
        lines: Vec::with_capacity(MOST_LINES),
        found: Vec::with_capacity(MOST_LINES),
        lookups: Vec::with_capacity(MOST_LINES),
    };
    for line in lines {
        batch.read(reader, line);
        if batch.lines.len() == MOST_LINES {
            batch.settle(reader, &mut columns, &mut parts);
        }
    }
    batch.settle(reader, &mut columns, &mut parts);
    parts.push(Part::Columns(columns));
    parts
}

/// Number the groups of candidates, which follow those of all parts before.
pub fn join(parts: &mut [Part], questions: &Questions) {
    for part in parts {
        if let Part::Columns(columns) = part {
            questions.join(columns);
        }
    }
}

/// Lines that were read, and the questions that are then looked up together: in a large table each of
/// these waits for memory, and several at a time wait hardly longer than one.
struct Batch<'a, R: Rows> {
    /// Each with the places of its candidates, unless Python must read it.
    lines: Vec<(Line<'a>, Option<Range<usize>>)>,
    found: Vec<Found>,
    /// Each with the place of its line.
    lookups: Vec<(usize, Lookup<R::Asked<'a>>)>,
}

const MOST_LINES: usize = 256;

impl<'a, R: Rows> Batch<'a, R> {
    fn read(&mut self, reader: &mut R, line: Line<'a>) {
        let start = self.found.len();
        let text = line.bytes.and_then(|bytes| simdutf8::basic::from_utf8(bytes).ok());
        let read = text.and_then(|text| reader.index(text, &mut self.found).ok());
        if read.is_none() {
            self.found.truncate(start);
        }
        let candidates = read.as_ref().map(|_| start..self.found.len());
        if let Some(lookup) = read.flatten() {
            self.lookups.push((self.lines.len(), lookup));
        }
        self.lines.push((line, candidates));
    }

    /// Look up the questions, and give all candidates to the columns.
    fn settle(&mut self, reader: &mut R, columns: &mut Box<Columns>, parts: &mut Vec<Part>) {
        let asked = self.lookups.iter().map(|(_, lookup)| &lookup.fingerprint);
        let known = reader.questions().find_all(asked);
        for ((line, lookup), known) in self.lookups.drain(..).zip(known) {
            // One that is not known may be by now: other rows of the batch may have asked it.
            let known = known.map_or_else(|| reader.find_or_add(&lookup), Ok);
            let (_, candidates) = &mut self.lines[line];
            let Ok(Question { group, .. }) = known else {
                *candidates = None;
                continue;
            };
            for found in &mut self.found[candidates.clone().unwrap_or_default()] {
                found.group = group;
            }
        }
        for (line, candidates) in self.lines.drain(..) {
            if let Some(candidates) = candidates {
                columns.add(&self.found[candidates], &line);
            } else {
                parts.push(Part::Columns(std::mem::take(columns)));
                let Line { place, offset, bytes } = line;
                let line = bytes.map(<[u8]>::to_vec);
                parts.push(Part::HandedUp(HandedUp { place, offset, line }));
            }
        }
        self.found.clear();
    }
}

impl Columns {
    /// Add the candidates of a row.
    pub fn add(&mut self, found: &[Found], line: &Line) {
        let length = line.bytes.map_or(0, <[u8]>::len);
        self.rows += 1;
        for (slot, found) in found.iter().enumerate() {
            self.groups.push(found.group);
            self.scores.push(found.score);
            self.indexes.push(found.index);
            self.digests.extend_from_slice(&found.response);
            self.offsets.push(line.offset);
            self.lengths.push(length as u32);
            self.slots.push(slot as u32);
            self.lines.push(line.place as u32);
            self.moved += usize::from(found.moved);
            self.cut += usize::from(found.cut);
            self.held += usize::from(found.held);
            self.rests += usize::from(found.rests);
            self.items.extend(found.item.iter().flatten());
        }
    }
}

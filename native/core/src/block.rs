//! Lines to columns, one entry for each candidate.

use crate::identity::{digest, Digest};
use crate::json::Result;
use crate::questions::Questions;
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
    /// Add the candidates of a row; `No`, and none, where Python must read it.
    fn index(&mut self, line: &str, found: &mut Vec<Found>) -> Result<()>;

    /// The questions that it shares with readers in other threads.
    fn questions(&self) -> &Questions;
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

/// The outcomes of consecutive lines.
pub enum Segment {
    Columns(Box<Columns>),
    /// The place of a line that Python must read.
    HandedUp(usize),
}

/// Read lines of a file, which begin at these offsets. Longer ones than `longest` are handed up.
pub fn scan<'a>(
    reader: &mut impl Rows,
    lines: impl Iterator<Item = &'a [u8]>,
    offsets: &[u64],
    longest: usize,
) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut columns = Box::<Columns>::default();
    let mut found = Vec::new();
    for (place, (line, offset)) in lines.zip(offsets).enumerate() {
        let light = Some(line).filter(|line| line.len() <= longest);
        let text = light.and_then(|line| simdutf8::basic::from_utf8(line).ok());
        found.clear();
        if text.is_some_and(|text| reader.index(text, &mut found).is_ok()) {
            columns.add(&found, *offset, line.len(), place);
        } else {
            reader.questions().join(&mut columns);
            segments.push(Segment::Columns(std::mem::take(&mut columns)));
            segments.push(Segment::HandedUp(place));
        }
    }
    reader.questions().join(&mut columns);
    segments.push(Segment::Columns(columns));
    segments
}

impl Columns {
    /// Add the candidates of a row.
    pub fn add(&mut self, found: &[Found], offset: u64, length: usize, place: usize) {
        self.rows += 1;
        for (slot, found) in found.iter().enumerate() {
            self.groups.push(found.group);
            self.scores.push(found.score);
            self.indexes.push(found.index);
            self.digests.extend_from_slice(&found.response);
            self.offsets.push(offset);
            self.lengths.push(length as u32);
            self.slots.push(slot as u32);
            self.lines.push(place as u32);
            self.moved += usize::from(found.moved);
            self.cut += usize::from(found.cut);
            self.held += usize::from(found.held);
            self.rests += usize::from(found.rests);
            self.items.extend(found.item.iter().flatten());
        }
    }
}

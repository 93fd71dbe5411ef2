//! Lines to columns, one entry for each candidate.

use crate::nemo_gym::{Group, Reader};

/// Consecutive candidates, and the groups that the reader met among them first.
#[derive(Default)]
pub struct Columns {
    pub fresh: Vec<Group>,
    pub groups: Vec<u32>,
    pub scores: Vec<f64>,
    pub indexes: Vec<i64>,
    pub digests: Vec<u8>,
    pub offsets: Vec<u64>,
    pub lengths: Vec<u32>,
    /// The places of the lines among all that were given, from 0.
    pub lines: Vec<u32>,
    /// In how many rows turns before the model's first word were moved to the prompt.
    pub moved: usize,
    /// In how many rows turns behind the model's last word were cut.
    pub cut: usize,
}

/// What became of consecutive lines.
pub enum Segment {
    Columns(Columns),
    /// The place of a line that Python must read.
    HandedUp(usize),
}

/// Read consecutive lines of a file, which begin at an offset. Longer ones than `longest` are handed up.
pub fn scan<'a>(
    reader: &mut Reader,
    lines: impl Iterator<Item = &'a [u8]>,
    mut offset: u64,
    longest: usize,
) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut columns = Columns::default();
    for (place, line) in lines.enumerate() {
        if line.len() > longest || !columns.add(reader, line, offset, place) {
            columns.fresh = std::mem::take(&mut reader.fresh);
            segments.push(Segment::Columns(std::mem::take(&mut columns)));
            segments.push(Segment::HandedUp(place));
        }
        offset += line.len() as u64;
    }
    columns.fresh = std::mem::take(&mut reader.fresh);
    segments.push(Segment::Columns(columns));
    segments
}

impl Columns {
    /// Add the candidate of a line; false where Python must read it.
    fn add(&mut self, reader: &mut Reader, line: &[u8], offset: u64, place: usize) -> bool {
        let Ok(text) = simdutf8::basic::from_utf8(line) else { return false };
        let Ok(found) = reader.index(text) else { return false };
        self.groups.push(found.group);
        self.scores.push(found.row.score);
        self.indexes.push(found.row.index);
        self.digests.extend_from_slice(&found.response);
        self.offsets.push(offset);
        self.lengths.push(line.len() as u32);
        self.lines.push(place as u32);
        self.moved += usize::from(found.row.moved);
        self.cut += usize::from(found.row.cut);
        true
    }
}

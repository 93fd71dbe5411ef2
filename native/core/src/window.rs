//! Ranges of a file to columns. A range includes the lines that begin in it.

use std::io;
use std::ops::Range;

use crate::block::{Columns, Found, Rows};
use crate::questions::Questions;
use crate::source::{Buffer, Source};

/// How many bytes are first read after a range, for the end of its last line.
const TAIL: usize = 1 << 14;

/// The lines of a file.
pub struct Window<'a> {
    pub source: Source<'a>,
    /// Where they are: one begins at the start.
    pub lines: Range<u64>,
    /// Longer lines are handed up.
    pub longest: usize,
}

/// A line that Python must read.
pub struct HandedUp {
    /// Its place among the lines of its range, from 0.
    pub place: usize,
    pub offset: u64,
    /// Nothing if it is a long one.
    pub line: Option<Vec<u8>>,
}

/// The outcomes of consecutive lines.
pub enum Part {
    Columns(Box<Columns>),
    HandedUp(HandedUp),
}

/// The outcomes of all lines that begin in a range.
#[derive(Default)]
pub struct Scanned {
    pub lines: usize,
    pub parts: Vec<Part>,
}

impl Scanned {
    /// Number the groups of the candidates, which follow those of all ranges before.
    pub fn join(&mut self, questions: &Questions) {
        for part in &mut self.parts {
            if let Part::Columns(columns) = part {
                questions.join(columns);
            }
        }
    }
}

impl Window<'_> {
    /// Read the lines that begin in a range.
    pub fn scan(
        &self,
        reader: &mut impl Rows,
        range: Range<u64>,
        buffer: &mut Buffer,
    ) -> io::Result<Scanned> {
        let skipped = u64::from(range.start > self.lines.start);
        let from = range.start - skipped;
        buffer.clear();
        self.source.append(from..range.end.min(self.lines.end), buffer)?;
        let ours = buffer.bytes().len();
        let mut at = 0;
        if skipped > 0 {
            at = memchr::memchr(b'\n', buffer.bytes()).map_or(ours, |newline| newline + 1);
        }
        let mut scanned = Scanned::default();
        let mut columns = Box::<Columns>::default();
        let mut found = Vec::new();
        while at < ours {
            let offset = from + at as u64;
            let end = self.end_of_line(at, from, buffer)?;
            let light = end.filter(|end| end - at <= self.longest);
            let line = light.map(|end| &buffer.bytes()[at..end]);
            let place = scanned.lines;
            scanned.lines += 1;
            if line.is_some_and(|line| is_read(reader, line, &mut found)) {
                columns.add(&found, offset, line.map_or(0, <[u8]>::len), place);
            } else {
                scanned.parts.push(Part::Columns(std::mem::take(&mut columns)));
                let line = line.map(<[u8]>::to_vec);
                scanned.parts.push(Part::HandedUp(HandedUp { place, offset, line }));
            }
            match end {
                Some(end) => at = end,
                None => break, // no other line begins before the end of this one
            }
        }
        scanned.parts.push(Part::Columns(columns));
        Ok(scanned)
    }

    /// Where a line ends, for which more may be read; nothing if that is too far away.
    fn end_of_line(
        &self,
        start: usize,
        from: u64,
        buffer: &mut Buffer,
    ) -> io::Result<Option<usize>> {
        let (mut searched, mut more) = (start, TAIL);
        loop {
            if let Some(newline) = memchr::memchr(b'\n', &buffer.bytes()[searched..]) {
                return Ok(Some(searched + newline + 1));
            }
            searched = buffer.bytes().len();
            let next = from + searched as u64;
            if searched - start > self.longest {
                return Ok(None);
            }
            let last = self.lines.end.min(next + more as u64);
            self.source.append(next..last, buffer)?;
            if buffer.bytes().len() == searched {
                return Ok(Some(searched));
            }
            more *= 2;
        }
    }
}

fn is_read(reader: &mut impl Rows, line: &[u8], found: &mut Vec<Found>) -> bool {
    found.clear();
    simdutf8::basic::from_utf8(line).is_ok_and(|text| reader.index(text, found).is_ok())
}

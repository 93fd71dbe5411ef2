//! Ranges of a file to columns. A range includes the lines that begin in it.

use std::io;
use std::ops::Range;

use crate::block::{scan, Line, Part, Rows};
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

/// The outcomes of all lines that begin in a range.
#[derive(Default)]
pub struct Scanned {
    pub lines: usize,
    pub parts: Vec<Part>,
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
        self.complete(from, at, buffer)?;
        let bytes = buffer.bytes();
        let mut lines = 0;
        let each = std::iter::from_fn(|| {
            if at >= ours {
                return None;
            }
            let (start, place) = (at, lines);
            let newline = memchr::memchr(b'\n', &bytes[start..]);
            at = newline.map_or(bytes.len(), |newline| start + newline + 1);
            lines += 1;
            let line = Some(&bytes[start..at]).filter(|line| line.len() <= self.longest);
            Some(Line { place, offset: from + start as u64, bytes: line })
        });
        let parts = scan(reader, each);
        Ok(Scanned { lines, parts })
    }

    /// Read on to the end of the last line, of which the rest begins here at the earliest; or as far as
    /// shows that it is a long one.
    fn complete(&self, from: u64, first: usize, buffer: &mut Buffer) -> io::Result<()> {
        let mut searched = buffer.bytes().len();
        let rest = &buffer.bytes()[first..];
        let start = memchr::memrchr(b'\n', rest).map_or(first, |newline| first + newline + 1);
        let mut more = TAIL;
        while start < searched && searched - start <= self.longest {
            let next = from + searched as u64;
            self.source.append(next..self.lines.end.min(next + more as u64), buffer)?;
            let read = &buffer.bytes()[searched..];
            if read.is_empty() || memchr::memchr(b'\n', read).is_some() {
                break;
            }
            searched = buffer.bytes().len();
            more *= 2;
        }
        Ok(())
    }
}

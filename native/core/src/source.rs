//! Where lines are: a file, or bytes that are in memory.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

#[derive(Clone, Copy)]
pub enum Source<'a> {
    File(&'a File),
    Memory(&'a [u8]),
}

/// Bytes that were read. Its room is used again, without being emptied first.
#[derive(Default)]
pub struct Buffer {
    room: Vec<u8>,
    filled: usize,
}

impl Buffer {
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    pub fn bytes(&self) -> &[u8] {
        &self.room[..self.filled]
    }
}

impl Source<'_> {
    /// Append the bytes of a range, or fewer where the end comes first.
    pub fn append(&self, range: Range<u64>, buffer: &mut Buffer) -> io::Result<()> {
        let wanted = buffer.filled + range.end.saturating_sub(range.start) as usize;
        if buffer.room.len() < wanted {
            buffer.room.resize(wanted, 0);
        }
        let mut offset = range.start;
        while buffer.filled < wanted {
            let room = &mut buffer.room[buffer.filled..wanted];
            let read = match self {
                Source::Memory(bytes) => {
                    let start = usize::try_from(offset).unwrap_or(usize::MAX);
                    let found = bytes.get(start..).unwrap_or_default();
                    let count = room.len().min(found.len());
                    room[..count].copy_from_slice(&found[..count]);
                    Ok(count)
                }
                Source::File(file) => file.read_at(room, offset),
            };
            match read {
                Ok(0) => break,
                Ok(count) => {
                    buffer.filled += count;
                    offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

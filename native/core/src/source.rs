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

impl Source<'_> {
    /// Append the bytes of a range, or fewer where the end comes first.
    pub fn append(&self, range: Range<u64>, buffer: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Source::Memory(bytes) => {
                let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
                let end = place(range.end).min(bytes.len());
                buffer.extend_from_slice(bytes.get(place(range.start)..end).unwrap_or_default());
                Ok(())
            }
            Source::File(file) => {
                let mut filled = buffer.len();
                let wanted = filled + range.end.saturating_sub(range.start) as usize;
                buffer.resize(wanted, 0);
                let mut offset = range.start;
                while filled < wanted {
                    match file.read_at(&mut buffer[filled..], offset) {
                        Ok(0) => break,
                        Ok(count) => {
                            filled += count;
                            offset += count as u64;
                        }
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
                buffer.truncate(filled);
                Ok(())
            }
        }
    }
}

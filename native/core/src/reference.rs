//! References: the right answers of rows, against which their answers may have been scored.

use crate::chat::strip;
use crate::identity::digest;
use crate::json::{Cursor, Result};

/// The bits of a mark that say in which column the reference is.
const COLUMN: u32 = 8;

/// The reference of a row, as JSON.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// The code of its column. Of several references in a row, the one with the lowest code counts.
    pub column: u8,
    pub json: &'a str,
}

impl<'a> Reference<'a> {
    /// What a column holds, unless it holds nothing.
    pub fn read(cursor: &mut Cursor<'a>, column: u8) -> Result<Option<Self>> {
        let json = cursor.raw()?;
        let holds = holds_something(&mut Cursor::new(json))?;
        Ok(holds.then_some(Reference { column, json }))
    }

    /// This one or another one, whichever counts.
    pub fn or(self, other: Option<Self>) -> Self {
        other.filter(|other| other.column < self.column).unwrap_or(self)
    }

    /// A mark that is the same for the same reference in the same column.
    pub fn mark(&self) -> Result<u64> {
        let mut canonical = String::new();
        Cursor::new(self.json).canonical(&mut canonical)?;
        let digest = digest(&[b"reference\0", canonical.as_bytes()]);
        let high = digest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        Ok(high >> COLUMN << COLUMN | u64::from(self.column))
    }
}

/// Whether a value is neither empty nor a flag.
fn holds_something(cursor: &mut Cursor) -> Result<bool> {
    match cursor.peek() {
        b'"' => Ok(!strip(&cursor.string()?.text()).is_empty()),
        b'[' => {
            let mut holds = false;
            cursor.list(|item| {
                holds |= holds_something(item)?;
                Ok(())
            })?;
            Ok(holds)
        }
        b'{' => {
            let mut members = 0;
            cursor.object(|cursor, _| {
                members += 1;
                cursor.skip()
            })?;
            Ok(members > 0)
        }
        next => {
            cursor.skip()?;
            Ok(!matches!(next, b'n' | b't' | b'f'))
        }
    }
}

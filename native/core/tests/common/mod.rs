//! What several tests need.

use prefpairs_core::block::{Found, Line, Rows};
use prefpairs_core::json::Result;

/// Add the candidates of a row, with the number of their group.
pub fn index<R: Rows>(reader: &mut R, row: &str, found: &mut Vec<Found>) -> Result<()> {
    let before = found.len();
    if let Some(lookup) = reader.index(row, found)? {
        let group = reader.find_or_add(&lookup)?.group;
        found[before..].iter_mut().for_each(|found| found.group = group);
    }
    Ok(())
}

/// The only line of a file.
pub fn only(row: &str) -> Line<'_> {
    Line { place: 0, offset: 0, bytes: Some(row.as_bytes()) }
}

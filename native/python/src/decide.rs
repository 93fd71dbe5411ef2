//! Decisions about groups, from columns of Python.

use prefpairs_core::decide::{self, Bounds, Candidates, Decided, LEFT_OUT};
use prefpairs_core::identity::{Digest, ABSENT};
use pyo3::buffer::{PyBuffer, ReadOnlyCell};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::winners::{cells, digest_at, Cells, DIGEST};

/// The columns that decide, by reference.
#[derive(FromPyObject)]
pub struct Columns {
    #[pyo3(item)]
    scores: PyBuffer<f64>,
    #[pyo3(item)]
    digests: PyBuffer<u8>,
    #[pyo3(item)]
    indexes: PyBuffer<i64>,
    #[pyo3(item)]
    by_group: (PyBuffer<u32>, PyBuffer<u32>),
}

struct Read<'a> {
    scores: Cells<'a, f64>,
    digests: Cells<'a, u8>,
    indexes: Cells<'a, i64>,
}

impl Candidates for Read<'_> {
    fn score(&self, number: u32) -> f64 {
        self.scores[number as usize].get() + 0.0 // both zeros are one score
    }

    fn index(&self, number: u32) -> i64 {
        self.indexes[number as usize].get()
    }

    fn response(&self, number: u32) -> Digest {
        digest_at(self.digests, DIGEST * number as usize).unwrap_or(ABSENT)
    }
}

/// The pairs of the first groups, about so many that are wanted at a time: for consecutive groups the
/// chosen and the rejected candidates, how many groups these are, why some of them have no pair, and
/// how many pairs bounds left out; between them the numbers of groups about which Python must decide.
/// And how many groups were looked at.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // they are one request
pub fn pairs_of<'py>(
    py: Python<'py>,
    strategy: &str,
    columns: Columns,
    groups: PyBuffer<u32>,
    wanted: usize,
    least_chosen: f64,
    least_gap: f64,
    largest_gap: f64,
    most_pairs: Option<usize>,
) -> PyResult<(usize, Bound<'py, PyList>)> {
    let most_pairs = most_pairs.unwrap_or(usize::MAX);
    let bounds = Bounds { least_chosen, least_gap, largest_gap, most_pairs };
    let (numbers, starts) = (cells(py, &columns.by_group.0)?, cells(py, &columns.by_group.1)?);
    let read = Read {
        scores: cells(py, &columns.scores)?,
        digests: cells(py, &columns.digests)?,
        indexes: cells(py, &columns.indexes)?,
    };
    let decide = match strategy {
        "best-vs-worst" => decide::best_vs_worst,
        "exhaustive" => decide::exhaustive,
        other => return Err(PyValueError::new_err(format!("{other} is decided by Python"))),
    };
    let found = PyList::empty(py);
    let (mut part, mut pairs, mut done) = (Part::default(), 0, 0);
    let mut members = Vec::new();
    for group in cells(py, &groups)?.iter().map(ReadOnlyCell::get) {
        if pairs >= wanted {
            break;
        }
        done += 1;
        let at = group as usize;
        let range = starts.get(at).zip(starts.get(at + 1));
        let range = range.map(|(start, end)| start.get() as usize..end.get() as usize);
        let given = range.and_then(|range| numbers.get(range));
        let given = given.ok_or_else(|| PyValueError::new_err("there is no such group"))?;
        members.clear();
        members.extend(given.iter().map(ReadOnlyCell::get));
        if let Ok(decided) = decide(&read, &mut members, &bounds) {
            pairs += decided.pairs.len();
            part.add(decided);
        } else {
            std::mem::take(&mut part).append_to(&found)?;
            found.append(group)?;
        }
    }
    part.append_to(&found)?;
    Ok((done, found))
}

/// Consecutive groups.
#[derive(Default)]
struct Part {
    chosen: Vec<u8>,
    rejected: Vec<u8>,
    groups: usize,
    /// In the order in which they came first.
    without: Vec<(&'static str, usize)>,
    left_out: Vec<(&'static str, usize)>,
}

impl Part {
    fn add(&mut self, decided: Decided) {
        self.groups += 1;
        for (better, worse) in decided.pairs {
            self.chosen.extend(better.to_ne_bytes());
            self.rejected.extend(worse.to_ne_bytes());
        }
        if let Some(reason) = decided.no_pair {
            count(&mut self.without, reason, 1);
        }
        for (bound, times) in LEFT_OUT.into_iter().zip(decided.left_out) {
            if times > 0 {
                count(&mut self.left_out, bound, times);
            }
        }
    }

    fn append_to(self, found: &Bound<PyList>) -> PyResult<()> {
        let py = found.py();
        let (chosen, rejected) = (PyBytes::new(py, &self.chosen), PyBytes::new(py, &self.rejected));
        found.append((chosen, rejected, self.groups, self.without, self.left_out))
    }
}

fn count(counts: &mut Vec<(&'static str, usize)>, reason: &'static str, times: usize) {
    match counts.iter_mut().find(|known| known.0 == reason) {
        Some(known) => known.1 += times,
        None => counts.push((reason, times)),
    }
}

/// Fill in all candidates, group by group, and where each group starts (u32), which is zero before.
#[pyfunction]
pub fn by_group(
    py: Python,
    group_of: PyBuffer<u32>,
    numbers: PyBuffer<u32>,
    starts: PyBuffer<u32>,
) -> PyResult<()> {
    let given = cells(py, &group_of)?;
    let read_only = || PyValueError::new_err("a column cannot be written to");
    let numbers = numbers.as_mut_slice(py).ok_or_else(read_only)?;
    let starts = starts.as_mut_slice(py).ok_or_else(read_only)?;
    let groups = starts.len().saturating_sub(1);
    if given.len() != numbers.len() || given.iter().any(|group| group.get() as usize >= groups) {
        return Err(PyValueError::new_err("there is no such group, or no room for all candidates"));
    }
    decide::by_group(given.iter().map(ReadOnlyCell::get), numbers, starts);
    Ok(())
}

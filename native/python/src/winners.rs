//! From columns of Python to pairs, and from their lines to Python.

use std::collections::HashMap;

use prefpairs_core::identity::{Digest, ABSENT};
use prefpairs_core::pipeline::Pipeline;
use prefpairs_core::source::Source;
use prefpairs_core::winners::{PairWriter, Place, Segment, Winners};
use pyo3::buffer::{Element, PyBuffer, ReadOnlyCell};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::index::{failed, Opened};
use crate::packed;

pub const DIGEST: usize = 16;
const QUESTION: usize = 3 * DIGEST;
/// Of a row that was just read, another candidate is taken to be such a part.
const OF_SAME_ROW: u64 = 16;

/// The columns of candidates, by reference.
#[derive(FromPyObject)]
pub struct Columns {
    #[pyo3(item)]
    scores: PyBuffer<f64>,
    #[pyo3(item)]
    digests: PyBuffer<u8>,
    #[pyo3(item)]
    offsets: PyBuffer<u64>,
    #[pyo3(item)]
    lengths: PyBuffer<u32>,
    #[pyo3(item)]
    slots: Option<PyBuffer<u32>>,
    #[pyo3(item)]
    lines: PyBuffer<u32>,
    #[pyo3(item)]
    groups: PyBuffer<u32>,
    #[pyo3(item)]
    questions: PyBuffer<u8>,
    #[pyo3(item)]
    files: Vec<u32>,
    #[pyo3(item)]
    file_starts: Vec<u32>,
}

/// Pairs that are about to be made.
#[derive(Default)]
struct Batch {
    sources: Vec<Opened>,
    names: Vec<String>,
    pairs: Vec<(Place, Place)>,
}

pub type Cells<'a, T> = &'a [ReadOnlyCell<T>];

pub fn cells<'a, T: Element>(py: Python<'a>, buffer: &'a PyBuffer<T>) -> PyResult<Cells<'a, T>> {
    buffer.as_slice(py).ok_or_else(|| PyValueError::new_err("a column is not contiguous"))
}

/// The first pairs whose candidates take about `size` bytes, at least one.
fn gather(
    py: Python,
    [chosen, rejected]: [PyBuffer<u32>; 2],
    columns: &Columns,
    open: &Bound<PyAny>,
    longest: u32,
    size: u64,
) -> PyResult<Batch> {
    let mut gathering = Gathering {
        scores: cells(py, &columns.scores)?,
        digests: cells(py, &columns.digests)?,
        offsets: cells(py, &columns.offsets)?,
        lengths: cells(py, &columns.lengths)?,
        slots: columns.slots.as_ref().map_or(Ok(&[][..]), |slots| cells(py, slots))?,
        lines: cells(py, &columns.lines)?,
        groups: cells(py, &columns.groups)?,
        questions: cells(py, &columns.questions)?,
        files: &columns.files,
        file_starts: &columns.file_starts,
        open,
        longest,
        sources: HashMap::new(),
        batch: Batch::default(),
    };
    let (mut taken, mut last) = (0, (usize::MAX, 0));
    for (better, worse) in cells(py, &chosen)?.iter().zip(cells(py, &rejected)?) {
        if taken > size {
            break;
        }
        let pair = (gathering.place(better.get())?, gathering.place(worse.get())?);
        for place in [pair.0, pair.1] {
            let row = (place.source, place.offset);
            let share = if row == last { OF_SAME_ROW } else { 1 };
            taken += u64::from(place.length) / share;
            last = row;
        }
        gathering.batch.pairs.push(pair);
    }
    Ok(gathering.batch)
}

struct Gathering<'a> {
    scores: Cells<'a, f64>,
    digests: Cells<'a, u8>,
    offsets: Cells<'a, u64>,
    lengths: Cells<'a, u32>,
    slots: Cells<'a, u32>,
    lines: Cells<'a, u32>,
    groups: Cells<'a, u32>,
    questions: Cells<'a, u8>,
    files: &'a [u32],
    file_starts: &'a [u32],
    open: &'a Bound<'a, PyAny>,
    longest: u32,
    /// The source of each file that was asked for.
    sources: HashMap<u32, usize>,
    batch: Batch,
}

impl Gathering<'_> {
    fn place(&mut self, number: u32) -> PyResult<Place> {
        let at = number as usize;
        let out_of_range = || PyValueError::new_err(format!("there is no candidate {number}"));
        let (Some(score), Some(offset), Some(length), Some(line), Some(group)) = (
            self.scores.get(at),
            self.offsets.get(at),
            self.lengths.get(at),
            self.lines.get(at),
            self.groups.get(at),
        ) else {
            return Err(out_of_range());
        };
        let response = digest_at(self.digests, DIGEST * at).ok_or_else(out_of_range)?;
        let start = QUESTION * group.get() as usize;
        let mut question = [ABSENT; 3];
        for (place, part) in question.iter_mut().enumerate() {
            *part = digest_at(self.questions, start + DIGEST * place).ok_or_else(out_of_range)?;
        }
        let length = length.get();
        let slot = self.slots.get(at).map_or(0, ReadOnlyCell::get);
        let source = if length > self.longest { usize::MAX } else { self.source(number)? };
        Ok(Place {
            number,
            source,
            offset: offset.get(),
            length,
            line: line.get(),
            slot,
            score: score.get(),
            response,
            question,
        })
    }

    /// The source that a candidate is in.
    fn source(&mut self, number: u32) -> PyResult<usize> {
        let at = self.file_starts.partition_point(|start| *start <= number);
        let Some(file) = at.checked_sub(1).and_then(|at| self.files.get(at)) else {
            return Ok(usize::MAX);
        };
        if let Some(known) = self.sources.get(file) {
            return Ok(*known);
        }
        let given = self.open.call1((*file,))?;
        let mut source = usize::MAX;
        if !given.is_none() {
            let (opened, name): (Opened, String) = given.extract()?;
            source = self.batch.sources.len();
            self.batch.sources.push(opened);
            self.batch.names.push(name);
        }
        self.sources.insert(*file, source);
        Ok(source)
    }
}

pub fn digest_at(cells: Cells<u8>, start: usize) -> Option<Digest> {
    let cells = cells.get(start..start + DIGEST)?;
    Some(std::array::from_fn(|place| cells[place].get()))
}

impl Batch {
    /// Make the pairs.
    fn write<R: Winners>(&self, writer: &mut PairWriter<R>) -> Vec<Segment> {
        let sources: Vec<Source> = self.sources.iter().map(Opened::source).collect();
        writer.write(&sources, &self.names, &self.pairs)
    }
}

/// Makes pairs, batch by batch.
#[pyclass]
pub struct PairMaker {
    batches: Box<dyn Batches>,
}

/// Batches of pairs that are made in several threads.
trait Batches: Iterator<Item = Result<Vec<Segment>, String>> + Send + Sync {
    fn begin(&mut self, batch: Batch);
    fn waiting(&self) -> usize;
}

impl<R: Winners + Sync + 'static> Batches for Pipeline<PairWriter<R>, Batch, Vec<Segment>> {
    fn begin(&mut self, batch: Batch) {
        Pipeline::begin(self, batch);
    }

    fn waiting(&self) -> usize {
        Pipeline::waiting(self)
    }
}

impl PairMaker {
    /// Each thread has a reader of its own.
    pub fn new<R: Winners + Sync + 'static>(threads: usize, reader: impl Fn() -> R) -> Self {
        let writer = || PairWriter::new(reader());
        let others = (1..threads).map(|_| writer()).collect();
        let work = |writer: &mut PairWriter<R>, batch: Batch| batch.write(writer);
        PairMaker { batches: Box::new(Pipeline::new(writer(), others, work)) }
    }
}

#[pymethods]
impl PairMaker {
    /// Begin to make the first pairs; how many these are.
    #[allow(clippy::too_many_arguments)] // they are one request
    fn begin(
        &mut self,
        py: Python,
        chosen: PyBuffer<u32>,
        rejected: PyBuffer<u32>,
        columns: Columns,
        open: Bound<PyAny>,
        longest: u32,
        size: u64,
    ) -> PyResult<usize> {
        let batch = gather(py, [chosen, rejected], &columns, &open, longest, size)?;
        let pairs = batch.pairs.len();
        self.batches.begin(batch);
        Ok(pairs)
    }

    /// What became of the oldest batches, all but so many.
    fn made<'py>(&mut self, py: Python<'py>, but: usize) -> PyResult<Bound<'py, PyList>> {
        let found = PyList::empty(py);
        while self.batches.waiting() > but {
            let made = py.detach(|| self.batches.next());
            append_segments(&found, made.transpose().map_err(failed)?.unwrap_or_default())?;
        }
        Ok(found)
    }
}

/// Append the candidates of pairs that Python must make, and between them what was written.
fn append_segments(found: &Bound<PyList>, segments: Vec<Segment>) -> PyResult<()> {
    let py = found.py();
    for segment in segments {
        match segment {
            Segment::HandedUp([chosen, rejected]) => found.append((chosen, rejected))?,
            Segment::Written(written) if written.gaps.is_empty() => {}
            Segment::Written(written) => found.append(PyTuple::new(
                py,
                [
                    PyBytes::new(py, &written.lines),
                    packed(py, &written.gaps, f64::to_ne_bytes)?,
                    packed(py, &written.chosen_scores, f64::to_ne_bytes)?,
                    packed(py, &written.rejected_scores, f64::to_ne_bytes)?,
                ],
            )?)?,
        }
    }
    Ok(())
}

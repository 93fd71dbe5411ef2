//! Ranges of files to columns, in several threads.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use prefpairs_core::block::{join, Part, Rows};
use prefpairs_core::pipeline::Pipeline;
use prefpairs_core::questions::Questions;
use prefpairs_core::source::{Buffer, Source};
use prefpairs_core::window::{Scanned, Window};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};

use crate::columns_of;

/// How many results for each thread wait to be taken, or are worked on.
const WAITING: usize = 2;

/// A file that the core reads, independent of the descriptor with which it was opened.
#[pyclass(frozen)]
pub struct OpenFile {
    file: Arc<File>,
}

#[pymethods]
impl OpenFile {
    #[new]
    fn new(descriptor: u32) -> PyResult<Self> {
        let file = Arc::new(File::open(format!("/dev/fd/{descriptor}"))?);
        Ok(OpenFile { file })
    }
}

/// An open file, or all the bytes of one.
pub enum Opened {
    File(Arc<File>),
    Memory(PyBackedBytes),
}

impl Opened {
    pub fn source(&self) -> Source<'_> {
        match self {
            Opened::File(file) => Source::File(file),
            Opened::Memory(bytes) => Source::Memory(bytes),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Opened {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<OpenFile>() {
            Ok(opened) => Ok(Opened::File(opened.get().file.clone())),
            Err(_) => Ok(Opened::Memory(given.extract()?)),
        }
    }
}

/// What a panic said, as Python's error.
pub fn failed(told: String) -> PyErr {
    PyRuntimeError::new_err(format!("the native core failed: {told}"))
}

/// A reader of rows, and the bytes that it reads them from.
pub struct Worker<R> {
    reader: R,
    buffer: Buffer,
}

/// Workers that wait for the next file: they know the shapes of rows, and have room for bytes.
pub type Idle<R> = Arc<Mutex<Vec<Worker<R>>>>;

/// A worker that waits again when it is dropped.
struct Lent<R> {
    worker: Option<Worker<R>>,
    idle: Idle<R>,
}

impl<R> Lent<R> {
    fn new(idle: &Idle<R>, reader: impl FnOnce() -> R) -> Self {
        let waiting = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let worker =
            waiting.unwrap_or_else(|| Worker { reader: reader(), buffer: Buffer::default() });
        Lent { worker: Some(worker), idle: idle.clone() }
    }
}

impl<R> Drop for Lent<R> {
    fn drop(&mut self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).extend(self.worker.take());
    }
}

/// What is in the lines of a file, window by window.
#[pyclass]
pub struct Windows {
    next: Box<dyn FnMut() -> Option<Result<io::Result<Scanned>, String>> + Send + Sync>,
}

impl Windows {
    /// The lines that begin in ranges of a size, read by a reader of each thread.
    #[allow(clippy::too_many_arguments)] // they are one request
    pub fn new<R: Rows + Send + Sync + 'static>(
        opened: Opened,
        lines: Range<u64>,
        size: u64,
        longest: usize,
        threads: usize,
        idle: &Idle<R>,
        questions: Questions,
        reader: impl Fn() -> R,
    ) -> Self {
        let own = Lent::new(idle, &reader);
        let others = (1..threads).map(|_| Lent::new(idle, &reader)).collect();
        let mut starts = lines.clone().step_by(size.max(1) as usize);
        let mut pipeline = Pipeline::new(own, others, move |lent: &mut Lent<R>, start: u64| {
            let range = start..lines.end.min(start.saturating_add(size));
            let window = Window { source: opened.source(), lines: lines.clone(), longest };
            let Some(worker) = &mut lent.worker else { return Ok(Scanned::default()) };
            window.scan(&mut worker.reader, range, &mut worker.buffer)
        });
        let next = move || {
            while pipeline.waiting() < WAITING * threads {
                let Some(start) = starts.next() else { break };
                pipeline.begin(start);
            }
            let mut scanned = pipeline.next()?;
            if let Ok(Ok(scanned)) = &mut scanned {
                join(&mut scanned.parts, &questions);
            }
            Some(scanned)
        };
        Windows { next: Box::new(next) }
    }
}

#[pymethods]
impl Windows {
    fn __iter__(own: PyRef<'_, Self>) -> PyRef<'_, Self> {
        own
    }

    /// The number of lines of the next window, and their outcomes.
    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(usize, Bound<'py, PyList>)>> {
        let scanned = py.detach(|| (self.next)()).transpose().map_err(failed)?;
        let Some(scanned) = scanned.transpose()? else { return Ok(None) };
        Ok(Some((scanned.lines, parts_of(py, scanned)?)))
    }
}

fn parts_of(py: Python, scanned: Scanned) -> PyResult<Bound<PyList>> {
    let found = PyList::empty(py);
    for part in scanned.parts {
        match part {
            Part::HandedUp(line) => {
                let bytes = line.line.map(|bytes| PyBytes::new(py, &bytes));
                found.append((line.place, line.offset, bytes))?;
            }
            Part::Columns(columns) if columns.scores.is_empty() => {}
            Part::Columns(columns) => found.append(columns_of(py, &columns)?)?,
        }
    }
    Ok(found)
}

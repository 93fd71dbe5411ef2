//! Ranges of files to columns, in several threads.

use std::fs::File;
use std::io;
use std::sync::Arc;

use prefpairs_core::block::Rows;
use prefpairs_core::panics::caught;
use prefpairs_core::source::{Buffer, Source};
use prefpairs_core::window::{Part, Scanned, Window};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};

use crate::columns_of;

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

/// Do work in as many threads as there are workers, each with its own part of it.
pub fn in_threads<W: Send, P: Send, T: Send>(
    workers: &mut [W],
    parts: Vec<P>,
    work: impl Fn(&mut W, P) -> T + Sync,
) -> PyResult<Vec<T>> {
    let work = &work;
    let jobs = workers.iter_mut().zip(parts);
    let done: Result<Vec<T>, String> = if jobs.len() == 1 {
        jobs.map(|(worker, part)| caught(|| work(worker, part))).collect()
    } else {
        std::thread::scope(|scope| {
            let threads: Vec<_> = jobs
                .map(|(worker, part)| scope.spawn(move || caught(|| work(worker, part))))
                .collect();
            let ended = threads.into_iter().map(|thread| thread.join());
            ended.map(|found| found.unwrap_or_else(|_| Err("a thread ended".to_owned()))).collect()
        })
    };
    done.map_err(failed)
}

/// A reader of rows, and the bytes that it reads them from.
pub struct Worker<R> {
    reader: R,
    buffer: Buffer,
}

/// Read the lines that begin in several ranges of a size, one after the other.
///
/// For each of them the number of lines and their outcomes; the first reader reads the first.
#[allow(clippy::too_many_arguments)] // they are one request
pub fn index<'py, R: Rows + Send>(
    py: Python<'py>,
    workers: &mut Vec<Worker<R>>,
    opened: Opened,
    (first, last): (u64, u64),
    start: u64,
    size: u64,
    longest: usize,
    threads: usize,
    reader: impl Fn() -> R,
) -> PyResult<Bound<'py, PyList>> {
    while workers.len() < threads.max(1) {
        workers.push(Worker { reader: reader(), buffer: Buffer::default() });
    }
    let window = Window { source: opened.source(), lines: first..last, longest };
    let starts = (0..threads.max(1) as u64).map(|place| start.saturating_add(place * size));
    let ranges: Vec<_> = starts
        .filter(|start| *start < last)
        .map(|start| start..last.min(start.saturating_add(size)))
        .collect();
    let blocks = py.detach(|| {
        in_threads(workers, ranges, |worker, range| {
            window.scan(&mut worker.reader, range, &mut worker.buffer)
        })
    })?;
    let blocks: Vec<Scanned> = blocks.into_iter().collect::<io::Result<_>>()?;
    let found = PyList::empty(py);
    for block in blocks {
        found.append((block.lines, parts_of(py, block)?))?;
    }
    Ok(found)
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

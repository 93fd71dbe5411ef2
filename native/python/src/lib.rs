//! What Python sees of the native core: lines of rollouts in, columns, messages and pairs out.
#![forbid(unsafe_code)]

mod decide;
mod digest_table;
mod index;
mod reading;
mod winners;

use prefpairs_core::block::{join, scan, Columns, Group, Line, Part, Rows};
use prefpairs_core::candidates;
use prefpairs_core::chat::{Chat, Message};
use prefpairs_core::generic;
use prefpairs_core::identity::{Digest, ABSENT};
use prefpairs_core::nat;
use prefpairs_core::nemo_gym::{Reader, Whole};
use prefpairs_core::numbers::NO_INDEX;
use prefpairs_core::one_answer;
use prefpairs_core::pairs;
use prefpairs_core::panics::caught;
use prefpairs_core::several_answers;
use pyo3::buffer::{PyBuffer, ReadOnlyCell};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::index::{failed, Idle, OpenFile, Opened, Windows};
use crate::reading::Given;
use crate::winners::PairMaker;

/// A class that reads rows of a format; for further threads it makes readers like its own. What else
/// it can do follows its constructor.
macro_rules! reader_class {
    ($name:ident, $reader:ty, $($own:item),+) => {
        #[pyclass]
        struct $name {
            reader: $reader,
            idle: Idle<$reader>,
        }

        #[pymethods]
        impl $name {
            $($own)*

            fn index<'py>(
                &mut self,
                py: Python<'py>,
                lines: Vec<PyBackedBytes>,
                offsets: Vec<u64>,
                longest: usize,
            ) -> PyResult<Bound<'py, PyList>> {
                index_rows(py, &mut self.reader, &lines, &offsets, longest)
            }

            #[allow(clippy::too_many_arguments)] // they are one request
            fn index_file(
                &self,
                opened: Opened,
                lines: (u64, u64),
                size: u64,
                longest: usize,
                threads: usize,
            ) -> Windows {
                let reader = || <$reader>::like(&self.reader);
                let questions = self.reader.questions().clone();
                let (lines, idle) = (lines.0..lines.1, &self.idle);
                Windows::new(opened, lines, size, longest, threads, idle, questions, reader)
            }

            fn pair_maker(&self, threads: usize) -> PairMaker {
                PairMaker::new(threads, || <$reader>::like(&self.reader))
            }
        }
    };
}

reader_class!(
    NemoGym,
    Reader,
    #[new]
    fn new(reading: Given) -> Self {
        NemoGym { reader: Reader::new(reading.into()), idle: Idle::default() }
    },
    /// What a row holds; nothing where Python must read it.
    fn read<'py>(&mut self, py: Python<'py>, line: &[u8]) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let reader = &mut self.reader;
        match sound(|| reader.whole(std::str::from_utf8(line).ok()?).ok())? {
            None => Ok(None),
            Some(whole) => row_of(py, &whole, &self.reader.answer).map(Some),
        }
    }
);

reader_class!(
    Candidates,
    one_answer::Reader<candidates::Candidates>,
    #[new]
    fn new(reading: Given) -> Self {
        let reader = one_answer::Reader::new(candidates::Candidates, reading.into());
        Candidates { reader, idle: Idle::default() }
    }
);

reader_class!(
    Generic,
    one_answer::Reader<generic::Columns>,
    /// The columns that matter, each with what it may hold.
    #[new]
    fn new(
        reading: Given,
        columns: Vec<(String, String)>,
        judged: bool,
        narrow: bool,
        of_chats: bool,
    ) -> PyResult<Self> {
        let columns = known_columns(columns, generic::MayBe::named)?;
        let shape = generic::Columns::new(columns.into_iter(), judged, narrow, of_chats);
        let reader = one_answer::Reader::new(shape, reading.into());
        Ok(Generic { reader, idle: Idle::default() })
    }
);

reader_class!(
    SeveralAnswers,
    several_answers::Reader,
    /// The columns of rows and of the objects in their lists that matter, with what they may hold.
    #[allow(clippy::too_many_arguments)] // they are one request
    #[new]
    fn new(
        reading: Given,
        of_row: Vec<(String, String)>,
        of_item: Vec<(String, String)>,
        judged: bool,
        of_chats: bool,
        drops_marked: bool,
    ) -> PyResult<Self> {
        let of_row = known_columns(of_row, several_answers::Holds::named)?.into_iter();
        let of_item = known_columns(of_item, generic::MayBe::named)?.into_iter();
        let columns =
            several_answers::Columns::new(of_row, of_item, judged, of_chats, drops_marked);
        let reader = several_answers::Reader::new(columns, reading.into());
        Ok(SeveralAnswers { reader, idle: Idle::default() })
    }
);

reader_class!(
    Nat,
    nat::Reader,
    #[new]
    fn new(reading: Given, step_name: &str) -> Self {
        Nat { reader: nat::Reader::new(step_name, reading.into()), idle: Idle::default() }
    }
);

/// Columns with what each of them may hold.
fn known_columns<T>(
    columns: Vec<(String, String)>,
    named: impl Fn(&str) -> Option<T>,
) -> PyResult<Vec<(String, T)>> {
    let known = |(name, may_be): (String, String)| match named(&may_be) {
        Some(may_be) => Ok((name, may_be)),
        None => Err(PyValueError::new_err(format!("a column cannot be {may_be}"))),
    };
    columns.into_iter().map(known).collect()
}

/// Columns of lines, and between them the places of lines that Python must read.
fn index_rows<'py, R: Rows + Send>(
    py: Python<'py>,
    reader: &mut R,
    lines: &[PyBackedBytes],
    offsets: &[u64],
    longest: usize,
) -> PyResult<Bound<'py, PyList>> {
    let given = || {
        lines.iter().zip(offsets).enumerate().map(|(place, (line, offset))| Line {
            place,
            offset: *offset,
            bytes: Some(&line[..]).filter(|line| line.len() <= longest),
        })
    };
    let scanned = || {
        let mut parts = scan(reader, given());
        join(&mut parts, reader.questions());
        parts
    };
    let parts = py.detach(|| sound(scanned))?;
    let found = PyList::empty(py);
    for part in parts {
        match part {
            Part::HandedUp(line) => found.append(line.place)?,
            Part::Columns(columns) if columns.scores.is_empty() => {}
            Part::Columns(columns) => found.append(columns_of(py, &columns)?)?,
        }
    }
    Ok(found)
}

/// Reads pairs.
#[pyclass]
#[derive(Default)]
struct Pairs {
    reader: pairs::Reader,
}

#[pymethods]
impl Pairs {
    #[new]
    fn new() -> Self {
        Pairs::default()
    }

    /// What stages see of the pairs of lines, column by column. First how each line was read:
    /// not, so that Python must read it; read; or read, and Python would write the line with these
    /// very bytes.
    fn index<'py>(
        &mut self,
        py: Python<'py>,
        lines: Vec<PyBackedBytes>,
        longest: usize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let reader = &mut self.reader;
        let mut read = |line: &PyBackedBytes| reader.read_light(line, longest);
        let pairs: Vec<Option<pairs::Pair>> =
            py.detach(|| sound(|| lines.iter().map(&mut read).collect()))?;
        let known =
            |pair: &Option<pairs::Pair>| pair.map_or(0, |pair| 1 + u8::from(pair.as_written));
        let numbers = |number: fn(&pairs::Pair) -> Option<f64>| {
            let of =
                |pair: &Option<pairs::Pair>| pair.as_ref().and_then(number).unwrap_or(f64::NAN);
            packed(py, &pairs.iter().map(of).collect::<Vec<_>>(), f64::to_ne_bytes)
        };
        let digests = |digest: fn(&pairs::Pair) -> Digest| {
            let of = |pair: &Option<pairs::Pair>| pair.as_ref().map_or(ABSENT, digest);
            PyBytes::new(py, pairs.iter().map(of).collect::<Vec<_>>().as_flattened())
        };
        PyTuple::new(
            py,
            [
                PyBytes::new(py, &pairs.iter().map(known).collect::<Vec<u8>>()),
                numbers(|pair| pair.gap)?,
                numbers(|pair| pair.chosen_score)?,
                numbers(|pair| pair.rejected_score)?,
                digests(|pair| pair.id),
                digests(|pair| pair.prompt),
                digests(|pair| pair.tools),
                digests(|pair| pair.chosen),
                digests(|pair| pair.rejected),
                digests(|pair| pair.group),
                digests(|pair| pair.other_prompt),
            ],
        )
    }
}

/// The result of work; a panic in it is a RuntimeError.
fn sound<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    caught(work).map_err(failed)
}

fn columns_of<'py>(py: Python<'py>, columns: &Columns) -> PyResult<Bound<'py, PyTuple>> {
    let several = columns.slots.iter().any(|slot| *slot > 0);
    let slots = if several { &columns.slots[..] } else { &[] }; // none: each is the only one
    let keys: Vec<u8> = columns.fresh.iter().flat_map(|group| group.key).collect();
    let questions: Vec<u8> =
        columns.fresh.iter().flat_map(|group| group.question).flatten().collect();
    let marked = columns.fresh.iter().any(|group| group.reference != 0);
    let fresh = if marked { &columns.fresh[..] } else { &[] };
    let references: Vec<u64> = fresh.iter().flat_map(|group| [group.reference, 0]).collect();
    let task = |group: &Group| group.task.first_chunk().map_or(0, |mark| u64::from_be_bytes(*mark));
    let named = if columns.tasks.is_empty() { &[] } else { &columns.fresh[..] };
    let task_marks: Vec<u64> = named.iter().flat_map(|group| [task(group), 0]).collect();
    let found = [
        packed(py, &columns.groups, u32::to_ne_bytes)?,
        PyBytes::new(py, &keys),
        PyBytes::new(py, &questions),
        packed(py, &columns.scores, f64::to_ne_bytes)?,
        PyBytes::new(py, &columns.digests),
        packed(py, &columns.indexes, i64::to_ne_bytes)?,
        packed(py, &columns.offsets, u64::to_ne_bytes)?,
        packed(py, &columns.lengths, u32::to_ne_bytes)?,
        packed(py, slots, u32::to_ne_bytes)?,
        packed(py, &columns.lines, u32::to_ne_bytes)?,
        packed(py, &references, u64::to_ne_bytes)?,
        packed(py, &task_marks, u64::to_ne_bytes)?,
        PyBytes::new(py, columns.tasks.as_flattened()),
    ];
    let noticed = PyDict::new(py);
    for (reason, times) in [
        ("leading_turn_moved", columns.moved),
        ("trailing_turn_cut", columns.cut),
        ("prompt_held_answer", columns.held),
        ("final_rests_on_tools", columns.rests),
    ] {
        if times > 0 {
            noticed.set_item(reason, times)?;
        }
    }
    let items = PyBytes::new(py, &columns.items);
    (PyTuple::new(py, found)?, columns.rows, noticed, items).into_pyobject(py)
}

/// The numbers of a column, one after the other.
fn packed<'py, const SIZE: usize, T: Copy>(
    py: Python<'py>,
    column: &[T],
    bytes_of: impl Fn(T) -> [u8; SIZE],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, SIZE * column.len(), |room| {
        for (place, number) in room.chunks_exact_mut(SIZE).zip(column) {
            place.copy_from_slice(&bytes_of(*number));
        }
        Ok(())
    })
}

/// The groups of candidates by other numbers, and lines that follow so many others (u32).
#[pyfunction]
fn renumbered<'py>(
    py: Python<'py>,
    groups: &[u8],
    lines: &[u8],
    numbers: PyBuffer<u32>,
    lines_before: u32,
) -> PyResult<[Bound<'py, PyBytes>; 2]> {
    let number = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().unwrap_or_default());
    let numbers = winners::cells(py, &numbers)?;
    let groups = groups.chunks_exact(4).map(|group| numbers.get(number(group) as usize));
    let groups: Option<Vec<u32>> = groups.map(|group| group.map(ReadOnlyCell::get)).collect();
    let lines = lines.chunks_exact(4).map(|line| number(line).checked_add(lines_before));
    let lines: Option<Vec<u32>> = lines.collect();
    let (Some(groups), Some(lines)) = (groups, lines) else {
        return Err(PyValueError::new_err("there is no such group, or no such line"));
    };
    Ok([packed(py, &groups, u32::to_ne_bytes)?, packed(py, &lines, u32::to_ne_bytes)?])
}

fn row_of<'py>(py: Python<'py>, whole: &Whole, chat: &Chat) -> PyResult<Bound<'py, PyTuple>> {
    let mut calls = whole.calls as usize;
    let messages = PyList::empty(py);
    for (place, message) in chat.messages.iter().enumerate() {
        let answered = whole.answers.get(place).copied().unwrap_or(0);
        messages.append(message_of(py, chat, message, answered, &mut calls)?)?;
    }
    let leading = PyList::empty(py);
    for message in &chat.leading {
        leading.append(message_of(py, chat, message, 0, &mut 0)?)?;
    }
    let row = &whole.row;
    let index = (row.index != NO_INDEX).then_some(row.index);
    let asked = [row.asked.params, row.asked.agent, row.asked.task];
    let asked = PyTuple::new(py, asked.map(|text| PyBytes::new(py, text.as_bytes())))?;
    let response = PyBytes::new(py, &whole.response);
    (asked, leading, messages, row.score, index, response, row.cut).into_pyobject(py)
}

/// A message in chat-completions form; its calls are numbered on from those before.
fn message_of<'py>(
    py: Python<'py>,
    chat: &Chat,
    message: &Message,
    answered: usize,
    calls: &mut usize,
) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    made.set_item("role", message.role.name())?;
    made.set_item("content", chat.words_of(message))?;
    let thoughts = chat.thoughts_of(message);
    if !thoughts.is_empty() {
        made.set_item("reasoning_content", thoughts)?;
    }
    let called = PyList::empty(py);
    for (name, arguments) in chat.calls_of(message) {
        *calls += 1;
        let function = PyDict::new(py);
        function.set_item("name", name)?;
        function.set_item("arguments", arguments)?;
        let call = PyDict::new(py);
        call.set_item("id", format!("call_{calls}"))?;
        call.set_item("type", "function")?;
        call.set_item("function", function)?;
        called.append(call)?;
    }
    if !called.is_empty() {
        made.set_item("tool_calls", called)?;
    }
    if answered > 0 {
        made.set_item("tool_call_id", format!("call_{answered}"))?;
    }
    Ok(made)
}

#[pymodule]
fn prefpairs_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    std::panic::set_hook(Box::new(|_| {})); // Python reports the error
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<OpenFile>()?;
    module.add_class::<digest_table::DigestTable>()?;
    module.add_class::<Windows>()?;
    module.add_class::<PairMaker>()?;
    module.add_function(wrap_pyfunction!(decide::pairs_of, module)?)?;
    module.add_function(wrap_pyfunction!(decide::by_group, module)?)?;
    module.add_function(wrap_pyfunction!(renumbered, module)?)?;
    module.add_class::<NemoGym>()?;
    module.add_class::<Candidates>()?;
    module.add_class::<Generic>()?;
    module.add_class::<SeveralAnswers>()?;
    module.add_class::<Nat>()?;
    module.add_class::<Pairs>()
}

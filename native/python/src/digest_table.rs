//! A compact table that numbers digests.

use prefpairs_core::digest_table;
use prefpairs_core::identity::Digest;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use crate::packed;
use crate::winners::DIGEST;

/// The twin of `DigestTable` in Python.
#[pyclass]
#[derive(Default)]
pub struct DigestTable {
    table: digest_table::DigestTable,
}

#[pymethods]
impl DigestTable {
    #[new]
    fn new() -> Self {
        DigestTable::default()
    }

    fn __len__(&self) -> usize {
        self.table.len()
    }

    fn __getitem__(&self, number: usize) -> PyResult<&[u8]> {
        let digest = self.table.get(number).map(|digest| &digest[..]);
        digest.ok_or_else(|| PyIndexError::new_err("no digest has this number"))
    }

    fn number_of(&mut self, digest: &[u8]) -> PyResult<u32> {
        let known = Digest::try_from(digest).map_err(|_| {
            let given = digest.len();
            PyValueError::new_err(format!("a digest has {DIGEST} bytes, not {given}"))
        });
        Ok(self.table.number_of(known?))
    }

    fn numbers_of<'py>(&mut self, py: Python<'py>, digests: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let numbers = digests.chunks_exact(DIGEST).map(|digest| self.number_of(digest));
        let numbers = packed(py, &numbers.collect::<PyResult<Vec<_>>>()?, u32::to_ne_bytes)?;
        py.import("array")?.getattr("array")?.call1(("I", numbers))
    }

    fn truncate(&mut self, count: usize) {
        self.table.truncate(count);
    }
}

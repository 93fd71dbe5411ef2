//! Options of reading, as Python gives them.

use prefpairs_core::reading::{Field, GroupBy, Reading};
use pyo3::prelude::*;

/// The fields of Python's `NativeReading`.
#[derive(FromPyObject)]
pub struct Given {
    /// Nothing for tasks; no field for prompts. A field without a path is the prompt.
    group_by: Option<Vec<(Option<String>, Option<i64>)>>,
    scores: Vec<(String, f64)>,
    grades: Vec<(String, f64)>,
    cast_score: bool,
    lower_is_better: bool,
    drop_reasoning: bool,
    only_last_text: bool,
    keep: Vec<String>,
    keeps_more: bool,
}

impl From<Given> for Reading {
    fn from(given: Given) -> Self {
        let field = |field: (Option<String>, Option<i64>)| match field {
            (None, _) => Field::Prompt,
            (Some(path), None) => Field::Value(path),
            (Some(path), Some(length)) => Field::Run(path, length.max(1)),
        };
        let group_by = match given.group_by {
            None => GroupBy::Task,
            Some(fields) if fields.is_empty() => GroupBy::Prompt,
            Some(fields) => GroupBy::Fields(fields.into_iter().map(field).collect()),
        };
        let Given { scores, grades, cast_score, lower_is_better, .. } = given;
        let Given { drop_reasoning, only_last_text, keep, keeps_more, .. } = given;
        Reading {
            group_by,
            scores,
            grades,
            cast_score,
            lower_is_better,
            drop_reasoning,
            only_last_text,
            keep,
            keeps_more,
        }
    }
}

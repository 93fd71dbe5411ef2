//! Lines of rollouts to columns: what `prefpairs` remembers of each candidate.
//!
//! Python is the law, this is the speed: a line that holds anything unknown here is handed up
//! to the Python reader. No Python in this crate.
#![forbid(unsafe_code)]

pub mod block;
pub mod candidates;
pub mod chat;
pub mod decide;
pub mod digest_table;
mod fingerprint;
pub mod generic;
pub mod identity;
pub mod json;
pub mod meta;
pub mod nat;
pub mod nemo_gym;
pub mod numbers;
pub mod one_answer;
pub mod pairs;
pub mod panics;
pub mod pipeline;
pub mod questions;
pub mod reading;
pub mod reference;
pub mod several_answers;
pub mod source;
pub mod window;
pub mod winners;

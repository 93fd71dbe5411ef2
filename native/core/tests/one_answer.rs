//! Candidates and rows of any columns to what is remembered of them.

mod common;

use prefpairs_core::block::{self, Found, Rows};
use prefpairs_core::candidates::Candidates;
use prefpairs_core::generic::{Columns, MayBe};
use prefpairs_core::identity::hexadecimal;
use prefpairs_core::one_answer::{Reader, Shape};
use prefpairs_core::reading::Reading;

use common::{index, only};

const CANDIDATE: &str =
    r#"{"group":"g","prompt":"What is 2+2?","response":"4","score":0.5,"index":3,"origin":"a:1"}"#;
const ROW: &str =
    r#"{"id":[1],"question":"What is 2+2?","answer":"4","reward":0.5,"status":"stop"}"#;

fn found<S: Shape>(shape: S, line: &str) -> Option<Found> {
    let (mut reader, mut found) = (Reader::new(shape, Reading::default()), Vec::new());
    index(&mut reader, line, &mut found).ok()?;
    assert_eq!(found.len(), 1);
    found.pop()
}

fn columns(narrow: bool) -> Columns {
    let named = [
        ("question", "prompt"),
        ("answer", "response"),
        ("reward", "score"),
        ("status", "incomplete"),
        ("system", "nothing"),
        ("response", "missing"),
        ("score", "null"),
        ("error", "failed"),
        ("level", "no text"),
        ("target", "reference 3"),
        ("gold", "reference 1"),
    ];
    let known = |(name, may_be): (&str, &str)| {
        (name.to_owned(), MayBe::named(may_be).expect("something that a column may be"))
    };
    Columns::new(named.into_iter().map(known), false, narrow, false)
}

#[test]
fn digests_are_those_of_the_specification() {
    let found = found(Candidates, CANDIDATE).expect("a row that is known here");
    assert_eq!(hexadecimal(&found.response), "85949d9e82d48d37f155543582b91f73");
    assert_eq!((found.group, found.score, found.index), (0, 0.5, 3));
}

#[test]
fn answers_to_one_question_are_one_group() {
    let (mut reader, mut found) = (Reader::new(columns(false), Reading::default()), Vec::new());
    for line in [ROW, &ROW.replace("\"4\"", "\"5\""), &ROW.replace("2+2", "2+3")] {
        index(&mut reader, line, &mut found).expect("a row that is known here");
    }
    let groups: Vec<u32> = found.iter().map(|found| found.group).collect();
    assert_eq!(groups, [0, 0, 1]);
    let mut columns = block::Columns::default();
    columns.add(&found, &only(ROW));
    reader.questions().join(&mut columns);
    let fresh = columns.fresh;
    assert_eq!(hexadecimal(&fresh[0].question[1]), "50b1a181856461bd0fbe1d0cbc82ef1c");
    assert_eq!(fresh.len(), 2);
}

#[test]
fn candidates_that_python_must_judge_are_handed_up() {
    assert!(found(Candidates, &CANDIDATE.replace("\"a:1\"", "null")).is_some());
    for (from, to) in [
        ("\"g\"", "\"\""),
        ("\"4\"", "\" \""),
        ("\"4\"", "[{\"role\":\"user\",\"content\":\"4\"}]"),
        ("0.5", "null"),
        ("0.5", "\"0.5\""),
        ("3,", "3.0,"),
        ("\"a:1\"", "\"a:1\",\"meta\":{\"source_task\":1}"),
        ("\"a:1\"", "\"a:1\",\"system\":null"),
        ("\"a:1\"", "\"a:1\",\"tools\":[1]"),
        (",\"origin\":\"a:1\"", ""),
        ("{", "["),
    ] {
        assert!(found(Candidates, &CANDIDATE.replacen(from, to, 1)).is_none(), "{to}");
    }
}

#[test]
fn rows_in_which_a_column_may_mean_more_are_handed_up() {
    for more in
        [",\"system\":[]", ",\"score\":null", ",\"error\":0", ",\"level\":true", ",\"x\":{}"]
    {
        let line = ROW.replace('}', &format!("{more}}}"));
        assert!(found(columns(false), &line).is_some(), "{more}");
    }
    assert!(found(columns(true), &ROW.replace("\"id\":[1],", "")).is_some());
    assert!(found(columns(true), ROW).is_none());
    for (from, to) in [
        ("stop", "length"),
        ("\"4\"", "\"<think>hm</think>4\""),
        ("\"4\"", "4"),
        ("}", ",\"system\":\"s\"}"),
        ("}", ",\"response\":null}"),
        ("}", ",\"score\":1}"),
        ("}", ",\"error\":true}"),
        ("}", ",\"level\":\"a\"}"),
        ("}", ",\"reward\":1}"),
        ("id", "\\u0069d"),
    ] {
        assert!(found(columns(false), &ROW.replace(from, to)).is_none(), "{to}");
    }
}

/// The mark of the reference in a row, without the code of its column; that code; the group's key.
fn marked<S: Shape>(reader: &mut Reader<S>, line: &str) -> (u64, u64, String) {
    let (mut found, mut columns) = (Vec::new(), block::Columns::default());
    index(reader, line, &mut found).expect("a row that is known here");
    columns.add(&found, &only(line));
    reader.questions().join(&mut columns);
    let [group] = columns.fresh.as_slice() else {
        panic!("a question with its reference is not new")
    };
    (group.reference >> 8, group.reference % 256, hexadecimal(&group.key))
}

#[test]
fn references_are_marked_by_what_they_are() {
    let mut reader = Reader::new(columns(false), Reading::default());
    let mut of = |more: &str| marked(&mut reader, &ROW.replace('}', &format!("{more}}}")));
    let (nothing, _, group) = of("");
    let (mark, column, of_reference) = of(r#","target":{"b":"4","a":[1.0]}"#);
    assert_eq!((nothing, column, of_reference), (0, 3, group.clone()));
    for more in [
        r#","target":{"a":[1.0],"b":"\u0034"}"#,
        r#","gold":[" \n",null,true,[]],"target":{"a":[1.0],"b":"4"}"#,
        r#","target":{ "a":[1.0],"b":"4"},"gold":{}"#,
    ] {
        assert_eq!(of(more), (mark, 3, group.clone()), "{more}");
    }
    assert_eq!(of(r#","gold":{"a":[1.0],"b":"4"},"target":"x""#), (mark, 1, group));
    assert_ne!(of(r#","target":{"b":"4","a":[1]}"#).0, mark);
    let mut reader = Reader::new(Candidates, Reading::default());
    let line = CANDIDATE.replace("\"index\"", "\"reference\":{\"b\":\"4\",\"a\":[1.0]},\"index\"");
    assert_eq!(marked(&mut reader, &line).0, mark);
}

#[test]
fn references_that_python_must_judge_are_handed_up() {
    for (json, known) in
        [("\"x\"", true), ("1e400", false), ("[1e400]", false), ("NaN", false), ("true", true)]
    {
        let line = ROW.replace('}', &format!(",\"gold\":{json}}}"));
        assert_eq!(found(columns(false), &line).is_some(), known, "{json}");
    }
}

//! Items of the NeMo Agent Toolkit to what is remembered of their candidates.

mod common;

use prefpairs_core::block::{Columns, Found, Group, Rows};
use prefpairs_core::identity::hexadecimal;
use prefpairs_core::nat::Reader;
use prefpairs_core::reading::Reading;

use common::{index, only};

const STEP: &str = r#"{"payload":{"event_type":"TTC_END","name":"move","data":{"turn_id":"t","input":"What is 2+2?","output":"4","score":0.5,"candidate_index":3}}}"#;
const OTHER: &str = r#"{"payload":{"event_type":"LLM_END","name":"x","data":[]}}"#;

fn item(steps: &[&str]) -> String {
    format!(r#"{{"id":1,"intermediate_steps":[{}]}}"#, steps.join(","))
}

/// The candidates of an item, and the groups that are new; nothing where Python must read it.
fn found(reader: &mut Reader, line: &str) -> Option<(Vec<Found>, Vec<Group>)> {
    let (mut found, mut columns) = (Vec::new(), Columns::default());
    index(reader, line, &mut found).ok()?;
    columns.add(&found, &only(line));
    reader.questions().join(&mut columns);
    Some((found, columns.fresh))
}

#[test]
fn candidates_of_a_turn_are_one_group() {
    let (five, turn) = (STEP.replace("\"4\"", "\"5\""), STEP.replace("\"t\"", "\"u\""));
    let line = item(&[STEP, &five, &turn]);
    let (found, groups) =
        found(&mut Reader::new("move", Reading::default()), &line).expect("a known item");
    assert_eq!(groups.len(), 2);
    assert_eq!(found.iter().map(|one| one.group).collect::<Vec<_>>(), [0, 0, 1]);
    assert_eq!((found[0].score, found[0].index, found[0].held), (0.5, 3, false));
    assert_eq!(hexadecimal(&found[0].response), "85949d9e82d48d37f155543582b91f73");
    assert!(found[0].item.is_some() && found[1].item.is_none());
}

#[test]
fn a_prompt_loses_the_answer_at_its_end() {
    let chat = r#"[{"role":"user","content":"What is 2+2?"},{"role":"assistant","content":"4\n"}]"#;
    let held = STEP.replace("\"What is 2+2?\"", chat);
    let (found, groups) =
        found(&mut Reader::new("move", Reading::default()), &item(&[STEP, &held])).expect("known");
    assert_eq!((found[1].group, found[1].held, groups.len()), (0, true, 1));
}

#[test]
fn of_an_item_that_python_must_read_no_group_is_left() {
    let mut reader = Reader::new("move", Reading::default());
    let bad = STEP.replace("\"What is 2+2?\"", "[]");
    for step in [
        &bad,
        &STEP.replace("0.5", "null"),
        &STEP.replace("\"t\"", "7"),
        &STEP.replace("\"4\"", "\" \""),
        &STEP.replace("\"4\"", "\"<think>a</think>4\""),
        &STEP.replace("3}", "3.5}"),
        &STEP.replace("payload", "pay"),
    ] {
        let line = item(&[&STEP.replace("\"t\"", "\"v\""), step]);
        assert!(found(&mut reader, &line).is_none(), "{step}");
    }
    assert!(found(&mut reader, &item(&[OTHER])).is_none());
    let (known, groups) = found(&mut reader, &item(&[OTHER, STEP])).expect("a known item");
    assert_eq!((known[0].group, groups.len()), (0, 1));
}

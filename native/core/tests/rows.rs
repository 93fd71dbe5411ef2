//! Rows to what is remembered of them; the digests are those of tests/vectors/identity.json.

use prefpairs_core::block::{scan, Columns, Segment};
use prefpairs_core::identity::hexadecimal;
use prefpairs_core::nemo_gym::Reader;
use prefpairs_core::numbers::NO_INDEX;

const LONGEST: usize = 1000;

fn row(output: &str) -> String {
    let asked = r#"{"input":"What is 2+2?","tools":[]}"#;
    format!(r#"{{"responses_create_params":{asked},"response":{{"output":{output}}},"reward":1}}"#)
}

fn said(text: &str) -> String {
    row(&format!(r#"[{{"type":"message","role":"assistant","content":"{text}"}}]"#))
}

/// The columns of a line, unless Python must read it.
fn columns(line: &str) -> Option<Columns> {
    let found = scan(&mut Reader::default(), [line.as_bytes()].into_iter(), &[0], LONGEST);
    match found.into_iter().next() {
        Some(Segment::Columns(columns)) if !columns.scores.is_empty() => Some(*columns),
        _ => None,
    }
}

fn response_digest(line: &str) -> String {
    let found = columns(line).expect("a row that is known here");
    hexadecimal(found.digests[..].try_into().expect("one digest"))
}

#[test]
fn words_alone_have_the_digest_of_the_specification() {
    assert_eq!(response_digest(&said("4")), "85949d9e82d48d37f155543582b91f73");
    assert_eq!(response_digest(&said(r"\u0034")), "85949d9e82d48d37f155543582b91f73");
}

#[test]
fn thinking_has_the_digest_of_the_specification_wherever_it_stands() {
    let item = r#"[{"type":"reasoning","summary":[{"text":" hm\n"}]},
        {"role":"assistant","content":[{"type":"output_text","text":"Hi"}]}]"#;
    let expected = "049a550c5e1b3bc6ce8ce0986b71715b";
    assert_eq!(response_digest(&row(item)), expected);
    assert_eq!(response_digest(&said("<think>hm</think> Hi")), expected);
    assert_eq!(response_digest(&said("hm</think>Hi")), expected);
}

#[test]
fn a_prompt_has_the_digest_of_the_specification() {
    let found = columns(&said("4")).expect("a row that is known here");
    let [_, prompt, tools] = found.fresh[0].question;
    assert_eq!(hexadecimal(&prompt), "50b1a181856461bd0fbe1d0cbc82ef1c");
    assert_eq!(tools, [0; 16]);
    assert_eq!((found.scores[0], found.indexes[0]), (1.0, NO_INDEX));
}

#[test]
fn ids_of_calls_spaces_and_the_order_of_keys_do_not_count() {
    let called = |id: &str, arguments: &str| {
        row(&format!(
            r#"[{{"type":"function_call","name":"f","arguments":"{arguments}","call_id":"{id}"}},
            {{"type":"function_call_output","call_id":"{id}","output":"4"}},
            {{"role":"assistant","content":"4"}}]"#
        ))
    };
    let one = response_digest(&called("x", r#"{\"a\": 1.50, \"b\": [2]}"#));
    assert_eq!(one, response_digest(&called("y", r#"{\"b\":[2],\"a\":15e-1}"#)));
    assert_ne!(one, response_digest(&called("x", r#"{\"a\": 1, \"b\": [2]}"#)));
}

#[test]
fn scores_have_fifteen_digits() {
    let scored = |score: &str| {
        columns(&said("4").replace(r#""reward":1}"#, &format!(r#""reward":{score}}}"#)))
            .expect("a row that is known here")
            .scores[0]
    };
    assert_eq!(scored("0.30000000000000004"), 0.3);
    assert_eq!(scored("-0.0").to_bits(), 0);
    assert_eq!(scored("1234567890123456e-10"), 123456.789012346);
}

#[test]
fn what_is_unknown_is_handed_up() {
    let known = said("4");
    for (from, to) in [
        (r#""reward":1"#, r#""reward":null"#),
        (r#""reward":1"#, r#""reward":true"#),
        (r#""reward":1"#, r#""reward":1,"reward":2"#),
        (r#""reward":1"#, r#""reward":1,"mask_sample":true"#),
        (r#""reward":1"#, r#""reward":01"#),
        (r#""reward":1"#, "\"reward\":1,\"x\":\"\n\""),
        (r#""reward":1"#, r#""reward":1,"x":"\ud800""#),
        (r#""reward":1}"#, r#""reward":1"#),
        (r#""reward":1}"#, r#""reward":1}{}"#),
        ("assistant", "narrator"),
        (r#"content":"4""#, r#"content":" ""#),
        (r#"content":"4""#, r#"content":"4","image":"x""#),
        ("What is 2+2?", " "),
    ] {
        assert!(known.contains(from));
        assert!(columns(&known.replace(from, to)).is_none(), "{to}");
    }
    assert!(columns(&format!("{known}{}", " ".repeat(LONGEST))).is_none());
    assert!(columns(&known).is_some());
}

#[test]
fn lines_that_are_handed_up_stand_between_the_columns_of_the_others() {
    let lines = [said("4"), "no JSON".to_owned(), said("5"), said("6")];
    let bytes = lines.iter().map(|line| line.as_bytes());
    let ends = lines.iter().scan(7, |end, line| {
        *end += line.len() as u64;
        Some(*end)
    });
    let offsets: Vec<u64> = std::iter::once(7).chain(ends).collect();
    let found = scan(&mut Reader::default(), bytes, &offsets, LONGEST);
    let told: Vec<String> = found
        .iter()
        .map(|segment| match segment {
            Segment::HandedUp(place) => format!("line {place}"),
            Segment::Columns(columns) => format!(
                "{:?} {:?} {:?} {}",
                columns.lines,
                columns.offsets,
                columns.groups,
                columns.fresh.len()
            ),
        })
        .collect();
    let (own, other) = (lines[0].len() as u64, lines[1].len() as u64);
    let third = 7 + own + other;
    let rest = format!("[2, 3] [{third}, {}] [0, 0] 0", third + own);
    assert_eq!(told, ["[0] [7] [0] 1".to_owned(), "line 1".to_owned(), rest]);
}

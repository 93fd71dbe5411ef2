//! Rows to what is remembered of them; the digests are those of tests/vectors/identity.json.

use prefpairs_core::block::{join, scan, Columns, Line, Part, Rows};
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

/// The outcomes of the lines of a file, which begin at byte 7.
fn read<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<Part> {
    let (mut reader, mut end) = (Reader::default(), 7);
    let given = lines.into_iter().enumerate().map(|(place, line)| {
        let offset = end;
        end += line.len() as u64;
        Line { place, offset, bytes: Some(line.as_bytes()).filter(|line| line.len() <= LONGEST) }
    });
    let mut parts = scan(&mut reader, given);
    join(&mut parts, reader.questions());
    parts
}

/// The columns of a line, unless Python must read it.
fn columns(line: &str) -> Option<Columns> {
    match read([line]).into_iter().next() {
        Some(Part::Columns(columns)) if !columns.scores.is_empty() => Some(*columns),
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
    let told: Vec<String> = read(lines.iter().map(String::as_str))
        .iter()
        .map(|part| match part {
            Part::HandedUp(line) => format!("line {} at {}", line.place, line.offset),
            Part::Columns(columns) => format!(
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
    assert_eq!(told, ["[0] [7] [0] 1".to_owned(), format!("line 1 at {}", 7 + own), rest]);
}

#[test]
fn questions_that_are_looked_up_together_are_those_of_their_lines() {
    let row = said("4");
    for bad in [0, 1, 255, 256, 257, 511, 512, 599] {
        // Each question is asked by three lines, hundreds of lines apart or next to each other.
        let asked = |place: usize| if place < 300 { place % 100 } else { place / 3 };
        let lines: Vec<String> = (0..600)
            .map(|place| match place {
                _ if place == bad => "no JSON".to_owned(),
                _ => row.replace("What is 2+2?", &format!("Question {}?", asked(place))),
            })
            .collect();
        let parts = read(lines.iter().map(String::as_str));
        let mut known = Vec::new();
        let mut place = 0;
        for part in &parts {
            let Part::Columns(columns) = part else {
                assert_eq!(place, bad);
                place += 1;
                continue;
            };
            for (line, group) in columns.lines.iter().zip(&columns.groups) {
                assert_eq!(*line as usize, place);
                let expected = known.iter().position(|one| *one == asked(place));
                assert_eq!(*group as usize, expected.unwrap_or(known.len()), "line {place}");
                if expected.is_none() {
                    known.push(asked(place));
                }
                place += 1;
            }
        }
        assert_eq!((place, parts.len()), (600, 3));
    }
}

//! Rows with several answers to what is remembered of them.

mod common;

use prefpairs_core::block;
use prefpairs_core::generic::MayBe;
use prefpairs_core::identity::hexadecimal;
use prefpairs_core::reading::Reading;
use prefpairs_core::several_answers::{Columns, Holds, Reader};
use prefpairs_core::winners::{Winner, Winners};

use common::{index, only};

const LISTS: &str = r#"{"id":[1],"prompt":"What is 2+2?","answers":["4","5"],"scores":[1,0.5],"ends":["stop",""],"errors":["",null]}"#;
const OBJECTS: &str =
    r#"{"prompt":"What is 2+2?","items":[{"text":"4","score":1,"n":7},{"score":0.5,"text":"5"}]}"#;

fn reader() -> Reader {
    reader_that(false)
}

fn reader_that(drops_marked: bool) -> Reader {
    let of_row = [
        ("prompt", "prompt"),
        ("answers", "response of each"),
        ("scores", "score of each"),
        ("items", "items"),
        ("ends", "incomplete of each"),
        ("errors", "failed of each"),
        ("system", "nothing"),
        ("output", "no object"),
        ("target", "reference 3"),
    ];
    let of_item = [("text", "response"), ("error", "failed")];
    let row = of_row.map(|(name, holds)| (name.to_owned(), Holds::named(holds).expect("a kind")));
    let item = of_item.map(|(name, holds)| (name.to_owned(), MayBe::named(holds).expect("a kind")));
    Reader::new(
        Columns::new(row.into_iter(), item.into_iter(), false, false, drops_marked),
        Reading::default(),
    )
}

fn reader_of_objects() -> Reader {
    let of_row = [("prompt", "prompt"), ("items", "items")];
    let of_item = [("text", "response"), ("score", "score")];
    let row = of_row.map(|(name, holds)| (name.to_owned(), Holds::named(holds).expect("a kind")));
    let item = of_item.map(|(name, holds)| (name.to_owned(), MayBe::named(holds).expect("a kind")));
    Reader::new(
        Columns::new(row.into_iter(), item.into_iter(), false, false, false),
        Reading::default(),
    )
}

fn scores(mut reader: Reader, line: &str) -> Option<Vec<f64>> {
    let (mut found, mut columns) = (Vec::new(), block::Columns::default());
    index(&mut reader, line, &mut found).ok()?;
    columns.add(&found, &only(line));
    assert!(columns.groups.iter().all(|group| *group == 0));
    assert_eq!(hexadecimal(&found[0].response), "85949d9e82d48d37f155543582b91f73");
    Some(found.iter().map(|found| found.score).collect())
}

#[test]
fn answers_of_a_row_are_one_group() {
    assert_eq!(scores(reader(), LISTS), Some(vec![1.0, 0.5]));
    assert!(scores(reader(), &LISTS.replace("[\"\",null]", "[]")).is_some());
    assert_eq!(scores(reader_of_objects(), OBJECTS), Some(vec![1.0, 0.5]));
}

#[test]
fn rows_that_python_must_judge_are_handed_up() {
    for (from, to) in [
        ("[1,0.5]", "[1]"),
        ("[1,0.5]", "[1,null]"),
        ("[1,0.5]", "0.5"),
        ("[\"4\",\"5\"]", "[\"4\"]"),
        ("[\"4\",\"5\"]", "\"4\""),
        ("\"5\"", "null"),
        ("\"5\"", "\" \""),
        ("\"5\"", "\"hm</think>5\""),
        ("\"scores\"", "\"marks\""),
        ("\"answers\":[\"4\",\"5\"],\"scores\":[1,0.5],\"ends\":[\"stop\",\"\"],\"errors\":[\"\",null]", "\"answers\":[],\"scores\":[]"),
        ("\"answers\":[\"4\",\"5\"]", "\"items\":[{\"text\":\"4\",\"text\":\"5\"},{}]"),
        ("\"id\":[1]", "\"prompt\":\"What is 2+3?\""),
        ("null]}", "null]}x"),
        ("\"id\":[1]", "\"output\":{}"),
        ("\"id\"", "\"system\""),
        ("\"id\"", "\"answers.1\""),
        ("\"id\"", "\"scores[]\""),
        ("\"id\"", "\"errors\""),
        ("\"id\"", "\"\\u0069d\""),
        ("\"prompt\"", "\"system\""),
    ] {
        assert!(LISTS.contains(from), "{from}");
        assert!(scores(reader(), &LISTS.replacen(from, to, 1)).is_none(), "{to}");
    }
    for (from, to) in [
        (",\"text\":\"5\"", ""),
        (",\"text\":\"5\"", ",\"text\":\"5\",\"text\":\"6\""),
        (",\"text\":\"5\"", ",\"text\":\"5\",\"t\\u0065xt\":\"6\""),
        ("\"score\":1,\"n\":7},{\"score\":0.5,", "\"score\":1,\"score\":0.5},{"),
        ("}]}", "}],\"items\":[{\"text\":\"4\",\"score\":1}]}"),
        ("\"score\":1", "\"score\":null"),
        ("\"score\":1,", ""),
        ("{\"score\"", "5,{\"score\""),
    ] {
        assert!(OBJECTS.contains(from), "{from}");
        assert!(scores(reader_of_objects(), &OBJECTS.replacen(from, to, 1)).is_none(), "{to}");
    }
}

#[test]
fn pairs_of_marked_answers_are_made_by_python() {
    for (from, to, known) in [
        ("\"stop\",\"\"", "\"stop\",\"length\"", [true, false]),
        ("\"stop\",\"\"", "{\"a\":[\"}\"]},\"stop\"", [false, true]),
        ("\"stop\",\"\"", "\"stop\"", [false, false]),
        ("\"stop\",\"\"", "\"stop\",\"\",\"\"", [false, false]),
        ("[\"stop\",\"\"]", "true", [false, false]),
        ("[\"stop\",\"\"],\"errors\":[\"\",null]", "true,\"errors\":null", [false, false]),
        ("\"\",null", "\"\",\"boom\"", [true, false]),
        ("\"\",null", "\"\",null", [true, true]),
    ] {
        let line = LISTS.replacen(from, to, 1);
        assert_eq!(scores(reader(), &line), Some(vec![1.0, 0.5]), "{to}");
        assert_eq!(scores(reader_that(true), &line).is_some(), known == [true; 2], "{to}");
        let (mut reader, mut found) = (reader(), Winner::default());
        assert_eq!(reader.winner(&line, 0, &mut found).is_ok(), known[0], "{to}");
        assert_eq!(reader.again(1, &mut found).is_ok(), known[1], "{to}");
        assert!(reader.winner(LISTS, 1, &mut found).is_ok(), "{to}");
        assert!(reader.again(0, &mut found).is_ok(), "{to}");
    }
    let marked =
        r#"{"prompt":"Q","scores":[1,0],"items":[{"text":"4"},{"error":"boom","text":"5"}]}"#;
    let (mut reader, mut found) = (reader(), Winner::default());
    assert!(reader.winner(marked, 0, &mut found).is_ok());
    assert!(reader.again(1, &mut found).is_err());
}

#[test]
fn winners_of_one_row_are_read_at_once() {
    let (mut reader, mut found) = (reader(), Winner::default());
    reader.winner(LISTS, 1, &mut found).expect("a row that is known here");
    assert_eq!((found.response.as_str(), found.score, found.index), ("\"5\"", 0.5, 1));
    assert_eq!((found.number, found.prompt.as_str()), (2, "\"What is 2+2?\""));
    reader.again(0, &mut found).expect("an answer of the same row");
    assert_eq!((found.response.as_str(), found.score, found.index), ("\"4\"", 1.0, 0));
    assert!(reader.again(2, &mut found).is_err());
    let unknown = LISTS.replace("What is 2+2?", " ");
    assert!(reader.winner(&unknown, 0, &mut found).is_err());
    assert!(reader.again(0, &mut found).is_err());
}

//! Readers that share their questions: groups have the numbers that one reader would give them.

mod common;

use prefpairs_core::block::{Columns, Found, Rows};
use prefpairs_core::nemo_gym::Reader;

use common::{index, only};

fn row(question: &str) -> String {
    format!(
        concat!(
            r#"{{"responses_create_params":{{"input":"{}"}},"reward":1,"#,
            r#""response":{{"output":[{{"role":"assistant","content":"A"}}]}}}}"#
        ),
        question
    )
}

fn columns(reader: &mut Reader, questions: &str) -> Columns {
    let (mut found, mut columns) = (Vec::<Found>::new(), Columns::default());
    for question in questions.chars() {
        found.clear();
        let row = row(&question.to_string());
        index(reader, &row, &mut found).expect("a row that is known here");
        columns.add(&found, &only(&row));
    }
    columns
}

#[test]
fn groups_are_numbered_in_the_order_of_their_rows_whichever_reader_was_first() {
    let mut one = Reader::default();
    let mut other = Reader::like(&one);
    let mut later = columns(&mut other, "dacbd");
    let mut earlier = columns(&mut one, "abaeb");
    one.questions().join(&mut earlier);
    other.questions().join(&mut later);
    assert_eq!(earlier.groups, [0, 1, 0, 2, 1]);
    assert_eq!(later.groups, [3, 0, 4, 1, 3]);
    let prompts = |columns: &Columns| -> Vec<_> {
        columns.fresh.iter().map(|group| group.question[1]).collect()
    };
    let mut reader = Reader::default();
    let all = ["abaeb", "dacbd"].map(|questions| columns(&mut reader, questions));
    for (mut expected, found) in all.into_iter().zip([&earlier, &later]) {
        reader.questions().join(&mut expected);
        assert_eq!(found.groups, expected.groups);
        assert_eq!(prompts(found), prompts(&expected));
    }
}

//! Whatever the ranges are, each line is read once, with the range that it begins in.

use prefpairs_core::block::Part;
use prefpairs_core::nemo_gym::Reader;
use prefpairs_core::source::{Buffer, Source};
use prefpairs_core::window::{Scanned, Window};

const LONGEST: usize = 1000;

fn scan(lines: &str, at_once: usize) -> Vec<Scanned> {
    let (source, size) = (Source::Memory(lines.as_bytes()), lines.len() as u64);
    let window = Window { source, lines: 0..size, longest: LONGEST };
    let (mut reader, mut buffer) = (Reader::default(), Buffer::default());
    let ranges = (0..size).step_by(at_once).map(|from| from..from + at_once as u64);
    ranges.map(|range| window.scan(&mut reader, range, &mut buffer).expect("memory")).collect()
}

#[test]
fn lines_that_are_handed_up_stand_between_the_columns_of_the_others() {
    let row = concat!(
        r#"{"responses_create_params":{"input":"Q"},"reward":1,"#,
        r#""response":{"output":[{"role":"assistant","content":"A"}]}}"#
    );
    let long = " ".repeat(LONGEST + 1);
    let lines = [row, "no JSON", row, &long, row].join("\n");
    let at = |part: &str| lines.find(part).expect("a part of it") as u64;
    let expected = [
        "0: [0]".to_owned(),
        format!("handed up {}: Some(8)", at("no JSON")),
        format!("{}: [0]", at("no JSON") + 8),
        format!("handed up {}: None", at(&long)),
        format!("{}: [0]", at(&long) + long.len() as u64 + 1),
    ];
    for at_once in [1, 2, 7, 100, lines.len(), 2 * lines.len()] {
        let ranges = scan(&lines, at_once);
        assert_eq!(ranges.iter().map(|range| range.lines).sum::<usize>(), 5);
        let told: Vec<String> = ranges
            .iter()
            .flat_map(|range| &range.parts)
            .filter_map(|part| match part {
                Part::HandedUp(line) => {
                    let length = line.line.as_ref().map(Vec::len);
                    Some(format!("handed up {}: {length:?}", line.offset))
                }
                Part::Columns(columns) if columns.scores.is_empty() => None,
                Part::Columns(columns) => {
                    Some(format!("{}: {:?}", columns.offsets[0], columns.groups))
                }
            })
            .collect();
        assert_eq!(told, expected);
    }
}

//! What a reader remembers of earlier rows changes nothing but its speed.

mod common;

use prefpairs_core::block::{Columns, Found, Group, Rows};
use prefpairs_core::identity::Digest;
use prefpairs_core::nemo_gym::Reader;
use prefpairs_core::winners::{Winner, Winners};

use common::{index, only};

const USUAL: &str = r#"{"responses_create_params":{"background":null,"input":[{"content":"You help.","role":"developer"},{"content":"What is \"2+2\"?","role":"user","type":"message"}],"instructions":null,"max_output_tokens":8192,"tools":[{"name":"add","parameters":{"type":"object","properties":{"a":{"type":"number"}}},"strict":true,"type":"function"}],"temperature":1.0,"text":null},"response":{"id":"r","created_at":1.5,"incomplete_details":null,"output":[{"id":"x","summary":[{"text":"\nhm","type":"summary_text"}],"type":"reasoning"},{"arguments":"{\"a\": 2}","call_id":"c","name":"add","type":"function_call"},{"call_id":"c","output":"4","type":"function_call_output"},{"content":[{"text":"It is 4.","type":"output_text"}],"role":"assistant","type":"message"}],"tools":[{"name":"add"}],"usage":{"total_tokens":150},"top_p":1.0,"user":null},"reward":0.5,"_ng_task_index":3,"_ng_rollout_index":1,"agent_ref":{"name":"a"}}"#;

/// Numbers that look as if by chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    /// A line with a few bytes removed, repeated or written over.
    fn bent(&mut self, line: &str) -> String {
        const OTHERS: [&str; 16] = [
            "\"",
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\\",
            "0",
            "5",
            ".",
            "-",
            " ",
            "null",
            "\"x\":1,",
            "\"output\":[],",
        ];
        let mut bent = line.to_owned();
        for _ in 0..=self.below(2) {
            let start = self.below(bent.len());
            let end = (start + self.below(12)).min(bent.len());
            let own = bent[start..end].to_owned();
            match self.below(4) {
                0 => bent.replace_range(start..end, ""),
                1 => bent.insert_str(start, &own),
                2 => bent.insert_str(start, OTHERS[self.below(OTHERS.len())]),
                _ => {
                    let end = (start + 1).min(bent.len());
                    bent.replace_range(start..end, OTHERS[self.below(OTHERS.len())]);
                }
            }
        }
        bent
    }
}

/// A reader, and the groups that it found.
#[derive(Default)]
struct Indexer {
    reader: Reader,
    groups: Vec<Group>,
}

impl Indexer {
    fn told(&mut self, line: &str) -> Option<([Digest; 4], String)> {
        let (mut found, mut columns) = (Vec::<Found>::new(), Columns::default());
        index(&mut self.reader, line, &mut found).ok()?;
        columns.add(&found, &only(line));
        self.reader.questions().join(&mut columns);
        self.groups.extend(columns.fresh);
        let group = self.groups[columns.groups[0] as usize];
        let Found { score, index, response, moved, cut, .. } = found[0];
        let [name, prompt, tools] = group.question;
        Some(([name, prompt, tools, response], format!("{score} {index} {moved} {cut}")))
    }
}

fn written(reader: &mut Reader, line: &str) -> Option<String> {
    let mut winner = Winner::default();
    reader.winner(line, 0, &mut winner).ok()?;
    Some(format!("{winner:?}"))
}

#[test]
fn rows_like_those_before_are_read_as_if_they_were_the_first() {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let (mut seasoned, mut writer) = (Indexer::default(), Reader::default());
    let (mut known, mut others) = (0, 0);
    for number in 0..4000 {
        let other = USUAL.replace("add", "sum").replace("\"id\":\"r\"", "\"id\":\"s\"");
        let usual = if number / 100 % 2 == 0 { USUAL } else { &other };
        for line in [usual, usual, &chance.bent(usual)] {
            let alone = Indexer::default().told(line);
            assert_eq!(seasoned.told(line), alone, "{line}");
            let pair = written(&mut Reader::default(), line);
            assert_eq!(written(&mut writer, line), pair, "{line}");
            known += usize::from(alone.is_some());
            others += usize::from(alone.is_none());
        }
    }
    assert!(known > 8500 && others > 2500, "{known} known, {others} not");
}

#[test]
fn answers_to_calls_are_read_alike_however_many_questions_there_were() {
    let call = |id: usize| {
        format!(r#"{{"type":"function_call","call_id":"c{id}","name":"f","arguments":"{{}}"}}"#)
    };
    let result = |id: usize| {
        format!(r#"{{"type":"function_call_output","call_id":"c{id}","output":"{id}"}}"#)
    };
    let says = r#"{"role":"assistant","content":"A"}"#;
    let mut seasoned = Indexer::default();
    for number in 0..300 {
        let row = |kind: &str, output: &[&str]| {
            let asked = format!(r#"{{"role":"user","content":"{kind} {number}"}}"#);
            let (first, second, output) = (call(1), call(2), output.join(","));
            format!(
                concat!(
                    r#"{{"responses_create_params":{{"input":[{},{},{}]}},"reward":1,"#,
                    r#""response":{{"output":[{}]}}}}"#
                ),
                asked, first, second, output
            )
        };
        let bound = row("bound", &[says, &result(2), says]);
        let free = row("free", &[says, &call(3), &result(3), says]);
        let [bound, free] = [bound, free].map(|row| {
            let alone = Indexer::default().told(&row);
            assert_eq!(seasoned.told(&row), alone, "{number}");
            alone.expect("a row that is known here").0
        });
        assert_ne!(bound[3], free[3]);
    }
}

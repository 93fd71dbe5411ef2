//! Pairs to what stages see of them; ids and digests are those that Python finds.

use prefpairs_core::identity::hexadecimal;
use prefpairs_core::pairs::{Pair, Reader};

const LINE: &str = concat!(
    r#"{"id":"51061a7da6fc41b821a1d411f1834972","group":"g","prompt":"Q","chosen":"A","#,
    r#""rejected":"B","chosen_score":0.9,"rejected_score":0.8,"gap":0.1,"chosen_index":null,"#,
    r#""rejected_index":null,"chosen_origin":"","rejected_origin":""}"#,
    "\n"
);
const CALLED: &str = concat!(
    r#"{"id":"7cac4c8515e52cee6d369dce410c4ac3","group":"prompt:a3c7b2cc00e5ce45cc7511a032ee4eb9","#,
    r#""prompt":[{"role":"user","content":"Q"}],"chosen":[{"role":"assistant","content":"","#,
    r#""tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},"#,
    r#"{"role":"tool","content":"4","tool_call_id":"call_1"},{"role":"assistant","content":"A"}],"#,
    r#""rejected":[{"role":"assistant","content":"B","reasoning_content":"hm"}],"#,
    r#""chosen_score":null,"rejected_score":null,"gap":null,"chosen_index":null,"#,
    r#""rejected_index":null,"chosen_origin":"","rejected_origin":"","#,
    r#""tools":[{"type":"function","function":{"name":"f"}}]}"#,
    "\n"
);

fn read(line: &str) -> Option<Pair> {
    Reader::default().read_light(line.as_bytes(), 10_000)
}

/// Whether Python would write a line with the same bytes, if it is known at all.
fn as_written(line: &str) -> Option<bool> {
    read(line).map(|pair| pair.as_written)
}

#[test]
fn a_pair_of_texts_is_known_and_can_be_copied() {
    let pair = read(LINE).expect("a pair that is known here");
    assert_eq!(
        (pair.gap, pair.chosen_score, pair.rejected_score),
        (Some(0.1), Some(0.9), Some(0.8))
    );
    assert_eq!(hexadecimal(&pair.prompt), "a3c7b2cc00e5ce45cc7511a032ee4eb9");
    assert_eq!(hexadecimal(&pair.chosen), "2cfad46f470ff4ef5abcc8bc3d81c142");
    assert_eq!((pair.tools, pair.other_prompt, pair.as_written), ([0; 16], [0; 16], true));
}

#[test]
fn calls_results_thinking_and_tools_are_known() {
    let pair = read(CALLED).expect("a pair that is known here");
    assert_eq!(hexadecimal(&pair.tools), "975e90d1bcc5bbaa037697926e0f117f");
    assert_eq!(hexadecimal(&pair.chosen), "cb6b88409f1871928acee3e51ee88fbf");
    assert!(pair.as_written);
    assert_eq!(as_written(&CALLED.replace("call_1", "x")), Some(false));
}

#[test]
fn what_python_would_write_with_other_bytes_is_no_copy() {
    for (from, to) in [
        (",\"group\"", ", \"group\""),
        ("\n", " \n"),
        ("\n", ""),
        ("\"A\"", "\"\\u0041\""),
        ("0.9", "9e-1"),
        ("0.1,", "0.10,"),
        ("\"gap\":0.1", "\"gap\":0.2"),
        ("\"chosen_index\":null,", ""),
        ("\"chosen_origin\":\"\"", "\"chosen_origin\":null"),
        ("\"}", "\",\"meta\":{}}"),
        ("\"}", "\",\"meta\":{\"a\":1,\"a\":1}}"),
        ("\"}", "\",\"meta\":{\"chosen_error\":1}}"),
        ("\"}", "\",\"tools\":[]}"),
    ] {
        assert_eq!(as_written(&LINE.replace(from, to)), Some(false), "{to}");
    }
    let kept = LINE.replace("\"}", "\",\"meta\":{\"a\":[1,0.5,\"\\u001f\"]}}");
    assert_eq!(as_written(&kept), Some(true));
}

#[test]
fn what_python_must_judge_is_handed_up() {
    for (from, to) in [
        ("510", "511"),
        ("\"group\"", "\"groups\""),
        ("\"group\":\"g\"", "\"group\":\"g\",\"group\":\"g\""),
        ("\"A\"", "\" \""),
        ("\"A\"", "[{\"role\":\"assistant\",\"content\":\"A\"}]"),
        ("\"A\"", "\"B\""),
        ("0.9", "\"0.9\""),
        ("0.9", "0.7"),
        ("0.9", "1e30"),
        ("0.8", "9e307"),
        ("\"}", "\",\"meta\":{\"prompt_of_rejected\":\"+1\"}}"),
        ("}", "}}"),
    ] {
        let line = LINE.replace(from, to);
        assert_eq!(as_written(&line), None, "{line}");
    }
    assert!(Reader::default().read_light(LINE.as_bytes(), 10).is_none());
    assert!(Reader::default().read_light(b"\"\xff\"", 10).is_none());
}

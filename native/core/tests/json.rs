//! What is read as JSON, and its canonical form.

use prefpairs_core::json::{Cursor, No};

fn canonical(text: &str) -> Result<String, No> {
    let mut written = String::new();
    let mut cursor = Cursor::new(text);
    cursor.canonical(&mut written)?;
    cursor.end()?;
    Ok(written)
}

#[test]
fn the_canonical_form_is_that_of_the_specification() {
    for (given, expected) in [
        (
            r#" {"b" : [1e22, 1180591620717411303424], "a": 1.50} "#,
            r#"{"a":1.5,"b":[1e22,1180591620717411303424]}"#,
        ),
        (
            "[-0, -0.0, 1E16, 1e15, 0.0001, 0.00001, 1.5e-7, 100.0]",
            "[0,-0.0,1e16,1000000000000000.0,0.0001,1e-5,1.5e-7,100.0]",
        ),
        (r#"{"a":1,"b":2,"a":{"z":0,"y":null}}"#, r#"{"a":{"y":null,"z":0},"b":2}"#),
        (r#"{"\ud83d\ude00":1,"\uffee":2}"#, "{\"\u{ffee}\":2,\"\u{1f600}\":1}"),
        (
            r#""\b\f\n\r\t\u0000\u001F\u007f\/\\\"é""#,
            "\"\\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}/\\\\\\\"é\"",
        ),
        (r#""\u0022\u005c\u000a\u0041x\u00e9\ud83d\ude00""#, r#""\"\\\nAxé😀""#),
        ("[[], {}, [{}], true, false]", "[[],{},[{}],true,false]"),
    ] {
        assert_eq!(canonical(given).as_deref(), Ok(expected));
    }
}

#[test]
fn what_is_no_json_is_none() {
    for given in [
        "",
        " ",
        "{",
        "[1,]",
        "[1 2]",
        r#"{"a"}"#,
        r#"{"a":1,}"#,
        "01",
        "+1",
        "1.",
        ".5",
        "-",
        "1e",
        "tru",
        "nulll",
        "NaN",
        "Infinity",
        r#""a"#,
        r#""\x""#,
        r#""\u12""#,
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        "\"\t\"",
        "[1]]",
        "\u{feff}1",
        "1\u{c}",
    ] {
        assert_eq!(canonical(given), Err(No::Json), "{given}");
        let mut cursor = Cursor::new(given);
        assert_eq!(cursor.skip().and_then(|()| cursor.end()), Err(No::Json), "{given}");
    }
}

#[test]
fn what_python_has_limits_for_is_left_to_it() {
    let deep = "[".repeat(101) + &"]".repeat(101);
    for given in [deep.as_str(), &"9".repeat(301), "1e999", "[-1e400]"] {
        assert_eq!(canonical(given), Err(No::Odd));
    }
    assert!(canonical(&("[".repeat(100) + &"]".repeat(100))).is_ok());
    assert!(canonical(&"9".repeat(300)).is_ok());
}

//! Text from schemas as text of a program: in comments and in literals, where it can do no harm.

use std::collections::BTreeMap;

use serde_json::Value;

use super::model::DocText;

/// Lines of a comment: no control characters, nothing that reorders text, no trailing spaces.
pub(super) fn lines(about: &DocText) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for text in [&about.title, &about.description].into_iter().flatten() {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(text.trim().split('\n').map(|line| clean(line).trim_end().to_owned()));
    }
    if lines.iter().all(String::is_empty) { Vec::new() } else { lines }
}

/// Text for the middle of a line of a comment.
pub(super) fn one_line(text: &str) -> String {
    clean(&text.replace(['\n', '`'], " "))
}

fn clean(line: &str) -> String {
    line.chars()
        .filter(|letter| !is_invisible(*letter))
        .map(|letter| if letter == '\t' { ' ' } else { letter })
        .collect()
}

/// Control characters, line separators, and those that change the direction of what follows.
fn is_invisible(letter: char) -> bool {
    let changes_direction =
        matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let separates = matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{61c}');
    (letter.is_control() && letter != '\t') || changes_direction || separates
}

/// The JSON text of a value in ASCII, with sorted keys. JSON is also TypeScript.
pub(super) fn json(value: &Value) -> String {
    let mut text = String::new();
    for letter in sorted(value).to_string().chars() {
        if letter.is_ascii() && letter != '\u{7f}' {
            text.push(letter);
        } else {
            let mut units = [0; 2];
            text.extend(letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    text
}

/// As [`json`], of a string.
pub(super) fn json_text(text: &str) -> String {
    json(&Value::from(text))
}

/// A Rust string literal.
pub(super) fn rust_literal(text: &str) -> String {
    let mut literal = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => literal.extend(['\\', letter]),
            letter if letter.is_ascii_graphic() || letter == ' ' => literal.push(letter),
            other => literal.push_str(&format!("\\u{{{:x}}}", u32::from(other))),
        }
    }
    literal.push('"');
    literal
}

/// A Rust raw string literal of ASCII text.
pub(super) fn rust_raw(text: &str) -> String {
    let mut fence = String::new();
    while text.contains(&format!("\"{fence}")) {
        fence.push('#');
    }
    format!("r{fence}\"{text}\"{fence}")
}

/// Whether maps of JSON keep their order is decided by a feature that any crate of a build can switch on.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(map) => {
            let keys: BTreeMap<&String, &Value> = map.iter().collect();
            Value::Object(keys.into_iter().map(|(key, below)| (key.clone(), sorted(below))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json as value;

    use super::*;

    #[test]
    fn literals_are_ascii_and_end_where_they_should() {
        assert_eq!(
            json(&value!({"b": "ö\u{202e}", "a": [1, "😀\u{7f}"]})),
            r#"{"a":[1,"\ud83d\ude00\u007f"],"b":"\u00f6\u202e"}"#
        );
        assert_eq!(rust_literal("a\"\\\n\u{202e}"), "\"a\\\"\\\\\\u{a}\\u{202e}\"");
        assert_eq!(rust_raw("a\"#b\"##c"), "r###\"a\"#b\"##c\"###");
    }

    #[test]
    fn comments_keep_their_lines_and_nothing_invisible() {
        let about =
            DocText { title: Some("A".into()), description: Some("b\r\n\u{202e}c\u{0}\n".into()), deprecated: None };
        assert_eq!(lines(&about), ["A", "", "b", "c"]);
        assert_eq!(lines(&DocText { title: Some(" \u{0}".into()), ..DocText::default() }), Vec::<String>::new());
    }
}

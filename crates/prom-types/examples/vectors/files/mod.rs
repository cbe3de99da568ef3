//! The files of vectors as text, made from the code they bind. The tests compare them with what is
//! committed.

mod headers;
mod partition;
mod partition_series;
mod topic_names;
mod topic_patterns;

use serde_json::Value;

/// Name and text of every file.
pub fn all() -> [(&'static str, String); 5] {
    [
        ("partition.json", partition::text()),
        ("partition_series.json", partition_series::text()),
        ("topic_patterns.json", topic_patterns::text()),
        ("topic_names.json", topic_names::text()),
        ("headers.json", headers::text()),
    ]
}

/// An object of lists, one item per line: small, and a change shows as the lines that changed.
/// Plain ASCII, so that no editor changes a key by normalising it.
fn object(members: &[(&str, Vec<Value>)]) -> String {
    let member = |(name, items): &(&str, Vec<Value>)| {
        let lines: Vec<String> = items.iter().map(Value::to_string).collect();
        format!("{}: [\n{}\n]", Value::from(*name), lines.join(",\n"))
    };
    let members: Vec<String> = members.iter().map(member).collect();
    ascii(&format!("{{\n{}\n}}\n", members.join(",\n")))
}

fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter == '\n' || (' '..='~').contains(&letter) {
            out.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    out
}

fn values<T: Into<Value>>(items: impl IntoIterator<Item = T>) -> Vec<Value> {
    items.into_iter().map(Into::into).collect()
}

//! Names for the generated code: valid in their language, each given once.

use std::collections::BTreeSet;

use prom_types::TopicName;

use crate::bundle::REFERENCE;

/// Gives each name once. A name that is taken gets a number.
#[derive(Debug, Default)]
pub(super) struct NameBook {
    taken: BTreeSet<String>,
}

impl NameBook {
    pub fn with_reserved(reserved: &[&str]) -> Self {
        Self { taken: reserved.iter().map(|name| (*name).to_owned()).collect() }
    }

    pub fn take(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        name
    }
}

/// `heartbeat.received` → `HeartbeatReceived`. A segment that looks like a version is set apart, because `orders` v2 and
/// `orders.v2` can be in one file: `orders.v2` → `Orders_V2`.
pub(super) fn of_topic(topic: &TopicName) -> String {
    let mut name = String::new();
    for segment in topic.as_str().split('.') {
        if !name.is_empty() && is_version(segment) {
            name.push('_');
        }
        name.push_str(&capitalised(segment));
    }
    starting_with_letter(name, "Topic")
}

fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Any text as a type name: `line item` and `line_item` → `LineItem`.
pub(super) fn pascal(text: &str) -> String {
    let joined: String = words(text).iter().map(|word| capitalised(word)).collect();
    starting_with_letter(joined, "Value")
}

/// Any text as a field name: `lineItem` and `line item` → `line_item`.
pub(super) fn snake(text: &str) -> String {
    let joined = words(text).iter().map(|word| word.to_ascii_lowercase()).collect::<Vec<_>>().join("_");
    starting_with_letter(joined, "field_")
}

/// The last part of a JSON pointer that says something. For a referenced schema that is its file's name.
pub(super) fn of_pointer(pointer: &str) -> String {
    let last = pointer.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
    if let Some(name) = last.strip_prefix(REFERENCE) {
        let file = name.rsplit('/').next().unwrap_or(name);
        return pascal(file.strip_suffix(".json").unwrap_or(file));
    }
    if last.bytes().all(|byte| byte.is_ascii_digit()) { pascal(pointer) } else { pascal(&last) }
}

fn starting_with_letter(name: String, prefix: &str) -> String {
    match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => name,
        _ => format!("{prefix}{name}").trim_end_matches('_').to_owned(),
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Split at everything that is not a letter or digit, and before a capital that follows a small letter. Characters outside
/// of ASCII become their numbers, so that different texts stay different.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous = ' ';
    for letter in text.chars() {
        let starts = letter.is_ascii_uppercase() && (previous.is_ascii_lowercase() || previous.is_ascii_digit());
        if starts || !letter.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            if letter.is_ascii_alphanumeric() {
                word.push(letter);
            } else if !letter.is_ascii() {
                word.push_str(&format!("u{:x}", u32::from(letter)));
                words.push(String::new());
            }
        }
        previous = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_become_type_names_that_do_not_meet_their_versions() {
        for (topic, name) in [
            ("heartbeat.received", "HeartbeatReceived"),
            ("orders.v2", "Orders_V2"),
            ("v2", "V2"),
            ("2fa.sent", "Topic2faSent"),
        ] {
            assert_eq!(of_topic(&TopicName::parse(topic).unwrap()), name);
        }
    }

    #[test]
    fn any_text_becomes_a_name() {
        for (text, type_name, field) in [
            ("line item", "LineItem", "line_item"),
            ("lineItem", "LineItem", "line_item"),
            ("HTTPServer2Go", "HTTPServer2Go", "httpserver2_go"),
            ("1st", "Value1st", "field_1st"),
            ("", "Value", "field"),
            ("*/ --", "Value", "field"),
            ("größe", "GrUf6UdfE", "gr_uf6_udf_e"),
        ] {
            assert_eq!((pascal(text).as_str(), snake(text).as_str()), (type_name, field), "{text:?}");
        }
    }

    #[test]
    fn a_name_is_given_once() {
        let mut names = NameBook::with_reserved(&["Topics"]);
        let given = ["Topics", "Orders", "Orders", "Orders_2"].map(|name| names.take(name));
        assert_eq!(given, ["Topics_2", "Orders", "Orders_2", "Orders_2_2"]);
    }
}

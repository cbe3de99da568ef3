//! Formats, where they are asserted: whether a string has one, by the validator's own check, and strings that do.

use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Value, json};

/// One validator per format, built when first needed.
#[derive(Default)]
pub(super) struct FormatChecks {
    built: HashMap<String, Option<Validator>>,
}

impl FormatChecks {
    /// An unknown format refuses nothing. `None` where no check could be built.
    pub fn accepts(&mut self, format: &str, text: &str) -> Option<bool> {
        let check = self.built.entry(format.to_owned()).or_insert_with(|| {
            let options = jsonschema::options().should_validate_formats(true).should_ignore_unknown_formats(true);
            options.build(&json!({ "format": format })).ok()
        });
        Some(check.as_ref()?.is_valid(&Value::from(text)))
    }
}

/// Strings of many formats. The right ones are found by trying.
pub(super) const SAMPLES: [&str; 22] = [
    "2024-02-29",
    "2024-02-29T23:59:59Z",
    "2024-02-29T23:59:59.5+02:00",
    "12:30:00Z",
    "P1DT2H",
    "a@example.org",
    "example.org",
    "192.0.2.1",
    "2001:db8::1",
    "https://example.org/a?b=c#d",
    "/a/b",
    "#a",
    "https://example.org/{a}",
    "/a~1b/0",
    "0/a",
    "123e4567-e89b-12d3-a456-426614174000",
    "^a+$",
    "",
    "a",
    "not a date",
    "0",
    "%",
];

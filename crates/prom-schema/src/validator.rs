//! A compiled schema: whether a payload is of its version, and if not, where and why.

use serde_json::Value;

use crate::bundle::bundle;
use crate::cost::{SchemaCost, cost};
use crate::document::SchemaDocument;
use crate::error::{Refusal, SchemaError};
use crate::limits::{
    MEMORY_PER_PATTERN_BYTE, MEMORY_PER_SCHEMA_BYTE, PATTERN_BACKTRACKS, PATTERN_PROGRAM_BYTES, QUOTED_CHARS, REFUSALS,
};
use crate::multiple;
use crate::settings::Formats;

/// Compiled once, used by every publish.
pub struct Validator {
    compiled: jsonschema::Validator,
    width: usize,
    memory_bytes: usize,
}

impl Validator {
    /// Compiles a schema. `referenced` holds the schemas that it refers to, by the names it uses, each bundled.
    /// Takes as long as the limits allow: not for a thread that serves others.
    pub fn compile(
        document: &SchemaDocument,
        referenced: &[(String, Value)],
        formats: Formats,
    ) -> Result<Self, SchemaError> {
        let bundled = bundle(document, referenced);
        let SchemaCost { width, pattern_bytes } = cost(&bundled)?;
        let memory_bytes = MEMORY_PER_SCHEMA_BYTE * bundled.to_string().len() + MEMORY_PER_PATTERN_BYTE * pattern_bytes;
        // Patterns without look-around run in linear time all the same.
        let patterns = jsonschema::PatternOptions::fancy_regex()
            .backtrack_limit(PATTERN_BACKTRACKS)
            .size_limit(PATTERN_PROGRAM_BYTES)
            .dfa_size_limit(PATTERN_PROGRAM_BYTES);
        let options = jsonschema::options()
            .should_validate_formats(formats == Formats::Assert)
            // Draft 7 asserts these, the later drafts do not, and the comparison of versions reads them as remarks.
            .without_content_media_type_support("application/json")
            .without_content_encoding_support("base64")
            .with_keyword(multiple::NAME, multiple::compile)
            .with_pattern_options(patterns)
            .offline();
        let compiled = options.build(&bundled).map_err(|error| refused(&error))?;
        Ok(Self { compiled, width, memory_bytes })
    }

    /// The first thing that is wrong with a payload.
    pub fn validate(&self, payload: &Value) -> Result<(), Refusal> {
        if self.compiled.is_valid(payload) {
            return Ok(());
        }
        self.compiled.validate(payload).map_err(|error| refusal(&error))
    }

    /// Everything that is wrong with a payload, as far as it can be told apart. For code and tools; an event needs the first.
    pub fn refusals(&self, payload: &Value) -> Vec<Refusal> {
        self.compiled.iter_errors(payload).take(REFUSALS).map(|error| refusal(&error)).collect()
    }

    /// How many steps each value of a payload takes at the most.
    pub fn width(&self) -> usize {
        self.width
    }

    /// What it takes in memory, roughly; the same on every machine.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

impl std::fmt::Debug for Validator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Validator(width {})", self.width)
    }
}

fn refusal(error: &jsonschema::ValidationError<'_>) -> Refusal {
    Refusal {
        pointer: error.instance_path().to_string(),
        rule: error.kind().keyword().to_owned(),
        schema_pointer: error.schema_path().to_string(),
        value: shortened(&error.instance().to_string()),
        message: shortened_message(&error.to_string()),
    }
}

fn refused(error: &jsonschema::ValidationError<'_>) -> SchemaError {
    let reason = error.to_string();
    match error.kind() {
        jsonschema::error::ValidationErrorKind::Referencing(_) => SchemaError::Elsewhere { reference: reason },
        _ => SchemaError::Invalid { pointer: error.instance_path().to_string(), reason: shortened_message(&reason) },
    }
}

fn shortened(text: &str) -> String {
    cut(text, QUOTED_CHARS)
}

/// A message quotes the value, which may be the whole payload.
fn shortened_message(text: &str) -> String {
    cut(text, 3 * QUOTED_CHARS)
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compile(schema: Value) -> Result<Validator, SchemaError> {
        Validator::compile(&SchemaDocument::new(schema, Vec::new())?, &[], Formats::Annotate)
    }

    #[test]
    fn patterns_with_look_around_are_judged_and_give_up_where_they_would_go_back_for_ever() {
        // As Zod exports an e-mail address.
        let address =
            r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";
        let validator = compile(json!({"pattern": address})).unwrap();
        assert!(validator.width() >= 1000, "{}", validator.width());
        for (text, fits) in
            [("team@example.com", true), ("first.last+tag@sub.example.org", true), ("a..b@example.com", false)]
        {
            assert_eq!(validator.validate(&json!(text)).is_ok(), fits, "{text}");
        }
        let bomb = compile(json!({"pattern": "^(?=(a+)+$)b"})).unwrap();
        let refusal = bomb.validate(&json!("a".repeat(60) + "!")).unwrap_err();
        assert_eq!(refusal.rule, "pattern");
    }

    #[test]
    fn a_refusal_names_place_rule_and_value() {
        let validator = compile(
            json!({"type": "object", "properties": {"cpu": {"type": "number", "maximum": 100}}, "required": ["pid"]}),
        )
        .unwrap();
        assert_eq!(validator.validate(&json!({"pid": 1, "cpu": 3.5})), Ok(()));
        let refusal = validator.validate(&json!({"pid": 1, "cpu": 250})).unwrap_err();
        assert_eq!(
            (refusal.pointer.as_str(), refusal.rule.as_str(), refusal.value.as_str()),
            ("/cpu", "maximum", "250")
        );
        assert_eq!(refusal.schema_pointer, "/properties/cpu/maximum");
        let refusal = validator.validate(&json!({"cpu": 1})).unwrap_err();
        assert_eq!((refusal.pointer.as_str(), refusal.rule.as_str()), ("", "required"));
        assert!(refusal.to_string().contains("pid"), "{refusal}");
    }

    #[test]
    fn a_refusal_stays_short() {
        let refusal = compile(json!({"type": "integer"})).unwrap().validate(&json!("x".repeat(10_000))).unwrap_err();
        assert!(refusal.value.len() < 200 && refusal.message.len() < 500, "{refusal}");
    }

    #[test]
    fn what_cannot_be_compiled_says_where() {
        let told = compile(json!({"properties": {"a": {"type": "strung"}}})).unwrap_err().to_string();
        assert!(told.contains("/properties/a/type"), "{told}");
        let told = compile(json!({"pattern": "("})).unwrap_err().to_string();
        assert!(told.contains("/pattern"), "{told}");
        let told = compile(json!({"$ref": "https://example.com/a.json"})).unwrap_err();
        assert!(matches!(told, SchemaError::Elsewhere { .. }), "{told:?}");
        assert!(compile(json!({"pattern": "(a{0,300}){0,300}b"})).is_err());
    }

    #[test]
    fn older_drafts_are_read_as_what_they_are() {
        let seven =
            compile(json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}],
            "additionalItems": false}))
            .unwrap();
        assert!(seven.validate(&json!(["a"])).is_ok() && seven.validate(&json!(["a", 1])).is_err());
    }

    #[test]
    fn encodings_of_strings_are_notes_in_every_draft() {
        for draft in ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"] {
            let schema = json!({"$schema": draft, "contentEncoding": "base64", "contentMediaType": "application/json"});
            assert_eq!(compile(schema).unwrap().validate(&json!("%")), Ok(()), "{draft}");
        }
    }

    #[test]
    fn formats_are_notes_unless_asserted() {
        let document = SchemaDocument::new(json!({"format": "date"}), Vec::new()).unwrap();
        for (formats, passes) in [(Formats::Annotate, true), (Formats::Assert, false)] {
            let validator = Validator::compile(&document, &[], formats).unwrap();
            assert_eq!(validator.validate(&json!("yesterday")).is_ok(), passes);
        }
    }

    #[test]
    fn a_referenced_schema_is_found_by_its_name() {
        let document =
            SchemaDocument::new(json!({"properties": {"to": {"$ref": "address.json"}}}), Vec::new()).unwrap();
        let address = json!({"type": "object", "required": ["city"]});
        let validator =
            Validator::compile(&document, &[("address.json".to_owned(), address)], Formats::Annotate).unwrap();
        assert!(validator.validate(&json!({"to": {"city": "Oslo"}})).is_ok());
        assert_eq!(validator.validate(&json!({"to": {}})).unwrap_err().pointer, "/to");
    }
}

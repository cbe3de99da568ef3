//! The drafts of JSON Schema that are read, and where they differ.

use serde_json::Value;

use super::invalid;
use crate::compat::error::SchemaError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::compat) enum Draft {
    Draft7,
    Draft201909,
    Draft202012,
}

impl Draft {
    pub fn of(schema: &Value) -> Result<Self, SchemaError> {
        match schema.get("$schema") {
            None => Ok(Self::Draft202012),
            Some(Value::String(uri)) => Self::named(uri).ok_or_else(|| SchemaError::UnknownDraft { uri: uri.clone() }),
            Some(other) => Err(SchemaError::UnknownDraft { uri: other.to_string() }),
        }
    }

    pub fn named(uri: &str) -> Option<Self> {
        let uri = uri.trim_end_matches('#');
        let name = uri.strip_prefix("http://json-schema.org/").or_else(|| uri.strip_prefix("https://json-schema.org/"));
        match name? {
            "draft-07/schema" => Some(Self::Draft7),
            "draft/2019-09/schema" => Some(Self::Draft201909),
            "draft/2020-12/schema" => Some(Self::Draft202012),
            _ => None,
        }
    }

    /// Whether the schema has the form that its draft demands.
    pub fn validate(self, schema: &Value) -> Result<(), SchemaError> {
        let checked = match self {
            Self::Draft7 => jsonschema::draft7::meta::validate(schema),
            Self::Draft201909 => jsonschema::draft201909::meta::validate(schema),
            Self::Draft202012 => jsonschema::draft202012::meta::validate(schema),
        };
        checked.map_err(|error| invalid(error.instance_path().as_str(), &shorten(&error.to_string())))
    }

    /// An unknown format refuses nothing.
    pub fn knows_format(self, format: &str) -> bool {
        jsonschema::options().is_known_format(self.for_validator(), format)
    }

    pub fn for_validator(self) -> jsonschema::Draft {
        match self {
            Self::Draft7 => jsonschema::Draft::Draft7,
            Self::Draft201909 => jsonschema::Draft::Draft201909,
            Self::Draft202012 => jsonschema::Draft::Draft202012,
        }
    }

    /// Up to draft 7, keywords beside `$ref` are ignored.
    pub fn reads_beside_ref(self) -> bool {
        self != Self::Draft7
    }
}

/// A message of the validator quotes the value, which may be long.
fn shorten(message: &str) -> String {
    const CHARACTERS: usize = 200;
    match message.char_indices().nth(CHARACTERS) {
        Some((at, _)) => format!("{}…", &message[..at]),
        None => message.to_owned(),
    }
}

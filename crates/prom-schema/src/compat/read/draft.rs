//! Which draft a schema is written in, and whether it has the form that the draft demands.

use serde_json::Value;

use super::invalid;
use crate::compat::error::CompareError;
use crate::draft::Draft;

impl Draft {
    /// Where a schema names none it is read as 2020-12.
    pub fn of(schema: &Value) -> Result<Self, CompareError> {
        match schema.get("$schema") {
            None => Ok(Self::Draft202012),
            Some(Value::String(uri)) => Self::named(uri).ok_or_else(|| CompareError::UnknownDraft { uri: uri.clone() }),
            Some(other) => Err(CompareError::UnknownDraft { uri: other.to_string() }),
        }
    }

    /// Whether the schema has the form that its draft demands.
    pub fn validate(self, schema: &Value) -> Result<(), CompareError> {
        let checked = match self {
            Self::Draft7 => jsonschema::draft7::meta::validate(schema),
            Self::Draft201909 => jsonschema::draft201909::meta::validate(schema),
            Self::Draft202012 => jsonschema::draft202012::meta::validate(schema),
        };
        checked.map_err(|error| invalid(error.instance_path().as_str(), &shorten(&error.to_string())))
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

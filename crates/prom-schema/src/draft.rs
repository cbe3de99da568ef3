//! The drafts of JSON Schema that are read, and where they differ.

/// Keywords whose value is a schema, an array of schemas, or an object of schemas.
pub(crate) const SCHEMAS: [&str; 22] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "dependencies",
    "dependentSchemas",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$defs",
    "definitions",
];
/// Of these, the ones with an object of schemas.
pub(crate) const NAMED: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Draft {
    Draft7,
    Draft201909,
    Draft202012,
}

impl Draft {
    /// The draft that `$schema` names.
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

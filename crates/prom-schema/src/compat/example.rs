//! A pair of schemas for each rule: what breaks it, why, and the upcaster that makes the change safe.
//!
//! The guide and `prom schema explain` show what the comparison says about these pairs, so they cannot say anything else.

use std::time::Duration;

use serde_json::Value;

use super::check::check;
use super::error::CompareError;
use super::rule::CompatRule;
use super::settings::{Budget, Formats, Settings};
use super::violation::Violation;

/// Two schemas of which the second breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleExample {
    pub rule: CompatRule,
    pub old: &'static str,
    pub new: &'static str,
    /// Why there is a document that the old schema accepts and the new one refuses.
    pub why: &'static str,
    /// A jq program that turns documents of the old schema into valid ones of the new.
    pub upcast: Option<&'static str>,
}

impl RuleExample {
    /// The schemas, read.
    pub fn schemas(&self) -> Result<(Value, Value), serde_json::Error> {
        Ok((serde_json::from_str(self.old)?, serde_json::from_str(self.new)?))
    }

    /// The setting under which it is a violation.
    pub fn formats(&self) -> Formats {
        if self.rule == CompatRule::FormatChanged { Formats::Assert } else { Formats::Annotate }
    }

    /// What the comparison says: the violation of this rule.
    pub fn violation(&self) -> Result<Option<Violation>, CompareError> {
        let invalid =
            |error: serde_json::Error| CompareError::Invalid { pointer: String::new(), message: error.to_string() };
        let (old, new) = self.schemas().map_err(invalid)?;
        // Steps decide and not the clock, so that a busy machine gives the same answer.
        let budget = Budget { time: Duration::from_secs(60), ..Budget::default() };
        let found = check(&old, &new, &Settings { formats: self.formats(), budget, ..Settings::default() })?;
        Ok(found.into_iter().find(|violation| violation.rule == self.rule))
    }
}

impl CompatRule {
    pub fn example(self) -> RuleExample {
        let [old, new, why, upcast] = self.pair();
        RuleExample { rule: self, old, new, why, upcast: Some(upcast).filter(|program| !program.is_empty()) }
    }

    fn pair(self) -> [&'static str; 4] {
        self.pair_of_values()
            .or_else(|| self.pair_of_arrays())
            .or_else(|| self.pair_of_objects())
            .unwrap_or_else(|| self.pair_of_combinations())
    }

    fn pair_of_values(self) -> Option<[&'static str; 4]> {
        Some(match self {
            Self::TypeNarrowed => [
                r#"{"properties": {"id": {"type": ["integer", "string"]}}}"#,
                r#"{"properties": {"id": {"type": "string"}}}"#,
                "An `id` that is an integer is stored already, and the new schema takes only text.",
                "if has(\"id\") then .id |= tostring end",
            ],
            Self::EnumNarrowed => [
                r#"{"properties": {"status": {"enum": ["alive", "stale", "lost"]}}}"#,
                r#"{"properties": {"status": {"enum": ["alive", "stale"]}}}"#,
                "One of the three states is not listed any more.",
                "if .status == \"lost\" then .status = \"stale\" end",
            ],
            Self::ConstChanged => [
                r#"{"properties": {"kind": {"const": "card"}}}"#,
                r#"{"properties": {"kind": {"const": "credit-card"}}}"#,
                "Every document of the old schema that has a `kind` has the other one.",
                "if has(\"kind\") then .kind = \"credit-card\" end",
            ],
            Self::MinimumRaised => [
                r#"{"properties": {"count": {"type": "integer", "minimum": 0}}}"#,
                r#"{"properties": {"count": {"type": "integer", "minimum": 1}}}"#,
                "A count of 0 was fine before.",
                "if .count == 0 then del(.count) end",
            ],
            Self::MaximumLowered => [
                r#"{"properties": {"cpu_pct": {"type": "number", "maximum": 800}}}"#,
                r#"{"properties": {"cpu_pct": {"type": "number", "maximum": 100}}}"#,
                "Eight busy processors gave 800 percent, and the new schema counts all of them as 100.",
                "if has(\"cpu_pct\") then .cpu_pct |= (. / 8) end",
            ],
            Self::MultipleOfChanged => [
                r#"{"properties": {"price": {"type": "number", "multipleOf": 0.01}}}"#,
                r#"{"properties": {"price": {"type": "number", "multipleOf": 0.05}}}"#,
                "A price of one cent is a multiple of 0.01 and not of 0.05.",
                "if has(\"price\") then .price |= ((. / 0.05 | round) / 20) end",
            ],
            Self::MinLengthRaised => [
                r#"{"properties": {"name": {"type": "string"}}}"#,
                r#"{"properties": {"name": {"type": "string", "minLength": 1}}}"#,
                "An empty name was accepted.",
                "if .name == \"\" then del(.name) end",
            ],
            Self::MaxLengthLowered => [
                r#"{"properties": {"note": {"type": "string", "maxLength": 200}}}"#,
                r#"{"properties": {"note": {"type": "string", "maxLength": 80}}}"#,
                "A note of 81 characters was accepted.",
                "if has(\"note\") then .note |= .[:80] end",
            ],
            Self::PatternChanged => [
                r#"{"properties": {"zip": {"type": "string", "pattern": "^[0-9]{4,5}$"}}}"#,
                r#"{"properties": {"zip": {"type": "string", "pattern": "^[0-9]{5}$"}}}"#,
                "Four digits match the old pattern and not the new one.",
                "if (.zip // \"\" | length) == 4 then .zip |= \"0\" + . end",
            ],
            Self::FormatChanged => [
                r#"{"properties": {"at": {"type": "string"}}}"#,
                r#"{"properties": {"at": {"type": "string", "format": "date-time"}}}"#,
                "Any text was accepted. It is a violation only where `formats` is `assert`.",
                "del(.at)",
            ],
            _ => return None,
        })
    }

    fn pair_of_arrays(self) -> Option<[&'static str; 4]> {
        Some(match self {
            Self::MinItemsRaised => [
                r#"{"properties": {"lines": {"type": "array"}}}"#,
                r#"{"properties": {"lines": {"type": "array", "minItems": 1}}}"#,
                "An empty list was accepted.",
                "if .lines == [] then del(.lines) end",
            ],
            Self::MaxItemsLowered => [
                r#"{"properties": {"tags": {"type": "array", "maxItems": 3}}}"#,
                r#"{"properties": {"tags": {"type": "array", "maxItems": 2}}}"#,
                "A list of three was accepted.",
                "if has(\"tags\") then .tags |= .[:2] end",
            ],
            Self::UniqueItemsAdded => [
                r#"{"properties": {"tags": {"type": "array", "items": {"type": "string"}}}}"#,
                r#"{"properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}}}"#,
                "The same tag twice was accepted.",
                "if has(\"tags\") then .tags |= unique end",
            ],
            Self::ContainsChanged => [
                r#"{"properties": {"roles": {"type": "array", "items": {"type": "string"}}}}"#,
                r#"{"properties": {"roles": {"type": "array", "items": {"type": "string"}, "contains": {"const": "user"}}}}"#,
                "A list without the role `user` was accepted.",
                "if has(\"roles\") then .roles += [\"user\"] end",
            ],
            Self::ItemsClosed => [
                r#"{"properties": {"position": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}]}}}"#,
                r#"{"properties": {"position": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": false}}}"#,
                "A third item was accepted, whatever it was.",
                "if has(\"position\") then .position |= .[:2] end",
            ],
            _ => return None,
        })
    }

    fn pair_of_objects(self) -> Option<[&'static str; 4]> {
        Some(match self {
            Self::RequiredAdded => [
                r#"{"type": "object", "properties": {"id": {"type": "integer"}, "host": {"type": "string"}}, "required": ["id"]}"#,
                r#"{"type": "object", "properties": {"id": {"type": "integer"}, "host": {"type": "string"}}, "required": ["id", "host"]}"#,
                "Events without `host` are stored already. Writers that do not know of it go on sending such events.",
                ".host //= \"unknown\"",
            ],
            Self::PropertiesClosed => [
                r#"{"type": "object", "properties": {"id": {"type": "integer"}, "note": {"type": "string"}}, "additionalProperties": false}"#,
                r#"{"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": false}"#,
                "A document with a `note` was accepted. The new schema is closed and does not know it any more.",
                "del(.note)",
            ],
            Self::MinPropertiesRaised => [
                r#"{"type": "object", "additionalProperties": {"type": "number"}}"#,
                r#"{"type": "object", "additionalProperties": {"type": "number"}, "minProperties": 1}"#,
                "An empty object was accepted.",
                "if . == {} then .total = 0 end",
            ],
            Self::MaxPropertiesLowered => [
                r#"{"type": "object", "additionalProperties": {"type": "number"}, "maxProperties": 2}"#,
                r#"{"type": "object", "additionalProperties": {"type": "number"}, "maxProperties": 1}"#,
                "An object with two numbers was accepted.",
                "to_entries[:1] | from_entries",
            ],
            Self::PropertyNamesNarrowed => [
                r#"{"type": "object", "additionalProperties": {"type": "number"}}"#,
                r#"{"type": "object", "additionalProperties": {"type": "number"}, "propertyNames": {"maxLength": 3}}"#,
                "A name of four letters was accepted.",
                "with_entries(.key |= .[:3])",
            ],
            Self::DependencyAdded => [
                r#"{"type": "object", "properties": {"card": {"type": "string"}, "bank": {"type": "string"}}}"#,
                r#"{"type": "object", "properties": {"card": {"type": "string"}, "bank": {"type": "string"}}, "dependentRequired": {"card": ["bank"]}}"#,
                "A document with a `card` and without a `bank` was accepted.",
                "if has(\"card\") then .bank //= \"unknown\" end",
            ],
            Self::UnevaluatedNarrowed => [
                r#"{"type": "object", "allOf": [{"properties": {"id": {"type": "integer"}}}], "properties": {"note": {"type": "string"}}}"#,
                r#"{"type": "object", "allOf": [{"properties": {"id": {"type": "integer"}}}], "unevaluatedProperties": false}"#,
                "A document with a `note` was accepted. No keyword of the new schema looks at `note`, and what is left is refused.",
                "del(.note)",
            ],
            _ => return None,
        })
    }

    fn pair_of_combinations(self) -> [&'static str; 4] {
        match self {
            Self::AnyOfNarrowed => [
                r#"{"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}"#,
                r#"{"anyOf": [{"type": "string"}, {"type": "integer"}]}"#,
                "The branch that accepted null is gone.",
                "if . == null then \"\" end",
            ],
            Self::OneOfNarrowed => [
                r#"{"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}"#,
                r#"{"oneOf": [{"type": "string"}, {"type": "integer"}]}"#,
                "The branch that accepted null is gone.",
                "if . == null then \"\" end",
            ],
            Self::OneOfOverlap => [
                r#"{"oneOf": [{"type": "integer", "minimum": 10}, {"type": "integer", "maximum": 5}]}"#,
                r#"{"oneOf": [{"type": "integer", "minimum": 0}, {"type": "integer", "maximum": 5}]}"#,
                "Between 0 and 5 both branches of the new schema accept, and `oneOf` wants exactly one.",
                "if . >= 0 and . <= 5 then 6 end",
            ],
            Self::NotAdded => [
                r#"{"properties": {"name": {"type": "string"}}}"#,
                r#"{"properties": {"name": {"type": "string", "not": {"const": "root"}}}}"#,
                "The one name that is refused now was accepted.",
                "if .name == \"root\" then .name = \"admin\" end",
            ],
            Self::ConditionChanged => [
                r#"{"properties": {"status": {"enum": ["new", "sent"]}, "sent_at": {"type": "string"}}}"#,
                r#"{"properties": {"status": {"enum": ["new", "sent"]}, "sent_at": {"type": "string"}}, "if": {"required": ["status"], "properties": {"status": {"const": "sent"}}}, "then": {"required": ["sent_at"]}}"#,
                "An event that is `sent` and does not say when was accepted.",
                "if .status == \"sent\" then .sent_at //= \"unknown\" end",
            ],
            Self::SchemaFalse => [r#"{"type": "string"}"#, "false", "Nothing is valid under `false`.", ""],
            Self::CounterExample => [
                r#"{"type": "object", "properties": {"parent": {"type": "string"}}}"#,
                r##"{"$dynamicAnchor": "node", "type": "object", "properties": {"parent": {"$dynamicRef": "#node"}}, "$defs": {"leaf": {"$id": "leaf", "$dynamicAnchor": "node"}}}"##,
                "What `$dynamicRef` means depends on the way to it, so no keyword is blamed. Trying out documents found one.",
                "del(.parent)",
            ],
            // `pair` has asked the other groups before.
            _ => [
                r##"{"$dynamicAnchor": "node", "type": "object", "properties": {"parent": {"$dynamicRef": "#node"}}, "$defs": {"leaf": {"$id": "leaf", "$dynamicAnchor": "node"}}}"##,
                r##"{"$dynamicAnchor": "node", "type": "object", "properties": {"parent": {"$dynamicRef": "#node"}, "note": {"type": "string"}}, "$defs": {"leaf": {"$id": "leaf", "$dynamicAnchor": "node"}}}"##,
                "The change is harmless, but what `$dynamicRef` means depends on the way to it. So there is no proof, and no document against it.",
                ".",
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SchemaDocument, Upcaster, Upcasters, Validator};

    /// As the hub compiles it.
    fn compiled(schema: Value, formats: Formats) -> Validator {
        Validator::compile(&SchemaDocument::new(schema, Vec::new()).unwrap(), &[], formats).unwrap()
    }

    #[test]
    fn every_pair_breaks_its_rule_and_its_upcaster_mends_it() {
        for rule in CompatRule::ALL {
            let example = rule.example();
            let (old, new) = example.schemas().unwrap();
            let violation =
                example.violation().unwrap().unwrap_or_else(|| panic!("{rule} is not broken by {old} {new}"));
            let (old, new) = (compiled(old, example.formats()), compiled(new, example.formats()));
            let Some(document) = violation.example else {
                assert_eq!(rule, CompatRule::Undecided);
                continue;
            };
            assert!(old.validate(&document).is_ok() && new.validate(&document).is_err(), "{rule}: {document}");
            let Some(program) = example.upcast else {
                assert_eq!(rule, CompatRule::SchemaFalse);
                continue;
            };
            let mut steps = Upcasters::default();
            steps.insert(1, Upcaster::jq(program).unwrap());
            let mended = steps.run(document.to_string().as_bytes(), [1]).unwrap().unwrap();
            let mended: Value = serde_json::from_slice(&mended.text).unwrap();
            assert_eq!(new.validate(&mended), Ok(()), "{rule}: {document} became {mended}");
        }
    }
}

//! The rules that a violation names. These words and the pairs in `example` make `prom schema explain` and
//! `docs/guide/schema-rules.md`.

use std::fmt;

/// Why a schema is incompatible with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CompatRule {
    TypeNarrowed,
    EnumNarrowed,
    ConstChanged,
    MinimumRaised,
    MaximumLowered,
    MultipleOfChanged,
    MinLengthRaised,
    MaxLengthLowered,
    PatternChanged,
    FormatChanged,
    MinItemsRaised,
    MaxItemsLowered,
    UniqueItemsAdded,
    ContainsChanged,
    ItemsClosed,
    RequiredAdded,
    PropertiesClosed,
    MinPropertiesRaised,
    MaxPropertiesLowered,
    PropertyNamesNarrowed,
    DependencyAdded,
    AnyOfNarrowed,
    OneOfNarrowed,
    OneOfOverlap,
    NotAdded,
    ConditionChanged,
    UnevaluatedNarrowed,
    SchemaFalse,
    CounterExample,
    Undecided,
}

/// What people read about a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleText {
    /// Stable; part of answers and addresses.
    pub id: &'static str,
    pub title: &'static str,
    pub explanation: &'static str,
    /// How the change is made safely.
    pub fix: &'static str,
}

/// What helps against every narrowing, after what is special to the rule.
const UPCAST: &str = "write an upcaster that turns old documents into valid new ones, or publish to a new topic";
const WIDEN: &str =
    "keep the old limit, or write an upcaster; with dual write, readers of the old form can follow its own topic";

const fn text(id: &'static str, title: &'static str, explanation: &'static str, fix: &'static str) -> RuleText {
    RuleText { id, title, explanation, fix }
}

impl CompatRule {
    pub const ALL: [Self; 30] = [
        Self::TypeNarrowed,
        Self::EnumNarrowed,
        Self::ConstChanged,
        Self::MinimumRaised,
        Self::MaximumLowered,
        Self::MultipleOfChanged,
        Self::MinLengthRaised,
        Self::MaxLengthLowered,
        Self::PatternChanged,
        Self::FormatChanged,
        Self::MinItemsRaised,
        Self::MaxItemsLowered,
        Self::UniqueItemsAdded,
        Self::ContainsChanged,
        Self::ItemsClosed,
        Self::RequiredAdded,
        Self::PropertiesClosed,
        Self::MinPropertiesRaised,
        Self::MaxPropertiesLowered,
        Self::PropertyNamesNarrowed,
        Self::DependencyAdded,
        Self::AnyOfNarrowed,
        Self::OneOfNarrowed,
        Self::OneOfOverlap,
        Self::NotAdded,
        Self::ConditionChanged,
        Self::UnevaluatedNarrowed,
        Self::SchemaFalse,
        Self::CounterExample,
        Self::Undecided,
    ];

    pub fn id(self) -> &'static str {
        self.text().id
    }

    /// The rule of an id.
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.id() == id)
    }

    pub fn text(self) -> RuleText {
        self.text_of_values()
            .or_else(|| self.text_of_arrays())
            .or_else(|| self.text_of_objects())
            .unwrap_or_else(|| self.text_of_combinations())
    }

    fn text_of_values(self) -> Option<RuleText> {
        Some(match self {
            Self::TypeNarrowed => text(
                "type-narrowed",
                "A type is no longer accepted",
                "`type` lists fewer types than the other schema accepts here. `integer` is narrower than `number`; `1.0` is an \
                 integer.",
                UPCAST,
            ),
            Self::EnumNarrowed => text(
                "enum-narrowed",
                "A value is missing from `enum`",
                "The other schema accepts a value that `enum` does not list.",
                "keep the old values listed until no document has them, or write an upcaster that replaces them",
            ),
            Self::ConstChanged => text(
                "const-changed",
                "`const` refuses other values",
                "The other schema accepts a value that differs from `const`. `1` and `1.0` are the same value.",
                "list both values with `enum`, or write an upcaster that replaces the old one",
            ),
            Self::MinimumRaised => text(
                "minimum-raised",
                "A lower bound refuses smaller numbers",
                "`minimum` or `exclusiveMinimum` refuses numbers that the other schema accepts.",
                WIDEN,
            ),
            Self::MaximumLowered => text(
                "maximum-lowered",
                "An upper bound refuses larger numbers",
                "`maximum` or `exclusiveMaximum` refuses numbers that the other schema accepts.",
                WIDEN,
            ),
            Self::MultipleOfChanged => text(
                "multiple-of-changed",
                "`multipleOf` refuses numbers",
                "The other schema accepts a number that is not a multiple. Decimals count as they are written: `0.3` is a \
                 multiple of `0.1`.",
                "use a divisor of the old value, or write an upcaster that rounds",
            ),
            Self::MinLengthRaised => text(
                "min-length-raised",
                "`minLength` refuses shorter strings",
                "The other schema accepts shorter strings. Length is counted in code points, not in bytes.",
                WIDEN,
            ),
            Self::MaxLengthLowered => text(
                "max-length-lowered",
                "`maxLength` refuses longer strings",
                "The other schema accepts longer strings. Length is counted in code points, not in bytes.",
                WIDEN,
            ),
            Self::PatternChanged => text(
                "pattern-changed",
                "`pattern` refuses strings",
                "The other schema accepts a string that the pattern does not match. Patterns are compared by the strings they \
                 match, not by their text; a pattern without `^` and `$` matches anywhere.",
                "widen the pattern so that it also matches the old strings, or write an upcaster",
            ),
            Self::FormatChanged => text(
                "format-changed",
                "`format` refuses strings",
                "With `formats = \"assert\"` the other schema accepts a string that is not in this format.",
                "drop the format, or let `formats` be `annotate`",
            ),
            _ => return None,
        })
    }

    fn text_of_arrays(self) -> Option<RuleText> {
        Some(match self {
            Self::MinItemsRaised => text(
                "min-items-raised",
                "`minItems` refuses shorter arrays",
                "The other schema accepts shorter arrays.",
                WIDEN,
            ),
            Self::MaxItemsLowered => text(
                "max-items-lowered",
                "`maxItems` refuses longer arrays",
                "The other schema accepts longer arrays.",
                WIDEN,
            ),
            Self::UniqueItemsAdded => text(
                "unique-items-added",
                "`uniqueItems` refuses repeated items",
                "The other schema accepts an array in which an item occurs twice.",
                "write an upcaster that removes repeated items",
            ),
            Self::ContainsChanged => text(
                "contains-changed",
                "`contains` refuses arrays",
                "The other schema accepts an array with fewer matching items than `minContains` (1 by default), or with more \
                 than `maxContains`.",
                UPCAST,
            ),
            Self::ItemsClosed => text(
                "items-closed",
                "Items are no longer accepted",
                "A schema `false` for items refuses positions that the other schema accepts.",
                "keep the positions, or write an upcaster that removes them",
            ),
            _ => return None,
        })
    }

    fn text_of_objects(self) -> Option<RuleText> {
        Some(match self {
            Self::RequiredAdded => text(
                "required-added",
                "A property became required",
                "The other schema accepts documents without this property. A `default` does not help: defaults are not \
                 filled in.",
                "make it optional, or write an upcaster that adds it",
            ),
            Self::PropertiesClosed => text(
                "properties-closed",
                "A property is no longer accepted",
                "A closed model refuses a property that the other schema accepts: it is missing from `properties`, and \
                 `additionalProperties` or its own schema is `false`. Under the policy `strict` this includes properties that \
                 an open model never declared.",
                "keep the property declared as optional, or write an upcaster that removes it",
            ),
            Self::MinPropertiesRaised => text(
                "min-properties-raised",
                "`minProperties` refuses smaller objects",
                "The other schema accepts objects with fewer properties.",
                WIDEN,
            ),
            Self::MaxPropertiesLowered => text(
                "max-properties-lowered",
                "`maxProperties` refuses larger objects",
                "The other schema accepts objects with more properties. Undeclared ones are counted under both policies.",
                WIDEN,
            ),
            Self::PropertyNamesNarrowed => text(
                "property-names-narrowed",
                "`propertyNames` refuses names",
                "The other schema accepts a property name that `propertyNames` refuses. Undeclared ones are checked under both \
                 policies.",
                "widen `propertyNames`, or write an upcaster that renames",
            ),
            Self::DependencyAdded => text(
                "dependency-added",
                "A property now demands something else",
                "`dependentRequired`, `dependentSchemas` or `dependencies` demands something if a property is present, and the \
                 other schema accepts documents with that property and without the rest.",
                "drop the dependency, or write an upcaster that fulfils it",
            ),
            Self::UnevaluatedNarrowed => text(
                "unevaluated-narrowed",
                "`unevaluatedProperties` or `unevaluatedItems` refuses documents",
                "What no other keyword has looked at is refused, and the other schema accepts it.",
                "declare what the other schema accepts, or write an upcaster that removes it",
            ),
            _ => return None,
        })
    }

    fn text_of_combinations(self) -> RuleText {
        match self {
            Self::AnyOfNarrowed => text(
                "any-of-narrowed",
                "No branch of `anyOf` accepts",
                "The other schema accepts a document that no branch of `anyOf` accepts.",
                "keep a branch for the old form, or write an upcaster",
            ),
            Self::OneOfNarrowed => text(
                "one-of-narrowed",
                "No branch of `oneOf` accepts",
                "The other schema accepts a document that no branch of `oneOf` accepts.",
                "keep a branch for the old form, or write an upcaster",
            ),
            Self::OneOfOverlap => text(
                "one-of-overlap",
                "Two branches of `oneOf` accept",
                "The other schema accepts a document that two branches accept, and `oneOf` wants exactly one. Widening one \
                 branch can cause this.",
                "use `anyOf`, or tell the branches apart by a required `const` property",
            ),
            Self::NotAdded => text(
                "not-added",
                "`not` refuses documents",
                "The other schema accepts a document that `not` refuses.",
                UPCAST,
            ),
            Self::ConditionChanged => text(
                "condition-changed",
                "`if`, `then` and `else` refuse documents",
                "The other schema accepts a document that meets the condition but not `then`, or fails it and not `else`.",
                UPCAST,
            ),
            Self::SchemaFalse => text(
                "schema-false",
                "Nothing is accepted",
                "The schema here is `false`, and the other schema accepts something.",
                UPCAST,
            ),
            Self::CounterExample => text(
                "counter-example",
                "A document shows it",
                "The search could not say which keyword is at fault, but the example is valid under one schema and invalid \
                 under the other.",
                UPCAST,
            ),
            // `text` has asked the other groups before.
            _ => text(
                "undecided",
                "It could not be decided",
                "The schemas use something that cannot be compared exactly, such as a `$dynamicRef` with several targets, or \
                 are so large that the budget was spent. No document was found that shows an incompatibility, and none was ruled out.",
                "write the schema in simpler terms, or let `undecided` be `allow`",
            ),
        }
    }
}

impl fmt::Display for CompatRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_rule_has_an_id_of_its_own_and_words() {
        let ids: HashSet<&str> = CompatRule::ALL.iter().map(|rule| rule.id()).collect();
        assert_eq!(ids.len(), CompatRule::ALL.len());
        for rule in CompatRule::ALL {
            let RuleText { id, title, explanation, fix } = rule.text();
            assert!(id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{id}");
            assert!(!title.is_empty() && explanation.ends_with('.') && !fix.ends_with('.'), "{id}");
        }
    }
}

//! Corner cases of single keywords, each found by hunting for it.

use prom_schema::CompatPolicy;
use prom_schema::compat::{CompatRule, Settings, Violation, check};
use serde_json::{Value, json};

pub fn strict() -> Settings {
    crate::settings(CompatPolicy::Strict)
}

fn lenient() -> Settings {
    crate::settings(CompatPolicy::Lenient)
}

fn found(old: &Value, new: &Value, settings: &Settings) -> Vec<Violation> {
    check(old, new, settings).unwrap_or_else(|error| panic!("{old} {new}: {error}"))
}

fn compatible(old: Value, new: Value) {
    for settings in [strict(), lenient()] {
        assert_eq!(found(&old, &new, &settings), [], "{old} {new} {:?}", settings.policy);
    }
}

fn incompatible(old: Value, new: Value, pointer: &str, rule: CompatRule) {
    for settings in [strict(), lenient()] {
        let found = found(&old, &new, &settings);
        let places: Vec<(&str, CompatRule)> = found.iter().map(|found| (found.pointer.as_str(), found.rule)).collect();
        assert_eq!(places, [(pointer, rule)], "{old} {new} {:?} {found:?}", settings.policy);
        assert!(found[0].example.is_some(), "{found:?}");
    }
}

#[test]
fn an_integer_is_a_number_and_may_be_written_with_a_point() {
    compatible(json!({"type": "integer"}), json!({"type": "number"}));
    incompatible(json!({"type": "number"}), json!({"type": "integer"}), "/type", CompatRule::TypeNarrowed);
    compatible(json!({"const": 1.0}), json!({"type": "integer"}));
    compatible(json!({"type": "integer"}), json!({"multipleOf": 1}));
    compatible(json!({"type": "number", "multipleOf": 2}), json!({"type": "integer"}));
    incompatible(json!({"const": 1.5}), json!({"type": "integer"}), "/type", CompatRule::TypeNarrowed);
}

#[test]
fn numbers_are_compared_exactly() {
    compatible(json!({"const": 1}), json!({"const": 1.0}));
    compatible(json!({"enum": [1.0, 2]}), json!({"enum": [2.0, 1, 3]}));
    compatible(json!({"multipleOf": 0.1}), json!({"multipleOf": 0.01}));
    compatible(json!({"multipleOf": 0.3}), json!({"multipleOf": 0.1}));
    incompatible(json!({"multipleOf": 0.1}), json!({"multipleOf": 0.3}), "/multipleOf", CompatRule::MultipleOfChanged);
    compatible(json!({"allOf": [{"multipleOf": 4}, {"multipleOf": 6}]}), json!({"multipleOf": 12}));
    let (even, odd) = (9_007_199_254_740_992_u64, 9_007_199_254_740_993_u64);
    incompatible(
        json!({"type": "integer", "maximum": odd}),
        json!({"maximum": even}),
        "/maximum",
        CompatRule::MaximumLowered,
    );
    incompatible(json!({"const": odd}), json!({"const": even}), "/const", CompatRule::ConstChanged);
    compatible(json!({"type": "integer", "exclusiveMaximum": 3}), json!({"maximum": 2}));
    incompatible(json!({"exclusiveMaximum": 3}), json!({"maximum": 2}), "/maximum", CompatRule::MaximumLowered);
    compatible(json!({"type": "integer", "minimum": 1.5, "maximum": 2.5}), json!({"const": 2}));
    compatible(json!({"type": "number", "minimum": 3, "maximum": 2}), json!({"type": "string"}));
    compatible(json!({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}), json!(false));
    compatible(json!({"minimum": 5, "type": "number"}), json!({"exclusiveMinimum": 4.999, "type": ["number", "null"]}));
    incompatible(json!({"minimum": 5}), json!({"exclusiveMinimum": 5}), "/exclusiveMinimum", CompatRule::MinimumRaised);
}

#[test]
fn strings_are_compared_by_what_they_contain() {
    let date = json!({"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}$"});
    let uuid = json!({"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"});
    incompatible(date.clone(), uuid.clone(), "/pattern", CompatRule::PatternChanged);
    incompatible(uuid.clone(), date.clone(), "/pattern", CompatRule::PatternChanged);
    compatible(uuid, json!({"type": "string", "minLength": 36, "maxLength": 36}));
    compatible(date, json!({"pattern": "^[0-9-]+$", "minLength": 10}));
    // One character of four bytes, two of a surrogate pair elsewhere: it counts once.
    compatible(json!({"const": "\u{1F600}"}), json!({"maxLength": 1}));
    incompatible(json!({"const": "\u{1F600}"}), json!({"minLength": 2}), "/minLength", CompatRule::MinLengthRaised);
    compatible(json!({"type": "string", "pattern": "^(a|b)$"}), json!({"enum": ["a", "b"]}));
    incompatible(
        json!({"type": "string", "pattern": "(a|b)"}),
        json!({"enum": ["a", "b"]}),
        "/enum",
        CompatRule::EnumNarrowed,
    );
    compatible(json!({"type": "string", "maxLength": 0}), json!({"const": ""}));
    compatible(json!({"pattern": "^a", "not": {"pattern": "^a"}, "type": "string"}), json!(false));
}

#[test]
fn what_the_patterns_cannot_say_is_undecided() {
    let look = json!({"type": "string", "pattern": "^(?=a)[ab]+$"});
    assert_eq!(found(&look, &look, &strict()), []);
    let found = found(&look, &json!({"type": "string", "pattern": "^a"}), &strict());
    assert_eq!(found.iter().map(|found| found.rule).collect::<Vec<_>>(), [CompatRule::Undecided]);
    let allow = Settings { undecided: prom_schema::Undecided::Allow, ..strict() };
    assert_eq!(check(&look, &json!({"type": "string", "pattern": "^a"}), &allow), Ok(vec![]));
    // A document decides it all the same.
    assert_ne!(check(&look, &json!({"type": "string", "maxLength": 1, "pattern": "x"}), &allow), Ok(vec![]));
}

#[test]
fn empty_and_boolean_schemas_accept_all_or_nothing() {
    compatible(json!(true), json!({}));
    compatible(json!({}), json!(true));
    compatible(json!(false), json!({"type": "string"}));
    compatible(json!({"enum": []}), json!(false));
    compatible(json!({"type": "string"}), json!({"not": false}));
    incompatible(json!(true), json!(false), "", CompatRule::SchemaFalse);
    incompatible(json!({"type": "string"}), json!({"not": {}}), "/not", CompatRule::NotAdded);
    compatible(json!({"not": {}}), json!(false));
    compatible(json!({}), json!({"type": ["null", "boolean", "number", "string", "array", "object"]}));
}

#[test]
fn types_and_null_are_compared_however_they_are_written() {
    let listed = json!({"type": ["string", "null"]});
    let either = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
    let exactly = json!({"oneOf": [{"type": "null"}, {"type": "string"}]});
    let conditional = json!({"if": {"type": "null"}, "else": {"type": "string"}});
    let negated = json!({"not": {"type": ["boolean", "number", "array", "object"]}});
    let forms = [listed, either, exactly, conditional, negated];
    for old in &forms {
        for new in &forms {
            compatible(old.clone(), new.clone());
        }
        for policy in [strict(), lenient()] {
            assert!(!found(old, &json!({"type": "string"}), &policy).is_empty(), "{old}");
        }
    }
    // `nullable` of OpenAPI is no keyword of JSON Schema.
    incompatible(
        json!({"type": ["string", "null"]}),
        json!({"type": "string", "nullable": true}),
        "/type",
        CompatRule::TypeNarrowed,
    );
}

#[test]
fn arrays_are_compared_by_position_and_content() {
    compatible(
        json!({"prefixItems": [{"type": "integer"}], "items": false}),
        json!({"items": {"type": "number"}, "maxItems": 1}),
    );
    incompatible(
        json!({"items": {"type": "integer"}}),
        json!({"prefixItems": [true], "items": false}),
        "/items",
        CompatRule::ItemsClosed,
    );
    compatible(json!({"contains": {"type": "string"}, "minContains": 0}), json!({"minItems": 0}));
    compatible(json!({}), json!({"contains": {"type": "string"}, "minContains": 0}));
    incompatible(
        json!({"type": "array"}),
        json!({"contains": {"type": "string"}}),
        "/contains",
        CompatRule::ContainsChanged,
    );
    compatible(
        json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
        json!({"contains": {"type": "string"}}),
    );
    compatible(
        json!({"contains": {"const": 1}, "minContains": 2}),
        json!({"contains": {"type": "integer"}, "minContains": 2}),
    );
    incompatible(
        json!({"contains": {"const": 1}, "minContains": 2}),
        json!({"uniqueItems": true}),
        "/uniqueItems",
        CompatRule::UniqueItemsAdded,
    );
    compatible(json!({"type": "array", "uniqueItems": true, "items": {"enum": [1, 2]}}), json!({"maxItems": 2}));
    compatible(json!({"type": "array", "uniqueItems": true, "items": {"type": "boolean"}}), json!({"maxItems": 2}));
    incompatible(
        json!({"type": "array", "uniqueItems": true, "items": {"enum": [1, 2, 3]}}),
        json!({"maxItems": 2}),
        "/maxItems",
        CompatRule::MaxItemsLowered,
    );
    compatible(json!({"type": "array", "maxItems": 1}), json!({"uniqueItems": true}));
    compatible(json!({"type": "array", "items": false}), json!({"maxItems": 0}));
    incompatible(
        json!({"type": "array", "maxItems": 3}),
        json!({"contains": {}, "maxContains": 2, "minContains": 0}),
        "/contains",
        CompatRule::ContainsChanged,
    );
    compatible(json!({"type": "array", "contains": false}), json!(false));
}

#[test]
fn objects_are_compared_by_their_members() {
    incompatible(json!({"type": "object"}), json!({"required": ["a"]}), "/required", CompatRule::RequiredAdded);
    compatible(json!({"required": ["a", "b"]}), json!({"minProperties": 2}));
    compatible(json!({"required": ["a"]}), json!({"dependentRequired": {"b": ["a"]}}));
    incompatible(
        json!({"type": "object"}),
        json!({"dependentRequired": {"b": ["a"]}}),
        "/dependentRequired/b",
        CompatRule::DependencyAdded,
    );
    compatible(json!({"not": {"required": ["a"]}}), json!({"type": "object", "properties": {"a": false}}));
    compatible(json!({"type": "object", "properties": {"a": false}}), json!({"not": {"required": ["a"]}}));
    incompatible(json!({"properties": {"a": {}}}), json!({"not": {"required": ["a"]}}), "/not", CompatRule::NotAdded);
    let closed =
        |patterns: Value| json!({"type": "object", "patternProperties": patterns, "additionalProperties": false});
    compatible(closed(json!({"^a[0-9]$": {"type": "integer"}})), closed(json!({"^a": {"type": "number"}})));
    incompatible(
        closed(json!({"^a": {"type": "integer"}})),
        closed(json!({"^a[0-9]$": {"type": "number"}})),
        "/additionalProperties",
        CompatRule::PropertiesClosed,
    );
    compatible(
        closed(json!({"^a$": {"type": "integer"}})),
        json!({"properties": {"a": {"type": "integer"}}, "additionalProperties": false}),
    );
    compatible(closed(json!({"^ab?$": {}})), json!({"maxProperties": 2}));
    compatible(json!({"propertyNames": {"pattern": "^[a-z]+$"}}), json!({"propertyNames": {"minLength": 1}}));
    incompatible(
        json!({"type": "object"}),
        json!({"propertyNames": {"minLength": 1}}),
        "/propertyNames",
        CompatRule::PropertyNamesNarrowed,
    );
    compatible(json!({"propertyNames": {"enum": ["a", "b"]}, "type": "object"}), json!({"maxProperties": 2}));
    incompatible(
        json!({"type": "object"}),
        json!({"maxProperties": 3}),
        "/maxProperties",
        CompatRule::MaxPropertiesLowered,
    );
    compatible(json!({"propertyNames": false}), json!({"maxProperties": 0}));
    compatible(json!({"maxProperties": 0}), json!({"propertyNames": false}));
}

#[test]
fn closed_models_do_not_combine() {
    let base = json!({"properties": {"a": {"type": "string"}}, "additionalProperties": false});
    let more = json!({"properties": {"b": {"type": "string"}}, "additionalProperties": false});
    // Each refuses the other's property, so that only the empty object is left.
    compatible(json!({"type": "object", "allOf": [base, more]}), json!({"maxProperties": 0}));
    let open = |schema: &Value| json!({ "properties": schema["properties"] });
    let combined = json!({"type": "object", "allOf": [open(&base), open(&more)], "unevaluatedProperties": false});
    let flat = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "additionalProperties": false});
    compatible(combined.clone(), flat.clone());
    compatible(flat, combined.clone());
    incompatible(
        json!({"type": "object", "properties": {"c": {}}, "additionalProperties": false}),
        combined,
        "/unevaluatedProperties",
        CompatRule::UnevaluatedNarrowed,
    );
}

#[test]
fn one_of_wants_exactly_one() {
    let tagged = |a: Value, b: Value| json!({"oneOf": [{"type": "object", "properties": {"t": a}, "required": ["t"]}, {"type": "object", "properties": {"t": b}, "required": ["t"]}]});
    let old = tagged(json!({"const": "a"}), json!({"const": "b"}));
    compatible(old.clone(), tagged(json!({"const": "a"}), json!({"enum": ["b", "c"]})));
    compatible(old.clone(), tagged(json!({"const": "b"}), json!({"const": "a"})));
    incompatible(
        old.clone(),
        tagged(json!({"const": "a"}), json!({"enum": ["b", "a"]})),
        "/oneOf",
        CompatRule::OneOfOverlap,
    );
    incompatible(old, tagged(json!({"const": "a"}), json!({"const": "c"})), "/oneOf", CompatRule::OneOfNarrowed);
    compatible(json!({"type": "integer"}), json!({"oneOf": [{"type": "integer"}, {"type": "string"}]}));
    incompatible(
        json!({"type": "integer"}),
        json!({"oneOf": [{"type": "integer"}, {"minimum": 3}]}),
        "/oneOf",
        CompatRule::OneOfOverlap,
    );
    compatible(
        json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}),
        json!({"type": "number", "not": {"type": "integer"}}),
    );
    compatible(json!({"anyOf": [{"minimum": 5}, {"maximum": 5}]}), json!({}));
    compatible(json!({"type": "number"}), json!({"anyOf": [{"minimum": 5}, {"maximum": 5}]}));
    incompatible(
        json!({"type": "number"}),
        json!({"anyOf": [{"exclusiveMinimum": 5}, {"exclusiveMaximum": 5}]}),
        "/anyOf",
        CompatRule::AnyOfNarrowed,
    );
}

#[test]
fn conditions_and_dependencies_are_taken_apart() {
    let card = json!({"if": {"properties": {"pay": {"const": "card"}}, "required": ["pay"]}, "then": {"required": ["number"]}});
    incompatible(json!({"properties": {"pay": {}, "number": {}}}), card.clone(), "/if", CompatRule::ConditionChanged);
    compatible(json!({"required": ["number"]}), card.clone());
    compatible(json!({"properties": {"pay": {"const": "cash"}}}), card.clone());
    let either = json!({"anyOf": [{"required": ["number"]}, {"not": {"required": ["pay"]}}, {"properties": {"pay": {"not": {"const": "card"}}}}]});
    compatible(card.clone(), either.clone());
    compatible(either, card);
    compatible(json!({"dependentSchemas": {"a": {"required": ["b"]}}}), json!({"dependentRequired": {"a": ["b"]}}));
    compatible(json!({"dependentRequired": {"a": ["b"]}}), json!({"dependentSchemas": {"a": {"required": ["b"]}}}));
    compatible(json!({"if": {"type": "string"}}), json!({}));
}

#[test]
fn recursive_schemas_are_compared_to_the_bottom() {
    let list = |value: Value| json!({"$ref": "#/$defs/list", "$defs": {"list": {"type": ["object", "null"], "properties": {"value": value, "next": {"$ref": "#/$defs/list"}}, "additionalProperties": false}}});
    compatible(list(json!({"type": "integer"})), list(json!({"type": "number"})));
    incompatible(
        list(json!({"type": "number"})),
        list(json!({"type": "integer"})),
        "/$defs/list/properties/value/type",
        CompatRule::TypeNarrowed,
    );
    let mutual = |leaf: &str| {
        json!({"$ref": "#/$defs/a", "$defs": {
        "a": {"type": "array", "items": {"$ref": "#/$defs/b"}},
        "b": {"anyOf": [{"type": leaf}, {"type": "object", "additionalProperties": {"$ref": "#/$defs/a"}}]}}})
    };
    compatible(mutual("integer"), mutual("number"));
    assert!(!found(&mutual("number"), &mutual("integer"), &strict()).is_empty());
    // The same recursion, unrolled once.
    let rolled = json!({"type": "array", "items": {"$ref": "#"}});
    let unrolled = json!({"type": "array", "items": {"type": "array", "items": {"$ref": "#"}}});
    compatible(rolled.clone(), unrolled.clone());
    compatible(unrolled, rolled);
}

#[test]
fn references_are_found_by_pointer_anchor_and_id() {
    let plain = json!({"properties": {"a": {"type": "integer"}}});
    for new in [
        json!({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "integer"}}}),
        json!({"properties": {"a": {"$ref": "#x"}}, "$defs": {"y": {"$anchor": "x", "type": "integer"}}}),
        json!({"$id": "https://example.org/root", "properties": {"a": {"$ref": "part"}}, "$defs": {"y": {"$id": "part", "type": "integer"}}}),
        json!({"$id": "https://example.org/root", "properties": {"a": {"$ref": "part#/$defs/z"}}, "$defs": {"y": {"$id": "part", "$defs": {"z": {"type": "integer"}}}}}),
        json!({"properties": {"a": {"$dynamicRef": "#x"}}, "$defs": {"y": {"$dynamicAnchor": "x", "type": "integer"}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/a~1b%20c"}}, "$defs": {"a/b c": {"type": "integer"}}}),
    ] {
        compatible(plain.clone(), new.clone());
        compatible(new, plain.clone());
    }
    let twice = json!({"$id": "https://example.org/root", "properties": {"a": {"$dynamicRef": "#x"}}, "$defs": {
        "y": {"$dynamicAnchor": "x", "type": "integer"}, "z": {"$id": "other", "$defs": {"w": {"$dynamicAnchor": "x"}}}}});
    assert_eq!(
        found(&plain, &twice, &strict())[0].rule,
        CompatRule::Undecided,
        "which anchor is meant depends on the way there"
    );
}

#[test]
fn older_drafts_are_read_as_they_were_meant() {
    let seven = |mut schema: Value| {
        schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        schema
    };
    let nineteen = |mut schema: Value| {
        schema["$schema"] = json!("https://json-schema.org/draft/2019-09/schema");
        schema
    };
    // Beside `$ref`, draft 7 ignores everything.
    let beside = json!({"properties": {"a": {"$ref": "#/definitions/x", "maximum": 3}}, "definitions": {"x": {"type": "integer"}}});
    let integer = json!({"properties": {"a": {"type": "integer"}}});
    compatible(integer.clone(), seven(beside.clone()));
    incompatible(integer, nineteen(beside), "/properties/a/maximum", CompatRule::MaximumLowered);
    let tuple = json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}});
    for old_form in [seven, nineteen] {
        let form = old_form(json!({"items": [{"type": "string"}], "additionalItems": {"type": "integer"}}));
        compatible(tuple.clone(), form.clone());
        compatible(form, tuple.clone());
        compatible(json!({}), old_form(json!({"additionalItems": false})));
    }
    let depends = seven(json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}));
    let now = json!({"dependentRequired": {"a": ["b"], "c": ["d"]}});
    compatible(depends.clone(), now.clone());
    compatible(now, depends);
    // Keywords of later drafts say nothing.
    compatible(
        json!({"minItems": 1, "type": "array"}),
        seven(json!({"contains": {}, "minContains": 2, "unevaluatedItems": false})),
    );
    compatible(
        json!({"type": "string"}),
        seven(json!({"contentEncoding": "base64", "contentMediaType": "application/json"})),
    );
    compatible(json!({"type": "array"}), nineteen(json!({"prefixItems": [false]})));
}

#[test]
fn formats_are_remarks_unless_asserted() {
    use prom_schema::Formats;
    let (date, plain) = (json!({"type": "string", "format": "date"}), json!({"type": "string"}));
    compatible(plain.clone(), date.clone());
    let assert = Settings { formats: Formats::Assert, ..strict() };
    assert_eq!(found(&date, &plain, &assert), []);
    let rules = |old: &Value, new: &Value| found(old, new, &assert).iter().map(|found| found.rule).collect::<Vec<_>>();
    assert_eq!(rules(&plain, &date), [CompatRule::FormatChanged]);
    assert_eq!(rules(&date, &json!({"format": "uuid"})), [CompatRule::FormatChanged]);
    assert_eq!(rules(&date, &date), []);
    assert_eq!(rules(&plain, &json!({"format": "our-own"})), [], "an unknown format refuses nothing");
}

#[test]
fn the_lenient_policy_exempts_property_keywords_and_nothing_else() {
    let lenient = lenient();
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for (new, expected) in [
        (json!({"properties": {"b": {"type": "integer"}}}), vec![]),
        (json!({"patternProperties": {"^b": {"type": "integer"}}}), vec![]),
        (json!({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}), vec![]),
        (json!({"properties": {"a": {}}, "unevaluatedProperties": false}), vec![]),
        (json!({"additionalProperties": false}), vec![CompatRule::PropertiesClosed]),
        (json!({"maxProperties": 2}), vec![CompatRule::MaxPropertiesLowered]),
        (json!({"propertyNames": {"pattern": "^[a-z]$"}}), vec![CompatRule::PropertyNamesNarrowed]),
        (json!({"dependentRequired": {"b": ["c"]}}), vec![CompatRule::DependencyAdded]),
        (json!({"patternProperties": {"^a": {"type": "integer"}}}), vec![CompatRule::TypeNarrowed]),
    ] {
        let rules: Vec<CompatRule> = found(&open, &new, &lenient).iter().map(|found| found.rule).collect();
        assert_eq!(rules, expected, "{new}");
    }
    let new = json!({"properties": {"b": {"type": "integer"}}});
    for declares in [
        json!({"required": ["b"]}),
        json!({"patternProperties": {"^b": {}}}),
        json!({"additionalProperties": {"type": ["string", "integer"]}}),
        json!({"unevaluatedProperties": {"type": ["string", "integer"]}}),
        json!({"anyOf": [{"properties": {"b": {}}}, {"properties": {"c": {}}}]}),
    ] {
        assert!(!found(&declares, &new, &lenient).is_empty(), "{declares}");
    }
    for silent in
        [json!({"additionalProperties": true}), json!({"additionalProperties": {}}), json!({"properties": {"c": {}}})]
    {
        assert_eq!(found(&silent, &new, &lenient), [], "{silent}");
    }
    // Below an array and a member as well.
    let nested = |inner: Value| json!({"items": {"properties": {"a": inner}}});
    assert_eq!(found(&nested(json!({})), &nested(json!({"properties": {"x": {"type": "integer"}}})), &lenient), []);
    // Where a branch decides what is unevaluated, its schema counts as declaring.
    let old = json!({"anyOf": [{"prefixItems": [{}]}, {"type": "array"}], "unevaluatedItems": {"required": ["x"]}});
    let new = json!({"items": {"properties": {"x": {"type": "integer"}}}});
    assert!(!found(&old, &new, &lenient).is_empty());
    let old =
        json!({"anyOf": [{"properties": {"b": {}}}, {"type": "object"}], "unevaluatedProperties": {"required": ["x"]}});
    let new = json!({"properties": {"b": {"properties": {"x": {"type": "integer"}}}}});
    assert!(!found(&old, &new, &lenient).is_empty());
}

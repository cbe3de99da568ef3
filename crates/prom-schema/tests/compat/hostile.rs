//! Schemas that are made to take long, or to fool the comparison: every one of them ends.

use std::time::{Duration, Instant};

use prom_schema::CompatPolicy;
use prom_schema::compat::{Budget, CompareError, Settings, Violation, check};
use serde_json::{Map, Value, json};

/// Twice the clock of a comparison: debug builds on a busy machine are slow. What does not end takes minutes.
const PATIENCE: Duration = Duration::from_secs(40);

fn ends(old: &Value, new: &Value) -> Result<Vec<Violation>, CompareError> {
    let mut last = Ok(Vec::new());
    for policy in [CompatPolicy::Strict, CompatPolicy::Lenient] {
        let started = Instant::now();
        last = check(old, new, &Settings { policy, ..Settings::default() });
        let took = started.elapsed();
        if took > Duration::from_millis(400) {
            println!("{policy:?} {} bytes against {}: {took:?}", old.to_string().len(), new.to_string().len());
        }
        assert!(took < PATIENCE, "{policy:?} took {took:?}");
    }
    last
}

fn nested(depth: usize, inside: Value, wrap: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(inside, |inside, _| wrap(inside))
}

#[test]
fn deep_nesting_is_refused_or_compared() {
    let deep = |depth, inside: Value| nested(depth, inside, |inside| json!({ "properties": { "a": inside } }));
    assert!(matches!(ends(&deep(40, json!(true)), &json!({})), Err(CompareError::TooDeep { .. })));
    let found = ends(&deep(30, json!({"type": "number"})), &deep(30, json!({"type": "integer"}))).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    let lists = |depth, inside: Value| nested(depth, inside, |inside| json!({ "not": { "not": inside } }));
    assert_eq!(ends(&lists(30, json!({"type": "number"})), &json!({"type": "number"})), Ok(Vec::new()));
}

#[test]
fn products_of_alternatives_end() {
    let part = |index: usize| {
        let name = format!("p{index}");
        json!({"anyOf": [
            {"properties": {&name: {"type": "string"}}, "required": [&name]},
            {"properties": {&name: {"type": "integer"}}},
            {"properties": {&name: {"minimum": index}}, "maxProperties": 30},
        ]})
    };
    let all = |count: usize| json!({ "allOf": (0..count).map(part).collect::<Vec<_>>() });
    let _ = ends(&all(24), &all(25)).unwrap();
    let _ = ends(&all(25), &json!({"oneOf": (0..25).map(part).collect::<Vec<_>>()})).unwrap();
    let either = |count: usize| {
        let numbers = (0..count).map(|index| json!({"not": {"multipleOf": index + 2}}));
        json!({"type": "integer", "oneOf": numbers.collect::<Vec<_>>()})
    };
    let _ = ends(&either(30), &either(29)).unwrap();
}

#[test]
fn definitions_that_double_at_every_step_end() {
    let chain = |length: usize, last: Value, keyword: &str| {
        let mut definitions = Map::new();
        for index in 0..length {
            let next = json!({ "$ref": format!("#/$defs/d{}", index + 1) });
            definitions.insert(format!("d{index}"), json!({ keyword: [next, next] }));
        }
        definitions.insert(format!("d{length}"), last);
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    };
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let _ = ends(&chain(60, json!({"type": "number"}), keyword), &chain(60, json!({"type": "integer"}), keyword))
            .unwrap();
    }
    let _ = ends(&chain(300, json!({"type": "number"}), "allOf"), &json!({"type": "integer"}));
    assert!(matches!(ends(&chain(2_000, json!(true), "allOf"), &json!({})), Err(CompareError::TooDeep { .. })));
}

#[test]
fn patterns_that_explode_end() {
    for bomb in [
        "(((a{100}){100}){100}){100}",
        "^(a+)+$",
        "(.*a){30}.{25}b.*(a|b)*c{1,200}",
        "^(?=(a+)+$)b",
        "(x|xx|xxx){1,500}y",
    ] {
        let old = json!({"type": "string", "pattern": bomb});
        let _ = ends(&old, &json!({"type": "string", "pattern": "^a*$"})).unwrap();
        let _ = ends(&json!({"type": "string", "minLength": 3000}), &old).unwrap();
        assert_eq!(ends(&old, &old), Ok(Vec::new()));
    }
    let many: Map<String, Value> =
        (0..200).map(|index| (format!("^(.*a){{{index}}}.{{9}}b"), json!({"type": "string"}))).collect();
    let _ =
        ends(&json!({ "patternProperties": many }), &json!({"patternProperties": {"a": {"type": "string"}}})).unwrap();
    let long = "a".repeat(5_000);
    assert!(matches!(ends(&json!({ "pattern": long }), &json!({})), Err(CompareError::PatternTooLarge { .. })));
    assert!(matches!(
        ends(&json!({ "pattern": "(" }), &json!({})),
        Err(CompareError::Pattern { .. } | CompareError::Invalid { .. })
    ));
}

#[test]
fn reference_cycles_are_refused_where_no_validator_ends_and_compared_elsewhere() {
    for endless in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"not": {"$ref": "#"}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
    ] {
        assert!(matches!(ends(&endless, &json!({})), Err(CompareError::EndlessReference { .. })), "{endless}");
    }
    let tree = |leaf: Value| json!({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "leaf": leaf}});
    assert_eq!(ends(&tree(json!({"type": "integer"})), &tree(json!({"type": "number"}))), Ok(Vec::new()));
    let found = ends(&tree(json!({"type": "number"})), &tree(json!({"type": "integer"}))).unwrap();
    assert_eq!(found[0].pointer, "/properties/leaf/type");
    // No finite document is an endless list: it accepts nothing, and so less than anything.
    let endless_list = json!({"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}});
    assert_eq!(ends(&endless_list, &json!(false)), Ok(Vec::new()));
}

#[test]
fn other_documents_are_not_fetched() {
    for reference in ["https://example.org/a.json", "other.json", "file:///etc/passwd", "urn:x:y#/a"] {
        let error = ends(&json!({ "$ref": reference }), &json!({})).unwrap_err();
        assert!(matches!(error, CompareError::RemoteReference { .. }), "{error}");
        assert!(error.to_string().contains("remote references are not fetched"), "{error}");
    }
    assert!(matches!(ends(&json!({"$ref": "#/nowhere"}), &json!({})), Err(CompareError::UnknownReference { .. })));
    assert!(matches!(ends(&json!({"$ref": "#nowhere"}), &json!({})), Err(CompareError::UnknownReference { .. })));
}

#[test]
fn schemas_that_are_none_are_refused() {
    for (schema, pointer) in [
        (json!({"type": "text"}), "/type"),
        (json!({"properties": {"a": 1}}), "/properties/a"),
        (json!({"minLength": -1}), "/minLength"),
    ] {
        let error = ends(&schema, &json!({})).unwrap_err();
        assert!(error.to_string().starts_with(pointer), "{error}");
    }
    assert!(matches!(
        ends(&json!({"$schema": "http://json-schema.org/draft-04/schema#"}), &json!({})),
        Err(CompareError::UnknownDraft { .. })
    ));
    assert!(matches!(ends(&json!(1), &json!({})), Err(CompareError::Invalid { .. })));
    let large = json!({ "description": "x".repeat(2_000_000) });
    assert!(matches!(ends(&large, &json!({})), Err(CompareError::TooLarge { .. })));
    let many: Vec<Value> = (0..25_000).map(|_| json!({})).collect();
    assert!(matches!(ends(&json!({ "allOf": many }), &json!({})), Err(CompareError::TooManyNodes { .. })));
}

/// A common multiple of three thousand numbers took a minute.
#[test]
fn many_multiples_end() {
    let odd = |at: u64| (at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1 | 1;
    let all: Vec<Value> = (0..3_000).map(|at| json!({ "multipleOf": odd(at) })).collect();
    let _ = ends(&json!({"type": "number", "allOf": all}), &json!({"multipleOf": 7})).unwrap();
    let wide: Vec<Value> = (1..200).map(|at| json!({ "multipleOf": f64::from(at) * 1.7e300 })).collect();
    let _ = ends(&json!({"type": "number", "allOf": wide}), &json!({"multipleOf": 7})).unwrap();
}

/// Thousands of names were gone through once for each of them.
#[test]
fn thousands_of_names_end() {
    let names = |count: usize| (0..count).map(|at| format!("r{at}")).collect::<Vec<_>>();
    let _ = ends(&json!({"type": "object", "required": names(8_000)}), &json!({"required": names(8_001)})).unwrap();
    let chain: Map<String, Value> = (0..3_000).map(|at| (format!("a{at}"), json!([format!("a{}", at + 1)]))).collect();
    let old = json!({"type": "object", "dependentRequired": chain});
    let _ = ends(&old, &json!({"dependentRequired": {"a0": ["a3000"]}})).unwrap();
}

/// Each value of a long `enum` was held against all others, and goals were copied that no step counted: the clock decided, after twenty
/// seconds in which nobody else's schema was looked at.
#[test]
fn long_lists_are_ended_by_steps_and_not_by_the_clock() {
    let listed = |values: Vec<Value>| (json!({"enum": values}), json!({"enum": values, "maxProperties": 3}));
    let needs: Map<String, Value> = (0..200)
        .map(|at| (format!("a{at}"), (0..100).map(|need| json!(format!("b{need}"))).collect::<Value>()))
        .collect();
    let tags = |count: usize| {
        let tag = |at: usize| json!({"properties": {format!("p{at}"): {"const": at}}, "required": [format!("p{at}")]});
        json!({"oneOf": (0..count).map(tag).collect::<Vec<_>>()})
    };
    let numbers: Vec<Value> = (0..30_000).map(|at| json!(at)).collect();
    let budget = Budget { time: 20 * PATIENCE, ..Budget::default() };
    let settings = Settings { budget, policy: CompatPolicy::Strict, ..Settings::default() };
    for (is_decided, (old, new)) in [
        (true, listed((0..30_000).map(|at| json!(at)).collect())),
        (true, listed((0..20_000).map(|at| json!(format!("v{at}"))).collect())),
        (true, listed((0..12_000).map(|at| json!([at, at, at])).collect())),
        (true, (json!({"const": numbers}), json!({"const": numbers, "uniqueItems": true}))),
        (false, (json!({"dependentRequired": needs}), json!({"dependentRequired": needs, "maxProperties": 3}))),
        (false, (tags(200), json!({"allOf": [tags(200)], "maxProperties": 300}))),
    ] {
        let started = Instant::now();
        let violations = check(&old, &new, &settings).unwrap();
        let took = started.elapsed();
        println!("{} bytes: {took:?}, {} violations", old.to_string().len(), violations.len());
        assert!(took < PATIENCE, "{took:?}");
        assert!(!is_decided || violations.is_empty(), "{violations:?}");
    }
}

#[test]
fn large_counts_and_numbers_end() {
    for keyword in ["minItems", "minLength", "minProperties", "minContains"] {
        let old = json!({ keyword: 1_000_000_000_000_u64, "contains": true });
        let new = json!({ keyword: 1_000_000_000_001_u64, "contains": true });
        assert!(!ends(&old, &new).unwrap().is_empty(), "{keyword}");
        let _ = ends(&new, &old).unwrap();
    }
    let old = json!({"type": "integer", "maximum": 1e300});
    assert_eq!(ends(&old, &json!({"maximum": 1e301})), Ok(Vec::new()));
    assert!(
        !ends(&json!({"type": "integer", "not": {"multipleOf": 2}}), &json!({"multipleOf": 1e300})).unwrap().is_empty()
    );
}

/// A budget of time says something else on a busy machine; steps do not.
#[test]
fn an_answer_is_the_same_whatever_else_the_machine_does() {
    let part = |index: usize| {
        let name = format!("p{index}");
        json!({"anyOf": [
            {"properties": {&name: {"type": "string", "pattern": format!("^a{{{index},40}}b*$")}}, "required": [&name]},
            {"properties": {&name: {"multipleOf": index + 2}}},
        ]})
    };
    let schema = |parts: usize| json!({ "allOf": (1..=parts).map(part).collect::<Vec<_>>() });
    for (old, new) in [(6, 7), (8, 9), (10, 11), (14, 13)] {
        let (old, new) = (schema(old), schema(new));
        let budget = Budget { steps: 40_000, ..Budget::default() };
        let answer = || check(&old, &new, &Settings { budget, ..Settings::default() }).unwrap();
        let alone = answer();
        let crowded = std::thread::scope(|scope| {
            let others: Vec<_> = (0..8).map(|_| scope.spawn(answer)).collect();
            others.into_iter().map(|other| other.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(crowded.iter().all(|other| *other == alone));
    }
}

//! Which earlier versions each mode looks at, and in which direction.

use prom_schema::compat::{Budget, CompatRule, Direction, Settings, check_mode};
use prom_schema::{Compat, CompatPolicy, Undecided};
use serde_json::{Value, json};

/// The versions and directions that stand against a new version.
fn against(compat: Compat, earlier: &[Value], new: &Value) -> Vec<(u64, Direction)> {
    let earlier: Vec<(u64, &Value)> = (1..).zip(earlier).collect();
    let violations = check_mode(compat, &earlier, new, &crate::settings(CompatPolicy::Lenient)).unwrap();
    violations.iter().map(|found| (found.against_version.unwrap(), found.direction)).collect()
}

#[test]
fn transitive_modes_look_at_all_versions_and_others_at_the_last() {
    use Direction::{Backward, Forward};
    let number = |maximum: u64| json!({"type": "integer", "minimum": 0, "maximum": maximum});
    // Wide, narrow, and in between: backward against the second only.
    let earlier = [number(9), number(3)];
    let new = number(5);
    for (compat, expected) in [
        (Compat::None, vec![]),
        (Compat::Upcast, vec![]),
        (Compat::Backward, vec![]),
        (Compat::BackwardTransitive, vec![(1, Backward)]),
        (Compat::Forward, vec![(2, Forward)]),
        (Compat::ForwardTransitive, vec![(2, Forward)]),
        (Compat::Full, vec![(2, Forward)]),
        (Compat::FullTransitive, vec![(2, Forward), (1, Backward)]),
    ] {
        assert_eq!(against(compat, &earlier, &new), expected, "{compat}");
    }
    for &compat in Compat::ALL {
        assert_eq!(against(compat, &[], &new), [], "{compat}: the first version has nothing to keep to");
    }
}

#[test]
fn a_violation_says_where_what_and_how_to_go_on() {
    let old = json!({"type": "object", "properties": {"cpu": {"type": "number", "maximum": 100}}});
    let new = json!({"type": "object", "properties": {"cpu": {"type": "number", "maximum": 1}}, "required": ["cpu"]});
    let found = check_mode(Compat::Backward, &[(7, &old)], &new, &crate::settings(CompatPolicy::Lenient)).unwrap();
    let places: Vec<_> = found.iter().map(|found| (found.pointer.as_str(), found.old_pointer.as_deref())).collect();
    assert_eq!(places, [("/required", Some("")), ("/properties/cpu/maximum", Some("/properties/cpu/maximum"))]);
    assert_eq!(found[0].message, "A property became required: `cpu` must be present");
    assert!(found[0].fix.contains("upcaster"));
    assert_eq!(found[1].message, "An upper bound refuses larger numbers: at most 1");
    assert_eq!(found[0].example, Some(json!({})));
}

#[test]
fn a_violation_of_forward_is_told_to_one_who_changes_the_new_schema() {
    let old = json!({"type": "object", "required": ["cpu"]});
    let found =
        check_mode(Compat::Forward, &[(7, &old)], &json!({"type": "object"}), &crate::settings(CompatPolicy::Lenient))
            .unwrap();
    assert_eq!(found[0].direction, Direction::Forward);
    assert_eq!(found[0].message, "Version 7 refuses what the new schema accepts: `cpu` must be present");
    assert!(found[0].fix.contains("version 7") && !found[0].fix.contains("upcaster"), "{}", found[0].fix);
}

/// Each comparison had a budget, and two hundred of them had two hundred.
#[test]
fn many_versions_have_one_budget_and_the_version_where_it_ended_is_named() {
    let hard = |title: usize| {
        let parts = (0..24).map(|at| {
            let name = format!("p{at}");
            json!({"anyOf": [
                {"properties": {&name: {"type": "string"}}, "required": [&name]},
                {"properties": {&name: {"type": "integer"}}},
                {"properties": {&name: {"minimum": at}}, "maxProperties": 30 + title},
            ]})
        });
        json!({ "allOf": parts.collect::<Vec<_>>() })
    };
    let versions: Vec<Value> = (0..60).map(hard).collect();
    let earlier: Vec<(u64, &Value)> = (1..).zip(&versions).collect();
    let budget = Budget { steps: 3_000, ..Budget::default() };
    let settings = Settings { policy: CompatPolicy::Strict, budget, ..Settings::default() };
    let check = |settings: &Settings| check_mode(Compat::BackwardTransitive, &earlier, &hard(100), settings).unwrap();
    let found = check(&settings);
    let last = found.last().unwrap();
    assert_eq!(last.rule, CompatRule::Undecided);
    assert!(last.against_version.is_some_and(|version| (2..55).contains(&version)), "{last:?}");
    let words = format!("version {} and those before it were not compared", last.against_version.unwrap());
    assert!(last.message.starts_with(&words), "{}", last.message);
    assert_eq!(found, check(&settings), "the same again");
    assert_eq!(check(&Settings { undecided: Undecided::Allow, ..settings }), []);
}

//! Which earlier versions each mode looks at, and in which direction.

use prom_schema::compat::{Direction, check_mode};
use prom_schema::{Compat, CompatPolicy};
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

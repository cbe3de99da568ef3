//! The matrix of models: open and closed, a property added and removed, required, required with a default, and optional.
//! For each the verdict of `backward`, `forward` and `full`, under both policies, and why.

use prom_schema::compat::{CompatRule, Direction, check_mode};
use prom_schema::{Compat, CompatPolicy};
use serde_json::{Value, json};

use crate::corners::settings;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Model {
    Open,
    Closed,
}

#[derive(Clone, Copy, Debug)]
enum Property {
    Required,
    RequiredWithDefault,
    Optional,
}

use CompatPolicy::{Lenient, Strict};
use Model::{Closed, Open};
use Property::{Optional, Required, RequiredWithDefault};

/// `a` is there before and after; `b` is the property that comes or goes.
fn with(model: Model, property: Property) -> Value {
    let mut schema = without(model);
    let b = match property {
        RequiredWithDefault => json!({"type": "string", "default": "x"}),
        Required | Optional => json!({"type": "string"}),
    };
    schema["properties"]["b"] = b;
    if !matches!(property, Optional) {
        schema["required"] = json!(["a", "b"]);
    }
    schema
}

fn without(model: Model) -> Value {
    let mut schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    if model == Closed {
        schema["additionalProperties"] = json!(false);
    }
    schema
}

/// The violations of one direction: pointer and rule.
type Found = &'static [(&'static str, CompatRule)];

const FINE: Found = &[];
const DEMANDED: Found = &[("/required", CompatRule::RequiredAdded)];
const REFUSED: Found = &[("/additionalProperties", CompatRule::PropertiesClosed)];
const OTHER_VALUE: Found = &[("/properties/b/type", CompatRule::TypeNarrowed)];
const OTHER_VALUE_AND_DEMANDED: Found =
    &[("/required", CompatRule::RequiredAdded), ("/properties/b/type", CompatRule::TypeNarrowed)];

fn check(model: Model, policy: CompatPolicy, old: &Value, new: &Value, backward: Found, forward: Found, reason: &str) {
    let settings = settings(policy);
    let case = format!("{model:?} {policy:?}: {reason}\nold {old}\nnew {new}");
    for (compat, wants_backward, wants_forward) in
        [(Compat::Backward, true, false), (Compat::Forward, false, true), (Compat::Full, true, true)]
    {
        let found = check_mode(compat, &[(1, old)], new, &settings).unwrap_or_else(|error| panic!("{error} {case}"));
        let of = |direction: Direction| -> Vec<(&str, CompatRule)> {
            let found = found.iter().filter(|found| found.direction == direction);
            found.map(|found| (found.pointer.as_str(), found.rule)).collect()
        };
        assert_eq!(of(Direction::Backward), if wants_backward { backward } else { FINE }, "{compat} {case}");
        assert_eq!(of(Direction::Forward), if wants_forward { forward } else { FINE }, "{compat} {case}");
        assert!(found.iter().all(|found| found.example.is_some() && found.against_version == Some(1)), "{found:?}");
    }
}

#[test]
fn adding_and_removing_a_property_is_judged_by_the_model() {
    let mut cases = 0;
    for (model, property, policy, added_backward, added_forward, reason) in [
        (Open, Required, Lenient, DEMANDED, FINE, "old documents lack `b`; old readers ignore it"),
        (Open, RequiredWithDefault, Lenient, DEMANDED, FINE, "defaults are not filled in"),
        (Open, Optional, Lenient, FINE, FINE, "`b` was never declared, so it is taken as absent"),
        (Closed, Required, Lenient, DEMANDED, REFUSED, "old documents lack `b`; the old model refuses it"),
        (Closed, RequiredWithDefault, Lenient, DEMANDED, REFUSED, "defaults are not filled in"),
        (Closed, Optional, Lenient, FINE, REFUSED, "old documents cannot have `b`; the old model refuses it"),
        (Open, Required, Strict, OTHER_VALUE_AND_DEMANDED, FINE, "an old document may also have another `b`"),
        (Open, RequiredWithDefault, Strict, OTHER_VALUE_AND_DEMANDED, FINE, "defaults are not filled in"),
        (Open, Optional, Strict, OTHER_VALUE, FINE, "an old document may have a `b` that is no string"),
        (Closed, Required, Strict, DEMANDED, REFUSED, "a closed model has no undeclared properties"),
        (Closed, RequiredWithDefault, Strict, DEMANDED, REFUSED, "a closed model has no undeclared properties"),
        (Closed, Optional, Strict, FINE, REFUSED, "a closed model has no undeclared properties"),
    ] {
        let (lacks, has) = (without(model), with(model, property));
        check(model, policy, &lacks, &has, added_backward, added_forward, reason);
        // Removing is adding, seen from the other side.
        check(model, policy, &has, &lacks, added_forward, added_backward, reason);
        cases += 2;
    }
    assert_eq!(cases, 24);
}

#[test]
fn closing_and_opening_a_model_is_judged_by_the_policy() {
    let (open, closed) = (without(Open), without(Closed));
    check(Open, Lenient, &open, &closed, FINE, FINE, "what was never declared is taken as absent");
    check(Open, Strict, &open, &closed, REFUSED, FINE, "an open model accepts every other property");
    check(Closed, Strict, &closed, &open, FINE, REFUSED, "an open model accepts every other property");
}

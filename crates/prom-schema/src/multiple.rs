//! `multipleOf`, decided by the numbers that are written and not by doubles: 9007199254740993 is a multiple of 1.5, and no double
//! is between it and the next one. The comparison of schemas is exact, so the judge of events has to be.

use jsonschema::paths::Location;
use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value};

use crate::compat::Exact;

/// The keyword, as the validator calls it.
pub(crate) const NAME: &str = "multipleOf";

/// A unit, and what is a multiple of it.
struct ExactMultiple {
    unit: Exact,
    /// Where it is one: then most numbers take one division of integers.
    integer: Option<i128>,
    shown: String,
}

/// For [`jsonschema::ValidationOptions::with_keyword`].
pub(crate) fn compile<'a>(
    _: &'a Map<String, Value>,
    unit: &'a Value,
    _: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    let exact = unit.as_number().and_then(Exact::read).filter(|unit| !unit.is_zero());
    let exact = exact.ok_or_else(|| ValidationError::custom("it is no number above zero that can be read"))?;
    Ok(Box::new(ExactMultiple {
        unit: exact,
        integer: integer(unit).filter(|unit| *unit != 0),
        shown: unit.to_string(),
    }))
}

/// Whether judging a number by this unit takes one division of integers.
pub(crate) fn is_quick(unit: &Value) -> bool {
    integer(unit).is_some()
}

impl<'i> Keyword<'i> for ExactMultiple {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            return Ok(());
        }
        Err(ValidationError::custom(format!("{instance} is not a multiple of {}", self.shown)))
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        let Value::Number(number) = instance else {
            return true;
        };
        match (self.integer, integer(instance)) {
            (Some(unit), Some(instance)) => instance % unit == 0,
            // What no number of ours can hold was refused before.
            _ => Exact::read(number).is_none_or(|number| number.is_multiple_of(&self.unit)),
        }
    }
}

/// The value of an integer, also of one that is written with a point.
fn integer(value: &Value) -> Option<i128> {
    const EXACT: f64 = 1e30;
    let number = value.as_number()?;
    let float =
        || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT).map(|float| float as i128);
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)).or_else(float)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn multiples_are_decided_as_they_are_written() {
        let is_multiple = |number: Value, unit: Value| {
            let options = jsonschema::options().with_keyword(NAME, compile);
            options.build(&json!({ "multipleOf": unit })).unwrap().is_valid(&number)
        };
        for (number, unit, expected) in [
            (json!(9_007_199_254_740_993_u64), json!(1.5), true),
            (json!(9_007_199_254_740_992_u64), json!(1.5), false),
            (json!(9_007_199_254_740_993_u64), json!(3), true),
            (json!(0.3), json!(0.1), true),
            (json!(0.35), json!(0.1), false),
            (json!(19.99), json!(0.01), true),
            (json!(1e22), json!(10), true),
            (json!(4.0), json!(2), true),
            (json!(-4.5), json!(1.5), true),
            (json!(4.5), json!(2), false),
            (json!(0), json!(7), true),
            (json!("text"), json!(7), true),
            (json!(u64::MAX), json!(5), true),
        ] {
            assert_eq!(is_multiple(number.clone(), unit.clone()), expected, "{number} of {unit}");
        }
    }
}

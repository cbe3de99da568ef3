//! What two types have in common, for `allOf` and for keywords beside each other.
//!
//! Promise: nothing that is in both is missing from the result. Where the work or the number of alternatives would get out of
//! hand, one of the two is returned, which holds more.

use std::collections::BTreeMap;

use serde_json::Value;

use super::build::TypeBuilder;
use super::{ArrayType, IntegerRange, IntegerSize, ModelType, ObjectType, Presence, PropertyType, RestType, Sign};

/// Alternatives of one union. More than that nobody can read.
const MEMBERS: usize = 64;

/// References inside references that are opened to be compared.
const OPENED: usize = 8;

impl TypeBuilder<'_, '_> {
    pub fn intersect(&mut self, one: &ModelType, other: &ModelType) -> ModelType {
        self.common(one, other, 0)
    }

    fn common(&mut self, one: &ModelType, other: &ModelType, opened: usize) -> ModelType {
        if self.work == 0 {
            return one.clone();
        }
        self.work -= 1;
        match (one, other) {
            (ModelType::Any, only) | (only, ModelType::Any) => only.clone(),
            (ModelType::Never, _) | (_, ModelType::Never) => ModelType::Never,
            (same, equal) if same == equal => same.clone(),
            (ModelType::Union(_), _) | (_, ModelType::Union(_)) => self.distribute(one, other, opened),
            (ModelType::Reference(_), closed) | (closed, ModelType::Reference(_)) if opened >= OPENED => closed.clone(),
            (ModelType::Reference(pointer), closed) | (closed, ModelType::Reference(pointer)) => {
                let document = self.document;
                let target = document.root().pointer(pointer).unwrap_or(&Value::Bool(true));
                let target = self.type_of(target);
                self.common(&target, closed, opened + 1)
            }
            (ModelType::Literal(value), ty) | (ty, ModelType::Literal(value)) => {
                if may_hold(ty, value) {
                    ModelType::Literal(value.clone())
                } else {
                    ModelType::Never
                }
            }
            (ModelType::Integer(one), ModelType::Integer(other)) => ModelType::Integer(IntegerRange {
                sign: if one.sign == Sign::Any { other.sign } else { one.sign },
                size: if one.size == IntegerSize::Usual { other.size } else { one.size },
            }),
            (ModelType::Integer(range), ModelType::Number) | (ModelType::Number, ModelType::Integer(range)) => {
                ModelType::Integer(*range)
            }
            (ModelType::Array(one), ModelType::Array(other)) => ModelType::Array(self.arrays(one, other, opened)),
            (ModelType::Object(one), ModelType::Object(other)) => self.objects(one, other, opened),
            _ => ModelType::Never,
        }
    }

    fn distribute(&mut self, one: &ModelType, other: &ModelType, opened: usize) -> ModelType {
        if one.members().len() * other.members().len() > MEMBERS * 8 {
            return one.clone();
        }
        let mut members = Vec::new();
        for left in one.members() {
            for right in other.members() {
                members.push(self.common(left, right, opened));
            }
        }
        match ModelType::union(members) {
            ModelType::Union(members) if members.len() > MEMBERS => one.clone(),
            common => common,
        }
    }

    fn arrays(&mut self, one: &ArrayType, other: &ArrayType, opened: usize) -> ArrayType {
        let length = one.prefix.len().max(other.prefix.len());
        let at = |array: &ArrayType, index: usize| array.prefix.get(index).unwrap_or(&array.rest).clone();
        let prefix = (0..length).map(|index| self.common(&at(one, index), &at(other, index), opened)).collect();
        let rest = Box::new(self.common(&one.rest, &other.rest, opened));
        ArrayType { prefix, rest, least: one.least.max(other.least) }
    }

    fn objects(&mut self, one: &ObjectType, other: &ObjectType, opened: usize) -> ModelType {
        let mut properties = BTreeMap::new();
        for name in one.properties.keys().chain(other.properties.keys()) {
            if properties.contains_key(name) {
                continue;
            }
            let (left, right) = (one.properties.get(name), other.properties.get(name));
            let ty = |property: Option<&PropertyType>, rest: &RestType| {
                property.map_or_else(|| rest.ty(), |property| property.ty.clone())
            };
            let both = [left, right].into_iter().flatten();
            let is_required = both.clone().any(|property| property.presence == Presence::Required);
            let about = both.map(|property| &property.about).find(|about| about.description.is_some());
            let property = PropertyType {
                ty: self.common(&ty(left, &one.rest), &ty(right, &other.rest), opened),
                presence: if is_required { Presence::Required } else { Presence::Optional },
                about: about.or(left.or(right).map(|property| &property.about)).cloned().unwrap_or_default(),
            };
            properties.insert(name.clone(), property);
        }
        let rest = match (&one.rest, &other.rest) {
            (RestType::Closed, _) | (_, RestType::Closed) => RestType::Closed,
            (RestType::Unsaid, said) | (said, RestType::Unsaid) => said.clone(),
            (RestType::Typed(left), RestType::Typed(right)) => match self.common(left, right, opened) {
                ModelType::Never => RestType::Closed,
                ty => RestType::Typed(Box::new(ty)),
            },
        };
        if rest == RestType::Closed {
            // What may not be there needs no name.
            properties.retain(|_, property| property.ty != ModelType::Never || property.presence == Presence::Required);
        }
        ObjectType { properties, rest }.or_never()
    }
}

/// Whether a value can be of this type. Parts of arrays and objects are not compared.
fn may_hold(ty: &ModelType, value: &Value) -> bool {
    match ty {
        ModelType::Any | ModelType::Reference(_) => true,
        ModelType::Never => false,
        ModelType::Null => value.is_null(),
        ModelType::Boolean => value.is_boolean(),
        ModelType::Number => value.is_number(),
        ModelType::Integer(_) => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        ModelType::Text => value.is_string(),
        ModelType::Literal(literal) => is_equal(literal, value),
        ModelType::Array(_) => value.is_array(),
        ModelType::Object(_) => value.is_object(),
        ModelType::Union(members) => members.iter().any(|member| may_hold(member, value)),
    }
}

/// As JSON Schema compares: `1` and `1.0` are one number.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

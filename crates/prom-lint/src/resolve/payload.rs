//! A payload as far as the code spells it out: JSON with holes.

use std::sync::Arc;

use serde_json::{Map, Number, Value};

use super::{Meaning, NameResolver, SourceModule};
use crate::limits;
use crate::record::{Binding, Expr, ExprKind};

/// JSON with holes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartialPayload {
    /// Holes are `null`.
    pub value: Value,
    /// Pointers to values that are not known.
    pub holes: Vec<String>,
    /// Pointers to objects and arrays that may have more members than are written.
    pub open: Vec<String>,
}

impl NameResolver<'_> {
    /// `None` if nothing is known of it.
    pub fn payload(&self, module: &Arc<SourceModule>, expr: &Expr) -> Option<PartialPayload> {
        let mut payload = PartialPayload::default();
        payload.value = self.json(module, expr, "", 0, &mut payload)?;
        Some(payload)
    }

    fn json(
        &self,
        module: &Arc<SourceModule>,
        expr: &Expr,
        pointer: &str,
        depth: usize,
        into: &mut PartialPayload,
    ) -> Option<Value> {
        let before = (into.holes.len(), into.open.len());
        let found = self.written(module, expr, pointer, depth, into);
        if found.is_none() {
            into.holes.truncate(before.0);
            into.open.truncate(before.1);
        }
        found
    }

    /// Objects and lists as they are written at the call, or under a name of this file that nothing changes. Those that come
    /// from elsewhere, such as fields, other files and functions, may have other members when the call runs.
    fn written(
        &self,
        module: &Arc<SourceModule>,
        expr: &Expr,
        pointer: &str,
        depth: usize,
        into: &mut PartialPayload,
    ) -> Option<Value> {
        if depth > limits::DEPTH {
            return None;
        }
        match &expr.kind {
            ExprKind::Object(_) | ExprKind::Array(_) => self.json_of_literal(module, expr, pointer, depth + 1, into),
            ExprKind::Local(binding) => match module.record.bindings.get(*binding as usize) {
                Some(Binding { values, is_changed: false }) if values.len() == 1 => {
                    self.written(module, &values[0], pointer, depth + 1, into)
                }
                _ => None,
            },
            _ if is_of_changed(module, expr) => None,
            _ => self.scalar(module, expr, pointer, depth, into),
        }
    }

    /// Texts and numbers never change, wherever they come from; of several possible ones none is certain.
    fn scalar(
        &self,
        module: &Arc<SourceModule>,
        expr: &Expr,
        pointer: &str,
        depth: usize,
        into: &mut PartialPayload,
    ) -> Option<Value> {
        let (mut found, mut count) = (None, 0);
        self.each(module, expr, depth, &mut |module, meaning| {
            count += 1;
            if let Meaning::Literal(literal) = meaning
                && !matches!(literal.kind, ExprKind::Object(_) | ExprKind::Array(_))
            {
                found = self.json_of_literal(module, literal, pointer, depth + 1, into);
            }
        });
        found.filter(|_| count == 1)
    }

    fn json_of_literal(
        &self,
        module: &Arc<SourceModule>,
        literal: &Expr,
        pointer: &str,
        depth: usize,
        into: &mut PartialPayload,
    ) -> Option<Value> {
        if depth > limits::DEPTH {
            return None;
        }
        match &literal.kind {
            ExprKind::Text(text) => Some(Value::String(text.clone())),
            ExprKind::Json(text) => match text.as_str() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                "null" => Some(Value::Null),
                number => number.parse::<Number>().ok().map(Value::Number),
            },
            ExprKind::Concat(_) => {
                let texts = self.texts(module, literal);
                match &texts.known[..] {
                    [one] if !texts.has_unknown => one.whole().map(Value::String),
                    _ => None,
                }
            }
            ExprKind::Array(elements) => {
                let mut values = Vec::with_capacity(elements.len());
                for (index, element) in elements.iter().enumerate() {
                    if matches!(element.kind, ExprKind::Element(_)) {
                        into.open.push(pointer.to_owned());
                        break;
                    }
                    values.push(self.member_json(module, element, format!("{pointer}/{index}"), depth, into));
                }
                Some(Value::Array(values))
            }
            ExprKind::Object(properties) => {
                let mut members = Map::new();
                for property in properties {
                    let Some(key) = &property.key else {
                        into.open.push(pointer.to_owned());
                        // What is spread later replaces what was written before.
                        let before = members.keys().map(|key| format!("{pointer}/{}", escaped(key)));
                        into.holes.extend(before);
                        continue;
                    };
                    let below = format!("{pointer}/{}", escaped(key));
                    if is_undefined(module, &property.value) {
                        continue;
                    }
                    // A function says how it is written, or is left out.
                    if matches!(property.value.kind, ExprKind::Function(_)) {
                        if key == "toJSON" {
                            return None;
                        }
                        continue;
                    }
                    let value = self.member_json(module, &property.value, below, depth, into);
                    members.insert(key.clone(), value);
                }
                Some(Value::Object(members))
            }
            _ => None,
        }
    }

    fn member_json(
        &self,
        module: &Arc<SourceModule>,
        expr: &Expr,
        pointer: String,
        depth: usize,
        into: &mut PartialPayload,
    ) -> Value {
        match self.json(module, expr, &pointer, depth, into) {
            Some(value) => value,
            None => {
                into.holes.push(pointer);
                Value::Null
            }
        }
    }
}

fn is_undefined(module: &SourceModule, expr: &Expr) -> bool {
    module.language == crate::front::SourceLanguage::TypeScript
        && matches!(&expr.kind, ExprKind::Global(name) if name == "undefined")
}

/// A member of something that is changed in place.
fn is_of_changed(module: &SourceModule, expr: &Expr) -> bool {
    let mut expr = expr;
    for _ in 0..limits::DEPTH {
        expr = match &expr.kind {
            ExprKind::Member(of, _) | ExprKind::Element(of) => of,
            ExprKind::Local(binding) => match module.record.bindings.get(*binding as usize) {
                Some(Binding { is_changed: true, .. }) => return true,
                Some(Binding { values, .. }) if values.len() == 1 => &values[0],
                _ => return false,
            },
            _ => return false,
        };
    }
    true
}

/// A key as a part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

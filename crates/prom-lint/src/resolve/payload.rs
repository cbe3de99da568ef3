//! A payload as far as the code spells it out: JSON with holes.

use std::sync::Arc;

use serde_json::{Map, Number, Value};

use super::{Meaning, NameResolver, SourceModule};
use crate::limits;
use crate::record::{Expr, ExprKind};

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
        let mut found: Option<Value> = None;
        let mut count = 0;
        let before = (into.holes.len(), into.open.len());
        self.each(module, expr, depth, &mut |module, meaning| {
            count += 1;
            if count == 1
                && let Meaning::Literal(literal) = meaning
            {
                found = self.json_of_literal(module, literal, pointer, depth + 1, into);
            }
        });
        // One of several, or nothing that is written down.
        if count != 1 || found.is_none() {
            into.holes.truncate(before.0);
            into.open.truncate(before.1);
            return None;
        }
        found
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

/// A key as a part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

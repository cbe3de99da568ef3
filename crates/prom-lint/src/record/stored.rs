//! How an expression is stored: one flat list each, `[start, end, kind, …]`, with the lists of its parts inside.
//!
//! Promise: a list per level of an expression and nothing else. Readers of JSON refuse what is nested deeper than 128 lists,
//! and a derived form needs four levels for each of ours, so that one deep expression would make the cache unreadable.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Expr, ExprKind, Property, Span};

impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        list.serialize_element(&self.span.start)?;
        list.serialize_element(&self.span.end)?;
        list.serialize_element(&number(&self.kind))?;
        match &self.kind {
            ExprKind::Text(text) | ExprKind::Json(text) | ExprKind::Global(text) | ExprKind::Module(text) => {
                list.serialize_element(text)?;
            }
            ExprKind::Concat(parts) | ExprKind::Array(parts) | ExprKind::Either(parts) => {
                parts.iter().try_for_each(|part| list.serialize_element(part))?;
            }
            ExprKind::Name(scope, name) => {
                list.serialize_element(scope)?;
                list.serialize_element(name)?;
            }
            ExprKind::Local(index) | ExprKind::Class(index) => list.serialize_element(index)?,
            ExprKind::Member(of, name) => {
                list.serialize_element(of)?;
                list.serialize_element(name)?;
            }
            ExprKind::Element(of) | ExprKind::Instance(of) | ExprKind::Function(of) => list.serialize_element(of)?,
            ExprKind::Object(properties) => {
                for property in properties {
                    list.serialize_element(&property.key)?;
                    list.serialize_element(&property.span.start)?;
                    list.serialize_element(&property.span.end)?;
                    list.serialize_element(&property.value)?;
                }
            }
            ExprKind::Call(callee, arguments) => {
                list.serialize_element(callee)?;
                arguments.iter().try_for_each(|argument| list.serialize_element(argument))?;
            }
            ExprKind::Opaque | ExprKind::Unknown => {}
        }
        list.end()
    }
}

fn number(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::Text(_) => 0,
        ExprKind::Json(_) => 1,
        ExprKind::Concat(_) => 2,
        ExprKind::Name(..) => 3,
        ExprKind::Local(_) => 4,
        ExprKind::Global(_) => 5,
        ExprKind::Member(..) => 6,
        ExprKind::Element(_) => 7,
        ExprKind::Object(_) => 8,
        ExprKind::Array(_) => 9,
        ExprKind::Call(..) => 10,
        ExprKind::Instance(_) => 11,
        ExprKind::Class(_) => 12,
        ExprKind::Function(_) => 13,
        ExprKind::Either(_) => 14,
        ExprKind::Module(_) => 15,
        ExprKind::Opaque => 16,
        ExprKind::Unknown => 17,
    }
}

impl<'de> Deserialize<'de> for Expr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ExprVisitor)
    }
}

struct ExprVisitor;

impl<'de> Visitor<'de> for ExprVisitor {
    type Value = Expr;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an expression as a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Expr, A::Error> {
        let span = Span::new(next(&mut list)?, next(&mut list)?);
        let number: u8 = next(&mut list)?;
        let kind = match number {
            0 => ExprKind::Text(next(&mut list)?),
            1 => ExprKind::Json(next(&mut list)?),
            2 => ExprKind::Concat(rest(&mut list)?),
            3 => ExprKind::Name(next(&mut list)?, next(&mut list)?),
            4 => ExprKind::Local(next(&mut list)?),
            5 => ExprKind::Global(next(&mut list)?),
            6 => ExprKind::Member(next(&mut list)?, next(&mut list)?),
            7 => ExprKind::Element(next(&mut list)?),
            8 => ExprKind::Object(properties(&mut list)?),
            9 => ExprKind::Array(rest(&mut list)?),
            10 => ExprKind::Call(next(&mut list)?, rest(&mut list)?),
            11 => ExprKind::Instance(next(&mut list)?),
            12 => ExprKind::Class(next(&mut list)?),
            13 => ExprKind::Function(next(&mut list)?),
            14 => ExprKind::Either(rest(&mut list)?),
            15 => ExprKind::Module(next(&mut list)?),
            16 => ExprKind::Opaque,
            17 => ExprKind::Unknown,
            other => return Err(A::Error::custom(format!("no kind of expression has the number {other}"))),
        };
        Ok(Expr { span, kind })
    }
}

fn next<'de, A: SeqAccess<'de>, T: Deserialize<'de>>(list: &mut A) -> Result<T, A::Error> {
    list.next_element()?.ok_or_else(|| A::Error::custom("an expression breaks off"))
}

fn rest<'de, A: SeqAccess<'de>>(list: &mut A) -> Result<Vec<Expr>, A::Error> {
    let mut parts = Vec::new();
    while let Some(part) = list.next_element()? {
        parts.push(part);
    }
    Ok(parts)
}

fn properties<'de, A: SeqAccess<'de>>(list: &mut A) -> Result<Vec<Property>, A::Error> {
    let mut properties = Vec::new();
    while let Some(key) = list.next_element::<Option<String>>()? {
        let span = Span::new(next(list)?, next(list)?);
        properties.push(Property { key, span, value: next(list)? });
    }
    Ok(properties)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    fn round_trip(expr: &Expr) -> Expr {
        serde_json::from_slice(&serde_json::to_vec(expr).unwrap()).unwrap()
    }

    #[test]
    fn every_kind_comes_back_as_it_was() {
        let at = Span::new(3, 9);
        let text = || Expr::text(at, "a");
        let property = |key: Option<&str>| Property { key: key.map(str::to_owned), span: at, value: text() };
        for kind in [
            ExprKind::Text("ä".to_owned()),
            ExprKind::Json("1".to_owned()),
            ExprKind::Concat(vec![text(), text()]),
            ExprKind::Name(7, "n".to_owned()),
            ExprKind::Local(4),
            ExprKind::Global("g".to_owned()),
            ExprKind::Member(Box::new(text()), "m".to_owned()),
            ExprKind::Element(Box::new(text())),
            ExprKind::Object(vec![property(Some("k")), property(None)]),
            ExprKind::Array(Vec::new()),
            ExprKind::Call(Box::new(text()), vec![text(), text()]),
            ExprKind::Instance(Box::new(text())),
            ExprKind::Class(2),
            ExprKind::Function(Box::new(text())),
            ExprKind::Either(vec![text()]),
            ExprKind::Module("./m".to_owned()),
            ExprKind::Opaque,
            ExprKind::Unknown,
        ] {
            let expr = Expr::new(at, kind);
            assert_eq!(round_trip(&expr), expr);
        }
    }

    #[test]
    fn the_deepest_expression_of_a_record_can_be_read_again() {
        let at = Span::default();
        let mut expr = Expr::text(at, "a");
        for level in 0..=limits::DEPTH {
            expr = match level % 3 {
                0 => Expr::new(at, ExprKind::Object(vec![Property { key: None, span: at, value: expr }])),
                1 => Expr::new(at, ExprKind::Call(Box::new(Expr::unknown(at)), vec![expr])),
                _ => expr.member("m", at),
            };
        }
        assert_eq!(round_trip(&expr), expr);
    }
}

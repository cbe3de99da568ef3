//! The words of a violation: what a keyword demands, and where the other schema speaks about the same.

use serde_json::Value;

use super::node::{Bound, Keyword, NodeId, NumberType, Type, Types};
use super::pattern::Patterns;

/// Characters of a value that is quoted.
const QUOTED: usize = 80;

pub(super) fn demand(keyword: &Keyword, patterns: &Patterns) -> String {
    match keyword {
        Keyword::False => "the schema is `false`".to_owned(),
        Keyword::Types(types) => format!("only {} is accepted", type_names(types)),
        Keyword::Enum(values) => {
            let listed: Vec<String> = values.iter().take(8).map(quote).collect();
            let more = if values.len() > 8 { ", …" } else { "" };
            format!(
                "only {}{more} is accepted",
                if listed.is_empty() { "nothing".to_owned() } else { listed.join(", ") }
            )
        }
        Keyword::AnyOf(nodes) => format!("one of {} branches must accept", nodes.len()),
        Keyword::OneOf(nodes) => format!("exactly one of {} branches must accept", nodes.len()),
        Keyword::Not(_) => "what `not` accepts is refused".to_owned(),
        Keyword::If { .. } => "a document that meets `if` must meet `then`, and another must meet `else`".to_owned(),
        Keyword::Minimum(limit, Bound::Inclusive) => format!("at least {limit}"),
        Keyword::Minimum(limit, Bound::Exclusive) => format!("more than {limit}"),
        Keyword::Maximum(limit, Bound::Inclusive) => format!("at most {limit}"),
        Keyword::Maximum(limit, Bound::Exclusive) => format!("less than {limit}"),
        Keyword::MultipleOf(unit) => format!("a multiple of {unit}"),
        Keyword::MinLength(min) => format!("at least {min} characters"),
        Keyword::MaxLength(max) => format!("at most {max} characters"),
        Keyword::Pattern(pattern) => format!("must match {}", quote(&Value::from(patterns.text(*pattern)))),
        Keyword::Format(format) => format!("must be a `{format}`"),
        Keyword::MinItems(min) => format!("at least {min} items"),
        Keyword::MaxItems(max) => format!("at most {max} items"),
        Keyword::Unique => "no item may occur twice".to_owned(),
        Keyword::Items(items) => match items.rest {
            Some(_) => format!("no items from position {}", items.prefix.len()),
            None => format!("no item at position {}", items.prefix.len().saturating_sub(1)),
        },
        Keyword::Contains { min, max: u64::MAX, .. } => format!("at least {min} items must match"),
        Keyword::Contains { min, max, .. } => format!("{min} to {max} items must match"),
        other => object_demand(other),
    }
}

fn object_demand(keyword: &Keyword) -> String {
    match keyword {
        Keyword::Required(names) => format!("`{}` must be present", names.join("`, `")),
        Keyword::MinProperties(min) => format!("at least {min} properties"),
        Keyword::MaxProperties(max) => format!("at most {max} properties"),
        Keyword::PropertyNames(_) => "every property name must be valid".to_owned(),
        Keyword::Members(members) => {
            match (members.named.keys().next(), members.patterns.first(), members.additional) {
                (_, _, Some(_)) => "properties that are not declared are refused".to_owned(),
                (Some(name), ..) => format!("`{name}` is refused"),
                (_, Some((_, pattern, _)), _) => format!("properties that match `{pattern}` are refused"),
                _ => "properties are refused".to_owned(),
            }
        }
        Keyword::DependentRequired(lists) => {
            let list = lists.iter().map(|(name, needs)| format!("`{name}` demands `{}`", needs.join("`, `")));
            list.collect::<Vec<_>>().join("; ")
        }
        Keyword::DependentSchemas(schemas) => {
            let list = schemas.keys().map(|name| format!("`{name}` demands another schema"));
            list.collect::<Vec<_>>().join("; ")
        }
        Keyword::UnevaluatedProperties(_) => "properties that nothing else has looked at must be valid".to_owned(),
        Keyword::UnevaluatedItems(_) => "items that nothing else has looked at must be valid".to_owned(),
        _ => "the schema refuses it".to_owned(),
    }
}

fn type_names(types: &Types) -> String {
    let name = |kind: &Type| match kind {
        Type::Null => "`null`",
        Type::Boolean => "`boolean`",
        Type::Number => "`number`",
        Type::String => "`string`",
        Type::Array => "`array`",
        Type::Object => "`object`",
    };
    let number = match types.number {
        NumberType::None => None,
        NumberType::Integer => Some("`integer`"),
        NumberType::Any => Some("`number`"),
    };
    types.others.iter().map(name).chain(number).collect::<Vec<_>>().join(" or ")
}

fn quote(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(QUOTED) {
        Some((at, _)) => format!("`{}…`", &text[..at]),
        None => format!("`{text}`"),
    }
}

/// Of these nodes, the keyword of this name, or else the first node.
pub(super) fn place_of(nodes: &[NodeId], arena: &super::read::Arena, name: &str) -> Option<String> {
    let with_keyword = nodes.iter().find(|node| arena.node(**node).clauses.iter().any(|clause| clause.name == name));
    match with_keyword {
        Some(node) if !name.is_empty() => Some(format!("{}/{name}", arena.node(*node).pointer)),
        _ => nodes.first().map(|node| arena.node(*node).pointer.clone()),
    }
}

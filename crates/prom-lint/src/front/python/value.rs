//! Expressions and types, as far as they say what a value is.

use tree_sitter::Node;

use super::super::syntax_tree::{children, span};
use super::Python;
use crate::limits;
use crate::record::{Expr, ExprKind, Property};

/// Types that give the methods of their argument.
const SEE_THROUGH: [&str; 10] = [
    "Optional",
    "Annotated",
    "Final",
    "ClassVar",
    "Awaitable",
    "AsyncIterator",
    "Iterator",
    "AsyncGenerator",
    "Generator",
    "Union",
];

impl Python<'_> {
    pub(super) fn value(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let place = span(node);
        if depth > limits::DEPTH {
            return Expr::unknown(place);
        }
        let depth = depth + 1;
        match node.kind() {
            "string" => self.string(node, depth),
            "concatenated_string" => {
                let parts = children(node).into_iter().map(|part| self.value(part, depth)).collect();
                Expr::new(place, ExprKind::Concat(parts))
            }
            "integer" | "float" => Expr::new(place, number(self.text(node))),
            "true" | "false" => Expr::new(place, ExprKind::Json(self.text(node).to_lowercase())),
            "none" => Expr::new(place, ExprKind::Json("null".to_owned())),
            "unary_operator" => match self.text(node).strip_prefix('-').map(str::trim) {
                Some(digits) => Expr::new(place, number(&format!("-{digits}"))),
                None => Expr::new(place, ExprKind::Opaque),
            },
            "identifier" => self.builder.name(self.text(node), place),
            "attribute" => match (node.child_by_field_name("object"), node.child_by_field_name("attribute")) {
                (Some(object), Some(name)) => self.value(object, depth).member(self.text(name), place),
                _ => Expr::unknown(place),
            },
            "subscript" => match (node.child_by_field_name("value"), node.child_by_field_name("subscript")) {
                (Some(of), Some(index)) => {
                    let of = self.value(of, depth);
                    match self.value(index, depth).kind {
                        ExprKind::Text(name) | ExprKind::Json(name) => of.member(name, place),
                        _ => Expr::new(place, ExprKind::Element(Box::new(of))),
                    }
                }
                _ => Expr::unknown(place),
            },
            "await" | "parenthesized_expression" => match node.named_child(0) {
                Some(inner) => self.value(inner, depth),
                None => Expr::unknown(place),
            },
            "named_expression" => match node.child_by_field_name("value") {
                Some(inner) => self.value(inner, depth),
                None => Expr::unknown(place),
            },
            "as_pattern" => match node.named_child(0) {
                Some(inner) => self.value(inner, depth),
                None => Expr::unknown(place),
            },
            _ => self.made_value(node, depth),
        }
    }

    /// Values that are put together, called, or chosen.
    fn made_value(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let place = span(node);
        match node.kind() {
            "conditional_expression" => {
                let parts = children(node);
                let choices =
                    parts.first().into_iter().chain(parts.last()).map(|part| self.value(*part, depth)).collect();
                Expr::either(place, choices)
            }
            "boolean_operator" => {
                let choices = [node.child_by_field_name("left"), node.child_by_field_name("right")];
                let choices = choices.into_iter().flatten().map(|part| self.value(part, depth)).collect();
                Expr::either(place, choices)
            }
            "binary_operator" => self.operator(node, depth),
            "list" | "tuple" | "set" | "expression_list" => {
                let elements = children(node).into_iter().filter(|part| !part.is_extra()).take(limits::MEMBERS);
                let elements = elements.map(|part| match (part.kind(), part.named_child(0)) {
                    ("list_splat", Some(inner)) => {
                        let of = self.value(inner, depth);
                        Expr::new(span(part), ExprKind::Element(Box::new(of)))
                    }
                    _ => self.value(part, depth),
                });
                let elements = elements.collect();
                Expr::new(place, ExprKind::Array(elements))
            }
            "dictionary" => self.dictionary(node, depth),
            "call" => self.call_value(node, depth),
            "comparison_operator" | "not_operator" => Expr::new(place, ExprKind::Opaque),
            _ => Expr::unknown(place),
        }
    }

    fn string(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let place = span(node);
        let parts = children(node);
        let start = parts.iter().find(|part| part.kind() == "string_start").map_or("", |start| self.text(*start));
        let start = start.to_lowercase();
        if start.contains('b') {
            return Expr::new(place, ExprKind::Opaque);
        }
        let mut pieces = Vec::new();
        for part in parts {
            match part.kind() {
                "string_content" => pieces.push(match unescaped(self.text(part), &start) {
                    Some(text) => Expr::text(span(part), text),
                    None => Expr::unknown(span(part)),
                }),
                "interpolation" => pieces.push(match part.child_by_field_name("expression") {
                    Some(inner) => self.value(inner, depth),
                    None => Expr::unknown(span(part)),
                }),
                _ => {}
            }
        }
        let has_holes = pieces.iter().any(|piece| !matches!(piece.kind, ExprKind::Text(_)));
        match (has_holes, pieces.pop()) {
            (true, last) => {
                pieces.extend(last);
                Expr::new(place, ExprKind::Concat(pieces))
            }
            (false, Some(Expr { kind: ExprKind::Text(text), .. })) if pieces.is_empty() => Expr::text(place, text),
            (false, last) => {
                pieces.extend(last);
                let texts = pieces.iter().filter_map(|piece| match &piece.kind {
                    ExprKind::Text(text) => Some(text.as_str()),
                    _ => None,
                });
                Expr::text(place, texts.collect::<String>())
            }
        }
    }

    fn operator(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let place = span(node);
        let parts = (node.child_by_field_name("left"), node.child_by_field_name("right"));
        let (Some(left), Some(right)) = parts else { return Expr::unknown(place) };
        let between = self.text.get(left.end_byte()..right.start_byte()).unwrap_or_default().trim();
        let left = self.value(left, depth);
        match (between, &left.kind) {
            ("+", _) => {
                let right = self.value(right, depth);
                Expr::new(place, ExprKind::Concat(vec![left, right]))
            }
            ("%", ExprKind::Text(pattern)) => Expr::new(place, ExprKind::Concat(percent_parts(&left, pattern))),
            // In a type: `Client | None`.
            ("|", _) => {
                let right = self.value(right, depth);
                Expr::either(place, vec![left, right])
            }
            _ => Expr::new(place, ExprKind::Opaque),
        }
    }

    fn dictionary(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let mut properties = Vec::new();
        for part in children(node).into_iter().take(limits::MEMBERS) {
            match (part.kind(), part.child_by_field_name("key"), part.child_by_field_name("value")) {
                ("pair", Some(key), Some(value)) => {
                    let place = span(key);
                    let key = match self.value(key, depth).kind {
                        ExprKind::Text(text) => Some(text),
                        _ => None,
                    };
                    let value = self.value(value, depth);
                    properties.push(Property { key, span: place, value });
                }
                ("dictionary_splat", ..) => {
                    let value = match part.named_child(0) {
                        Some(inner) => self.value(inner, depth),
                        None => Expr::unknown(span(part)),
                    };
                    properties.push(Property { key: None, span: span(part), value });
                }
                _ => {}
            }
        }
        Expr::new(span(node), ExprKind::Object(properties))
    }

    fn call_value(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let place = span(node);
        let Some(function) = node.child_by_field_name("function") else { return Expr::unknown(place) };
        let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
        let (mut positional, mut named) = (Vec::new(), Vec::new());
        for argument in arguments.into_iter().filter(|argument| !argument.is_extra()).take(limits::DEPTH) {
            let parts = (argument.child_by_field_name("name"), argument.child_by_field_name("value"));
            match (argument.kind(), parts) {
                ("keyword_argument", (Some(name), Some(value))) => {
                    let value = self.value(value, depth);
                    named.push((self.text(name), value));
                }
                _ => positional.push(self.value(argument, depth)),
            }
        }
        if function.kind() == "identifier"
            && matches!(self.text(function), "str" | "cast")
            && let Some(last) = positional.pop()
        {
            return last;
        }
        if function.kind() == "identifier" && self.text(function) == "dict" && positional.is_empty() {
            let properties =
                named.into_iter().map(|(name, value)| Property { key: Some(name.to_owned()), span: value.span, value });
            return Expr::new(place, ExprKind::Object(properties.collect()));
        }
        if let ("attribute", Some(object)) = (function.kind(), function.child_by_field_name("object")) {
            let method = function.child_by_field_name("attribute").map_or("", |name| self.text(name));
            let object = self.value(object, depth);
            return match (method, &object.kind) {
                ("format", ExprKind::Text(pattern)) => {
                    Expr::new(place, ExprKind::Concat(format_parts(&object, pattern, positional, &named)))
                }
                ("values", _) if positional.is_empty() => object,
                _ => {
                    let callee = object.member(method, span(function));
                    Expr::new(place, ExprKind::Call(Box::new(callee), positional))
                }
            };
        }
        let callee = self.value(function, depth);
        Expr::new(place, ExprKind::Call(Box::new(callee), positional))
    }

    /// A value of this type.
    pub(super) fn value_of_type(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let place = span(node);
        if depth > limits::DEPTH {
            return Expr::unknown(place);
        }
        let depth = depth + 1;
        match node.kind() {
            "type" => match node.named_child(0) {
                Some(inner) => self.value_of_type(inner, depth),
                None => Expr::unknown(place),
            },
            "identifier" if matches!(self.text(node), "str" | "int" | "float" | "bool" | "bytes" | "dict" | "list") => {
                Expr::new(place, ExprKind::Opaque)
            }
            "identifier" if self.text(node) == "Any" => Expr::unknown(place),
            "identifier" | "attribute" => self.value(node, depth).instance(),
            // A name that is declared later.
            "string" => match self.value(node, depth).kind {
                ExprKind::Text(name) => match name.rsplit_once('.') {
                    Some((module, name)) => self.builder.name(module, place).member(name, place).instance(),
                    None => self.builder.name(&name, place).instance(),
                },
                _ => Expr::unknown(place),
            },
            "none" => Expr::new(place, ExprKind::Opaque),
            "union_type" => {
                let choices = children(node).into_iter().map(|part| self.value_of_type(part, depth)).collect();
                Expr::either(place, choices)
            }
            "binary_operator" => {
                let choices = [node.child_by_field_name("left"), node.child_by_field_name("right")];
                let choices = choices.into_iter().flatten().map(|part| self.value_of_type(part, depth)).collect();
                Expr::either(place, choices)
            }
            "generic_type" | "subscript" => {
                let parts = children(node);
                let name = parts.first().map_or("", |name| self.text(*name)).rsplit('.').next().unwrap_or_default();
                let inside = parts.get(1).copied();
                let first = match inside {
                    Some(list) if list.kind() == "type_parameter" => list.named_child(0),
                    other => other,
                };
                match (SEE_THROUGH.contains(&name), name, first) {
                    (true, _, Some(first)) => self.value_of_type(first, depth),
                    (_, "Literal", Some(_)) => {
                        let texts = inside.map(children).unwrap_or_default();
                        let texts = texts.into_iter().map(|text| {
                            let text = if text.kind() == "type" { text.named_child(0).unwrap_or(text) } else { text };
                            self.value(text, depth)
                        });
                        let texts = texts.collect();
                        Expr::either(place, texts)
                    }
                    _ => Expr::new(place, ExprKind::Opaque),
                }
            }
            _ => Expr::unknown(place),
        }
    }
}

/// The text that a literal stands for; `None` if it names a character by its Unicode name.
fn unescaped(written: &str, start: &str) -> Option<String> {
    let written = if start.contains('f') { written.replace("{{", "{").replace("}}", "}") } else { written.to_owned() };
    if start.contains('r') {
        return Some(written);
    }
    let mut text = String::with_capacity(written.len());
    let mut rest = written.as_str();
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let mut after = rest[at + 1..].chars();
        let Some(kind) = after.next() else { break };
        let digits = match kind {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            'N' => return None,
            _ => 0,
        };
        rest = after.as_str();
        if digits > 0 {
            let code = rest.get(..digits).and_then(|code| u32::from_str_radix(code, 16).ok())?;
            text.push(char::from_u32(code)?);
            rest = &rest[digits..];
        } else if kind.is_digit(8) {
            let length = rest.bytes().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            let code = u32::from_str_radix(&format!("{kind}{}", &rest[..length]), 8).ok()?;
            text.push(char::from_u32(code)?);
            rest = &rest[length..];
        } else {
            match kind {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'a' => text.push('\u{7}'),
                'b' => text.push('\u{8}'),
                'f' => text.push('\u{c}'),
                'v' => text.push('\u{b}'),
                '\\' | '\'' | '"' => text.push(kind),
                // A line that goes on.
                '\n' => {}
                '\r' => rest = rest.strip_prefix('\n').unwrap_or(rest),
                // No escape at all.
                other => text.extend(['\\', other]),
            }
        }
    }
    text.push_str(rest);
    Some(text)
}

/// As JSON has it, if it has it.
fn number(text: &str) -> ExprKind {
    let plain = text.replace('_', "");
    match serde_json::from_str::<serde_json::Number>(&plain) {
        Ok(_) => ExprKind::Json(plain),
        Err(_) => ExprKind::Opaque,
    }
}

/// `orders.%s`: the parts between the conversions.
fn percent_parts(of: &Expr, pattern: &str) -> Vec<Expr> {
    let mut parts = Vec::new();
    let mut rest = pattern;
    while let Some(at) = rest.find('%') {
        parts.push(Expr::text(of.span, &rest[..at]));
        let after = &rest[at + 1..];
        if let Some(after) = after.strip_prefix('%') {
            parts.push(Expr::text(of.span, "%"));
            rest = after;
            continue;
        }
        let end = after.find(|character: char| character.is_ascii_alphabetic());
        parts.push(Expr::unknown(of.span));
        rest = end.map_or("", |end| &after[end + 1..]);
    }
    parts.push(Expr::text(of.span, rest));
    without_empty(parts)
}

/// `orders.{}`: the parts between the braces, and what goes into these.
fn format_parts(of: &Expr, pattern: &str, positional: Vec<Expr>, named: &[(&str, Expr)]) -> Vec<Expr> {
    let mut positional = positional.into_iter();
    let mut parts = Vec::new();
    let mut rest = pattern;
    while let Some(open) = rest.find('{') {
        parts.push(Expr::text(of.span, &rest[..open]));
        let Some(close) = rest[open..].find('}') else { break };
        let name = rest[open + 1..open + close].split([':', '!']).next().unwrap_or_default();
        parts.push(match name {
            "" => positional.next().unwrap_or_else(|| Expr::unknown(of.span)),
            name => match named.iter().find(|(key, _)| *key == name) {
                Some((_, value)) => value.clone(),
                None => Expr::unknown(of.span),
            },
        });
        rest = &rest[open + close + 1..];
    }
    parts.push(Expr::text(of.span, rest));
    without_empty(parts)
}

fn without_empty(mut parts: Vec<Expr>) -> Vec<Expr> {
    parts.retain(|part| !matches!(&part.kind, ExprKind::Text(text) if text.is_empty()));
    parts
}

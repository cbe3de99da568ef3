//! The tokens of `json!` as a value.

use tree_sitter::Node;

use super::super::syntax_tree::span;
use super::Rust;
use super::value::number;
use crate::limits;
use crate::record::{Expr, ExprKind, Property, Span};

impl Rust<'_> {
    /// What stands between the brackets of the macro.
    pub(super) fn json(&mut self, tree: Node<'_>, place: Span, depth: usize) -> Expr {
        let tokens = inside(tree);
        Expr { span: place, ..self.json_value(&tokens, place, depth) }
    }

    fn json_value(&mut self, tokens: &[Node<'_>], place: Span, depth: usize) -> Expr {
        if depth > limits::DEPTH {
            return Expr::unknown(place);
        }
        let [token] = tokens else {
            return match tokens {
                [minus, digits] if self.text(*minus) == "-" => {
                    Expr::new(place, number(&format!("-{}", self.text(*digits))))
                }
                _ => Expr::unknown(place),
            };
        };
        let place = span(*token);
        match token.kind() {
            "token_tree" if self.text(*token).starts_with('{') => self.json_object(*token, depth + 1),
            "token_tree" if self.text(*token).starts_with('[') => {
                let parts = separated(self, inside(*token));
                let elements = parts.iter().map(|part| self.json_value(part, place, depth + 1)).collect();
                Expr::new(place, ExprKind::Array(elements))
            }
            "identifier" if self.text(*token) == "null" => Expr::new(place, ExprKind::Json("null".to_owned())),
            "identifier" if matches!(self.text(*token), "true" | "false") => {
                Expr::new(place, ExprKind::Json(self.text(*token).to_owned()))
            }
            "token_tree" => Expr::unknown(place),
            _ => self.value(*token, depth + 1),
        }
    }

    fn json_object(&mut self, tree: Node<'_>, depth: usize) -> Expr {
        let mut properties = Vec::new();
        for member in separated(self, inside(tree)) {
            let Some(colon) = member.iter().position(|token| self.text(*token) == ":") else { continue };
            let (key, value) = (&member[..colon], &member[colon + 1..]);
            let place = key.first().map_or(span(tree), |key| span(*key));
            let key = match key {
                [key] if key.kind() == "string_literal" => match self.value(*key, depth).kind {
                    ExprKind::Text(text) => Some(text),
                    _ => None,
                },
                _ => None,
            };
            let value = self.json_value(value, place, depth);
            properties.push(Property { key, span: place, value });
        }
        Expr::new(span(tree), ExprKind::Object(properties))
    }
}

/// The tokens between the brackets.
fn inside(tree: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = tree.walk();
    let all: Vec<Node<'_>> = tree.children(&mut cursor).filter(|token| !token.is_extra()).collect();
    if all.len() < 2 { Vec::new() } else { all[1..all.len() - 1].to_vec() }
}

fn separated<'t>(walk: &Rust<'_>, tokens: Vec<Node<'t>>) -> Vec<Vec<Node<'t>>> {
    let parts = tokens.split(|token| walk.text(*token) == ",");
    parts.filter(|part| !part.is_empty()).map(<[Node<'_>]>::to_vec).collect()
}

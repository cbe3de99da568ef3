//! Macros: `format!`, `concat!`, `json!` and `vec!` say what a value is; calls are looked for in the brackets of all others.

use tree_sitter::Node;

use super::super::syntax_tree::{children, parse, span};
use super::Rust;
use crate::limits;
use crate::record::{Expr, ExprKind, Span};

/// Around the contents of a macro, so that they are expressions.
const BEFORE: &str = "fn m(){f(";
const AFTER: &str = ");}";

impl Rust<'_> {
    pub(super) fn macro_value(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let place = span(node);
        let name = node.child_by_field_name("macro").map_or("", |name| self.text(name));
        let Some(tree) = children(node).into_iter().find(|child| child.kind() == "token_tree") else {
            return Expr::unknown(place);
        };
        match name.rsplit("::").next().unwrap_or_default() {
            "json" => self.json(tree, place, depth),
            "concat" => {
                let parts = self.values_in(tree, depth);
                Expr::new(place, ExprKind::Concat(parts))
            }
            "vec" => {
                let parts = self.values_in(tree, depth);
                Expr::new(place, ExprKind::Array(parts))
            }
            "format" => self.format(tree, place, depth),
            _ => Expr::unknown(place),
        }
    }

    /// The arguments between the brackets of a macro.
    fn values_in(&mut self, tree: Node<'_>, depth: usize) -> Vec<Expr> {
        let Some(padded) = self.padded(tree) else { return Vec::new() };
        let Some(parsed) = parse(&tree_sitter_rust::LANGUAGE.into(), &padded) else { return Vec::new() };
        let Some(arguments) = find(parsed.root_node(), "arguments") else { return Vec::new() };
        let of = children(arguments);
        let of = of.into_iter().filter(|argument| !argument.is_extra()).take(limits::MEMBERS);
        self.with_text(&padded, |walk| of.map(|argument| walk.value(argument, depth)).collect())
    }

    /// The contents of a macro where they stand in the file, and blanks in front of them: positions stay as they are.
    fn padded(&mut self, tree: Node<'_>) -> Option<String> {
        let start = tree.start_byte() + 1;
        let end = tree.end_byte().checked_sub(1).filter(|end| *end >= start)?;
        self.macros += 1;
        if start < BEFORE.len() || self.macros > limits::MACROS {
            return None;
        }
        let inside = self.text.get(start..end)?;
        Some(format!("{}{BEFORE}{inside}{AFTER}", " ".repeat(start - BEFORE.len())))
    }

    fn with_text<T>(&mut self, padded: &str, act: impl FnOnce(&mut Rust<'_>) -> T) -> T {
        // The same walk over another text of the same positions.
        let mut inner = Rust {
            text: padded,
            builder: std::mem::replace(&mut self.builder, crate::record::RecordBuilder::new()),
            names: self.names,
            classes: std::mem::take(&mut self.classes),
            returns: std::mem::take(&mut self.returns),
            modules: std::mem::take(&mut self.modules),
            macros: self.macros,
        };
        let result = act(&mut inner);
        self.builder = inner.builder;
        self.classes = inner.classes;
        self.returns = inner.returns;
        self.modules = inner.modules;
        self.macros = inner.macros;
        result
    }

    fn format(&mut self, tree: Node<'_>, place: Span, depth: usize) -> Expr {
        let mut values = self.values_in(tree, depth).into_iter();
        let Some(Expr { kind: ExprKind::Text(pattern), span: at }) = values.next() else {
            return Expr::unknown(place);
        };
        let mut parts = Vec::new();
        let mut rest = pattern.as_str();
        while let Some(open) = rest.find(['{', '}']) {
            let before = &rest[..open];
            if rest[open + 1..].starts_with(&rest[open..=open]) {
                parts.push(Expr::text(at, format!("{before}{}", &rest[open..=open])));
                rest = &rest[open + 2..];
                continue;
            }
            let Some(close) = rest[open..].find('}') else { break };
            parts.push(Expr::text(at, before));
            let inside = &rest[open + 1..(open + close).max(open + 1)];
            let name = inside.split(':').next().unwrap_or_default();
            parts.push(match name {
                "" => values.next().unwrap_or_else(|| Expr::unknown(at)),
                name if name.starts_with(|first: char| first.is_ascii_digit()) => Expr::unknown(at),
                name => self.builder.name(name, at),
            });
            rest = &rest[open + close + 1..];
        }
        parts.push(Expr::text(at, rest));
        parts.retain(|part| !matches!(&part.kind, ExprKind::Text(text) if text.is_empty()));
        Expr::new(place, ExprKind::Concat(parts))
    }

    pub(super) fn calls_in_macro(&mut self, node: Node<'_>, depth: usize) {
        let Some(tree) = children(node).into_iter().find(|child| child.kind() == "token_tree") else { return };
        let inside = self.text(tree);
        let may_call = self.names.0.iter().any(|name| inside.contains(&format!("{name}(")));
        if !may_call {
            return;
        }
        let Some(padded) = self.padded(tree) else { return };
        let Some(parsed) = parse(&tree_sitter_rust::LANGUAGE.into(), &padded) else { return };
        let Some(arguments) = find(parsed.root_node(), "arguments").or_else(|| Some(parsed.root_node())) else {
            return;
        };
        self.with_text(&padded, |walk| walk.visit_children(arguments, depth));
    }
}

/// The first node of a kind.
fn find<'t>(root: Node<'t>, kind: &str) -> Option<Node<'t>> {
    let mut open = vec![root];
    let mut looked_at = 0;
    while let Some(node) = open.pop() {
        looked_at += 1;
        if node.kind() == kind {
            return Some(node);
        }
        if looked_at > 64 {
            return None;
        }
        open.extend(children(node).into_iter().rev());
    }
    None
}

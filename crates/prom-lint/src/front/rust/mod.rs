//! Rust, by tree-sitter, which goes on after errors. Calls inside of macros are found by parsing what is in their brackets.

mod items;
mod json;
mod macros;
mod value;

use std::collections::HashMap;

use tree_sitter::Node;

use super::CallNames;
use super::syntax_tree::{children, note_comments_and_errors, parse, span, text_of};
use crate::limits;
use crate::record::{Call, Expr, FileRecord, RecordBuilder};
use crate::sites::NEW_EVENT;

/// The walk through one file.
struct Rust<'n> {
    text: &'n str,
    builder: RecordBuilder,
    names: &'n CallNames,
    /// Structs, enums and traits of this file by their names: an `impl` may stand before or after them.
    classes: HashMap<String, u32>,
    /// What the functions around this place return.
    returns: Vec<Vec<Expr>>,
    /// Inline modules around this place, as classes.
    modules: Vec<u32>,
    /// Macros that were parsed once more.
    macros: usize,
}

pub fn read(text: &str, names: &CallNames) -> FileRecord {
    let mut walk = Rust {
        text,
        builder: RecordBuilder::new(),
        names,
        classes: HashMap::new(),
        returns: Vec::new(),
        modules: Vec::new(),
        macros: 0,
    };
    match parse(&tree_sitter_rust::LANGUAGE.into(), text) {
        Some(tree) => {
            note_comments_and_errors(&mut walk.builder, tree.root_node(), text);
            walk.visit(tree.root_node(), 0);
        }
        None => walk.builder.unreadable(Default::default(), "the parser could not be started"),
    }
    walk.builder.finish()
}

impl<'n> Rust<'n> {
    fn text(&self, node: Node<'_>) -> &'n str {
        text_of(self.text, node)
    }

    /// `depth` counts nodes, so that code nested beyond all reason is left out instead of ending the run.
    fn visit(&mut self, node: Node<'_>, depth: usize) {
        if depth > limits::TREE_DEPTH {
            return;
        }
        let depth = depth + 1;
        match node.kind() {
            "function_item" | "function_signature_item" => self.function(node, depth),
            "const_item" | "static_item" => self.constant(node, depth),
            "struct_item" | "union_item" => self.structure(node),
            "enum_item" => self.enumeration(node),
            "trait_item" => self.trait_item(node, depth),
            "impl_item" => self.implementation(node, depth),
            "mod_item" => self.inline_module(node, depth),
            "type_item" => self.alias(node),
            "use_declaration" => self.uses(node),
            "let_declaration" => self.let_declaration(node, depth),
            "block" | "closure_expression" | "for_expression" | "match_arm" | "if_expression" | "while_expression" => {
                let outer = self.builder.enter_scope();
                self.bind(node);
                self.visit_children(node, depth);
                self.builder.leave_scope(outer);
            }
            "return_expression" => {
                self.visit_children(node, depth);
                if let Some(value) = node.named_child(0) {
                    let value = self.value(value, 0);
                    self.returned(value);
                }
            }
            "call_expression" => {
                self.visit_children(node, depth);
                self.call(node);
            }
            "macro_invocation" => self.calls_in_macro(node, depth),
            "assignment_expression" => {
                self.visit_children(node, depth);
                self.assignment(node);
            }
            _ => self.visit_children(node, depth),
        }
    }

    fn visit_children(&mut self, node: Node<'_>, depth: usize) {
        for child in children(node) {
            self.visit(child, depth);
        }
    }

    fn returned(&mut self, value: Expr) {
        if let Some(returns) = self.returns.last_mut().filter(|returns| returns.len() < limits::VALUES_OF_A_NAME) {
            returns.push(value);
        }
    }

    /// Names that the head of a block binds.
    fn bind(&mut self, node: Node<'_>) {
        match node.kind() {
            "closure_expression" => {
                for parameter in node.child_by_field_name("parameters").map(children).unwrap_or_default() {
                    self.parameter(parameter);
                }
            }
            "for_expression" => {
                let of = node.child_by_field_name("value").map(|value| self.value(value, 0));
                if let (Some(pattern), Some(of)) = (node.child_by_field_name("pattern"), of) {
                    let element = Expr::new(of.span, crate::record::ExprKind::Element(Box::new(of)));
                    self.declare_pattern(pattern, element);
                }
            }
            "match_arm" => {
                let matched = node.parent().and_then(|block| block.parent());
                let value = matched.and_then(|matched| matched.child_by_field_name("value"));
                let pattern = node.child_by_field_name("pattern").and_then(|pattern| pattern.named_child(0));
                if let (Some(pattern), Some(value)) = (pattern, value) {
                    let value = self.value(value, 0);
                    self.declare_pattern(pattern, value);
                }
            }
            "if_expression" | "while_expression" => {
                if let Some(condition) = node.child_by_field_name("condition") {
                    self.bind_condition(condition);
                }
            }
            _ => {}
        }
    }

    fn bind_condition(&mut self, condition: Node<'_>) {
        if condition.kind() == "let_chain" {
            children(condition).into_iter().for_each(|part| self.bind_condition(part));
        }
        let parts = (condition.child_by_field_name("pattern"), condition.child_by_field_name("value"));
        if let ("let_condition", (Some(pattern), Some(value))) = (condition.kind(), parts) {
            let value = self.value(value, 0);
            self.declare_pattern(pattern, value);
        }
    }

    fn let_declaration(&mut self, node: Node<'_>, depth: usize) {
        let value = node.child_by_field_name("value");
        value.into_iter().for_each(|value| self.visit(value, depth));
        node.child_by_field_name("alternative").into_iter().for_each(|block| self.visit(block, depth));
        let mut values: Vec<Expr> = value.map(|value| self.value(value, 0)).into_iter().collect();
        values.extend(node.child_by_field_name("type").map(|kind| self.value_of_type(kind, 0)));
        // What comes later sees this name, what came before does not: the block around restores its scope.
        self.builder.enter_scope();
        if let Some(pattern) = node.child_by_field_name("pattern") {
            self.declare_pattern(pattern, Expr::either(span(node), values));
            if children(node).iter().any(|child| child.kind() == "mutable_specifier") {
                self.builder.changes(self.text(pattern));
            }
        }
    }

    fn assignment(&mut self, node: Node<'_>) {
        let (left, right) = (node.child_by_field_name("left"), node.child_by_field_name("right"));
        if let (Some(left), Some(right)) = (left.filter(|left| left.kind() == "identifier"), right) {
            let value = self.value(right, 0);
            self.builder.assign(self.text(left), value);
        }
    }

    fn parameter(&mut self, node: Node<'_>) {
        match node.kind() {
            "parameter" => {
                let value = match node.child_by_field_name("type") {
                    Some(kind) => self.value_of_type(kind, 0),
                    None => Expr::unknown(span(node)),
                };
                if let Some(pattern) = node.child_by_field_name("pattern") {
                    self.declare_pattern(pattern, value);
                }
            }
            "self_parameter" => {}
            _ => self.declare_pattern(node, Expr::unknown(span(node))),
        }
    }

    /// `Some(a)` and `Ok(a)` give what is inside; of other patterns only the names are known.
    fn declare_pattern(&mut self, pattern: Node<'_>, value: Expr) {
        match pattern.kind() {
            "identifier" => self.builder.declare(self.text(pattern), value),
            "mut_pattern" | "ref_pattern" | "reference_pattern" | "captured_pattern" | "match_pattern" => {
                if let Some(inner) = children(pattern).into_iter().rfind(|child| child.kind() != "mutable_specifier") {
                    self.declare_pattern(inner, value);
                    if pattern.kind() == "mut_pattern" {
                        self.builder.changes(self.text(inner));
                    }
                }
            }
            "tuple_struct_pattern" => {
                let kind = pattern.child_by_field_name("type").map_or("", |kind| self.text(kind));
                for part in children(pattern).into_iter().skip(1) {
                    let value = if matches!(kind, "Some" | "Ok") { value.clone() } else { Expr::unknown(span(part)) };
                    self.declare_pattern(part, value);
                }
            }
            "struct_pattern" => {
                for field in children(pattern).into_iter().filter(|child| child.kind() == "field_pattern") {
                    let name = field.child_by_field_name("name");
                    let place = span(field);
                    if let Some(name) = name {
                        let part = value.clone().member(self.text(name), place);
                        match field.child_by_field_name("pattern") {
                            Some(inner) => self.declare_pattern(inner, part),
                            None => self.builder.declare(self.text(name), part),
                        }
                    }
                }
            }
            "tuple_pattern" => {
                for (index, part) in children(pattern).into_iter().enumerate() {
                    let inside = value.clone().member(index.to_string(), span(part));
                    self.declare_pattern(part, inside);
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, node: Node<'_>) {
        let Some(mut function) = node.child_by_field_name("function") else { return };
        if function.kind() == "generic_function" {
            function = function.child_by_field_name("function").unwrap_or(function);
        }
        let (name, receiver) = match function.kind() {
            "field_expression" => (function.child_by_field_name("field"), function.child_by_field_name("value")),
            "scoped_identifier" => (function.child_by_field_name("name"), None),
            "identifier" => (Some(function), None),
            _ => return,
        };
        let is_event = function.kind() == "scoped_identifier" && self.text(function).ends_with(NEW_EVENT);
        let is_known = |name: &Node<'_>| is_event || self.names.has(self.text(*name));
        let Some(name_node) = name.filter(is_known) else { return };
        let called = if is_event { function.child_by_field_name("path").unwrap_or(function) } else { function };
        let callee = receiver.is_none().then(|| self.value(called, 0));
        let receiver_text = receiver.map(|receiver| self.text(receiver).chars().take(80).collect());
        let receiver = receiver.map(|receiver| self.value(receiver, 0));
        let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
        let arguments =
            arguments.into_iter().filter(|argument| !argument.is_extra() && argument.kind() != "attribute_item");
        let arguments = arguments.take(limits::DEPTH).map(|argument| self.value(argument, 0)).collect();
        let name = if is_event { NEW_EVENT } else { self.text(name_node) };
        let (name, name_span) = (name.to_owned(), span(name_node));
        let span = span(node);
        self.builder.call(Call {
            span,
            name,
            name_span,
            receiver,
            receiver_text,
            callee,
            arguments,
            named: Vec::new(),
        });
    }
}

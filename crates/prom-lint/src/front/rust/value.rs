//! Expressions and types, as far as they say what a value is.

use tree_sitter::Node;

use super::super::syntax_tree::{children, span};
use super::Rust;
use super::items::last_expression;
use crate::limits;
use crate::record::{Expr, ExprKind};

/// Types that give the methods of their argument.
const SEE_THROUGH: [&str; 20] = [
    "Arc",
    "Rc",
    "Box",
    "Option",
    "Result",
    "Mutex",
    "RwLock",
    "OnceCell",
    "OnceLock",
    "LazyLock",
    "LazyCell",
    "Lazy",
    "RefCell",
    "Cow",
    "Pin",
    "State",
    "Extension",
    "Data",
    "Weak",
    "MutexGuard",
];

/// Functions that give back their argument.
const GIVES_ARGUMENT: [&str; 17] = [
    "Some",
    "Ok",
    "from",
    "from_static",
    "Arc",
    "parse",
    "new",
    "Box",
    "into",
    "Cow",
    "Borrowed",
    "Owned",
    "black_box",
    "pin",
    "clone",
    "leak",
    "from_str",
];

/// Types whose functions of these names do so.
const HOLDERS: [&str; 17] = [
    "String",
    "Cow",
    "Arc",
    "Rc",
    "Box",
    "Some",
    "Ok",
    "TopicName",
    "TopicPattern",
    "GroupName",
    "Mutex",
    "RwLock",
    "RefCell",
    "OnceLock",
    "Option",
    "str",
    "Pin",
];

/// Methods after which a text, or a client, is what it was.
const KEEPS: [&str; 14] = [
    "to_string",
    "to_owned",
    "into",
    "clone",
    "unwrap",
    "expect",
    "trim",
    "as_ref",
    "borrow",
    "as_deref",
    "cloned",
    "copied",
    "iter",
    "into_iter",
];

impl Rust<'_> {
    pub(super) fn value(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let place = span(node);
        if depth > limits::DEPTH {
            return Expr::unknown(place);
        }
        let depth = depth + 1;
        match node.kind() {
            "string_literal" => Expr::text(place, self.string(node)),
            "raw_string_literal" => {
                let content = children(node).into_iter().find(|child| child.kind() == "string_content");
                Expr::text(place, content.map_or("", |content| self.text(content)))
            }
            "integer_literal" | "float_literal" => Expr::new(place, number(self.text(node))),
            "boolean_literal" => Expr::new(place, ExprKind::Json(self.text(node).to_owned())),
            "unary_expression" => match (self.text(node).strip_prefix('-'), node.named_child(0)) {
                (Some(digits), Some(inner)) if inner.kind().ends_with("_literal") => {
                    Expr::new(place, number(&format!("-{}", digits.trim())))
                }
                // `*client`
                (None, Some(inner)) if self.text(node).starts_with('*') => self.value(inner, depth),
                _ => Expr::new(place, ExprKind::Opaque),
            },
            "char_literal" | "binary_expression" | "range_expression" => Expr::new(place, ExprKind::Opaque),
            "identifier" | "self" | "type_identifier" | "shorthand_field_identifier" => {
                self.builder.name(self.text(node), place)
            }
            "scoped_identifier" | "scoped_type_identifier" => self.path(node, depth),
            "field_expression" => match (node.child_by_field_name("value"), node.child_by_field_name("field")) {
                (Some(of), Some(name)) => self.value(of, depth).member(self.text(name), place),
                _ => Expr::unknown(place),
            },
            "reference_expression" | "type_cast_expression" => match node.child_by_field_name("value") {
                Some(inner) => self.value(inner, depth),
                None => Expr::unknown(place),
            },
            "parenthesized_expression" | "try_expression" | "await_expression" => match node.named_child(0) {
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
            "call_expression" => self.call_value(node, depth),
            "macro_invocation" => self.macro_value(node, depth),
            "array_expression" => {
                let elements = children(node).into_iter().filter(|child| !child.is_extra()).take(limits::MEMBERS);
                let elements = elements.map(|element| self.value(element, depth)).collect();
                Expr::new(place, ExprKind::Array(elements))
            }
            "tuple_expression" => {
                let elements = children(node).into_iter().map(|element| self.value(element, depth)).collect();
                Expr::new(place, ExprKind::Array(elements))
            }
            "struct_expression" => match node.child_by_field_name("name") {
                Some(name) => self.value(name, depth).instance(),
                None => Expr::unknown(place),
            },
            "if_expression" => {
                let mut choices = Vec::new();
                let blocks = [node.child_by_field_name("consequence"), node.child_by_field_name("alternative")];
                for block in blocks.into_iter().flatten() {
                    let block =
                        if block.kind() == "else_clause" { block.named_child(0).unwrap_or(block) } else { block };
                    choices.push(self.value(block, depth));
                }
                Expr::either(place, choices)
            }
            "match_expression" => {
                let arms = node.child_by_field_name("body").map(children).unwrap_or_default();
                let values = arms.into_iter().filter_map(|arm| arm.child_by_field_name("value"));
                let values = values.take(limits::TOPICS_OF_A_CALL).map(|value| self.value(value, depth)).collect();
                Expr::either(place, values)
            }
            "block" | "async_block" | "unsafe_block" => {
                let block = if node.kind() == "block" { Some(node) } else { children(node).into_iter().next_back() };
                match block.and_then(last_expression) {
                    Some(last) => self.value(last, depth),
                    None => Expr::unknown(place),
                }
            }
            "index_expression" => match (node.named_child(0), node.named_child(1)) {
                (Some(of), Some(index)) if index.kind() == "integer_literal" => {
                    self.value(of, depth).member(self.text(index), place)
                }
                (Some(of), _) => {
                    let of = self.value(of, depth);
                    Expr::new(place, ExprKind::Element(Box::new(of)))
                }
                _ => Expr::unknown(place),
            },
            "unit_expression" => Expr::new(place, ExprKind::Json("null".to_owned())),
            _ => Expr::unknown(place),
        }
    }

    fn path(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let place = span(node);
        let name = node.child_by_field_name("name").map_or("", |name| self.text(name));
        match node.child_by_field_name("path") {
            Some(path) if matches!(path.kind(), "crate" | "super" | "self") => {
                self.root(self.text(path), place).member(name, place)
            }
            Some(path) if path.kind() == "generic_type" => match path.child_by_field_name("type") {
                Some(inner) => self.value(inner, depth).member(name, place),
                None => Expr::unknown(place),
            },
            Some(path) => self.value(path, depth).member(name, place),
            None => self.builder.name(name, place),
        }
    }

    fn string(&self, node: Node<'_>) -> String {
        let mut text = String::new();
        let mut goes_on = false;
        for part in children(node) {
            let written = self.text(part);
            if part.kind() != "escape_sequence" {
                // A line that goes on does so where it has something.
                text.push_str(if goes_on { written.trim_start() } else { written });
                goes_on = goes_on && written.trim().is_empty();
                continue;
            }
            goes_on = written.starts_with("\\\n") || written.starts_with("\\\r");
            match written {
                "\\n" => text.push('\n'),
                "\\t" => text.push('\t'),
                "\\\"" => text.push('"'),
                "\\'" => text.push('\''),
                "\\\\" => text.push('\\'),
                "\\0" => text.push('\0'),
                "\\r" => text.push('\r'),
                _ if goes_on => {}
                code => {
                    let digits = code.trim_start_matches(['\\', 'x', 'u', '{']).trim_end_matches('}').replace('_', "");
                    let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                    text.push(code.unwrap_or('\u{fffd}'));
                }
            }
        }
        text
    }

    fn call_value(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let place = span(node);
        let Some(mut function) = node.child_by_field_name("function") else { return Expr::unknown(place) };
        if function.kind() == "generic_function" {
            function = function.child_by_field_name("function").unwrap_or(function);
        }
        let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
        match function.kind() {
            "field_expression" => {
                let name = function.child_by_field_name("field").map_or("", |field| self.text(field));
                if let Some(of) = function.child_by_field_name("value").filter(|_| KEEPS.contains(&name)) {
                    return self.value(of, depth);
                }
            }
            "identifier" | "scoped_identifier" => {
                let text = self.text(function);
                let mut parts = text.rsplit("::");
                let last = parts.next().unwrap_or_default();
                let holder = parts.next().map_or(last, |holder| holder.split('<').next().unwrap_or_default());
                if let Some(first) = arguments.first()
                    && GIVES_ARGUMENT.contains(&last)
                    && HOLDERS.contains(&holder)
                {
                    return self.value(*first, depth);
                }
            }
            _ => {}
        }
        let callee = self.value(function, depth);
        let arguments = arguments.into_iter().take(limits::DEPTH).map(|argument| self.value(argument, depth)).collect();
        Expr::new(place, ExprKind::Call(Box::new(callee), arguments))
    }

    /// A value of this type.
    pub(super) fn value_of_type(&mut self, node: Node<'_>, depth: usize) -> Expr {
        let place = span(node);
        if depth > limits::DEPTH {
            return Expr::unknown(place);
        }
        let depth = depth + 1;
        match node.kind() {
            "type_identifier" | "scoped_type_identifier" => self.value(node, depth).instance(),
            "reference_type" | "pointer_type" => match node.child_by_field_name("type") {
                Some(inner) => self.value_of_type(inner, depth),
                None => Expr::unknown(place),
            },
            "generic_type" => {
                let Some(outer) = node.child_by_field_name("type") else { return Expr::unknown(place) };
                let name = self.text(outer).rsplit("::").next().unwrap_or_default();
                let arguments = node.child_by_field_name("type_arguments").map(children).unwrap_or_default();
                let first = arguments.into_iter().find(|argument| argument.kind() != "lifetime");
                match first.filter(|_| SEE_THROUGH.contains(&name)) {
                    Some(first) => self.value_of_type(first, depth),
                    None => self.value(outer, depth).instance(),
                }
            }
            "abstract_type" | "dynamic_type" | "bounded_type" => {
                let parts = children(node).into_iter().map(|part| self.value_of_type(part, depth)).collect();
                Expr::either(place, parts)
            }
            "array_type" => match node.child_by_field_name("element") {
                Some(element) => {
                    let element = self.value_of_type(element, depth);
                    Expr::new(place, ExprKind::Array(vec![element]))
                }
                None => Expr::unknown(place),
            },
            "tuple_type" => {
                let parts = children(node).into_iter().map(|part| self.value_of_type(part, depth)).collect();
                Expr::new(place, ExprKind::Array(parts))
            }
            _ => Expr::new(place, ExprKind::Opaque),
        }
    }
}

/// As JSON has it, if it has it.
pub(super) fn number(text: &str) -> ExprKind {
    let plain = text.replace('_', "");
    let suffixes =
        ["usize", "isize", "u128", "i128", "u64", "i64", "u32", "i32", "u16", "i16", "u8", "i8", "f64", "f32"];
    let plain = suffixes.iter().find_map(|suffix| plain.strip_suffix(suffix)).unwrap_or(&plain);
    match serde_json::from_str::<serde_json::Number>(plain) {
        Ok(_) => ExprKind::Json(plain.to_owned()),
        Err(_) => ExprKind::Opaque,
    }
}

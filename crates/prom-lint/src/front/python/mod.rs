//! Python, by tree-sitter, which goes on after errors.

mod value;

use std::collections::{BTreeSet, HashMap};

use tree_sitter::Node;

use super::CallNames;
use super::syntax_tree::{children, note_comments_and_errors, parse, span, text_of};
use crate::limits;
use crate::record::{Call, Expr, ExprKind, FileRecord, RecordBuilder, ScopeId};

/// Functions and methods that only read what they are given and what they are called on.
const READERS: [&str; 13] =
    ["get", "items", "keys", "values", "copy", "print", "len", "str", "repr", "isinstance", "dumps", "info", "debug"];

/// The walk through one file.
struct Python<'n> {
    text: &'n str,
    builder: RecordBuilder,
    names: &'n CallNames,
    returns: Vec<Vec<Expr>>,
    /// What imports call functions of these names here.
    renamed: HashMap<String, String>,
    /// Names of the module: others can import them.
    exported: BTreeSet<String>,
    /// The class whose body is walked, with its scope.
    body_of: Option<(u32, ScopeId)>,
}

pub fn read(text: &str, names: &CallNames) -> FileRecord {
    let mut walk = Python {
        text,
        builder: RecordBuilder::new(),
        names,
        returns: Vec::new(),
        renamed: HashMap::new(),
        exported: BTreeSet::new(),
        body_of: None,
    };
    match parse(&tree_sitter_python::LANGUAGE.into(), text) {
        Some(tree) => {
            note_comments_and_errors(&mut walk.builder, tree.root_node(), text);
            walk.visit(tree.root_node(), 0);
        }
        None => walk.builder.unreadable(Default::default(), "the parser could not be started"),
    }
    for name in std::mem::take(&mut walk.exported) {
        let value = walk.builder.name(&name, Default::default());
        walk.builder.export(name, value);
    }
    walk.builder.finish()
}

impl<'n> Python<'n> {
    fn text(&self, node: Node<'_>) -> &'n str {
        text_of(self.text, node)
    }

    fn visit(&mut self, node: Node<'_>, depth: usize) {
        if depth > limits::TREE_DEPTH {
            return;
        }
        let depth = depth + 1;
        match node.kind() {
            "function_definition" => self.function(node, depth),
            "lambda" => {
                let outer = self.builder.enter_scope();
                self.parameters(node);
                self.visit_children(node, depth);
                self.builder.leave_scope(outer);
            }
            "class_definition" => self.class(node, depth),
            "import_statement" => self.import(node),
            "import_from_statement" => self.import_from(node),
            "assignment" => {
                self.visit_children(node, depth);
                self.assignment(node);
            }
            "named_expression" => {
                self.visit_children(node, depth);
                let parts = (node.child_by_field_name("name"), node.child_by_field_name("value"));
                if let (Some(name), Some(value)) = parts {
                    let value = self.value(value, 0);
                    self.declare(self.text(name), value);
                }
            }
            "augmented_assignment" => {
                self.visit_children(node, depth);
                if let Some(left) = node.child_by_field_name("left") {
                    self.declare_target(left, Expr::unknown(span(node)));
                }
            }
            "delete_statement" => {
                self.visit_children(node, depth);
                children(node).into_iter().for_each(|target| self.changes(target));
            }
            "for_statement" | "for_in_clause" => {
                if let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right"))
                {
                    let of = self.value(right, 0);
                    let element = Expr::new(of.span, ExprKind::Element(Box::new(of)));
                    self.declare_target(left, element);
                }
                self.visit_children(node, depth);
            }
            "as_pattern" => {
                if let (Some(value), Some(alias)) = (node.named_child(0), node.child_by_field_name("alias")) {
                    let value = self.value(value, 0);
                    self.declare(self.text(alias), value);
                }
                self.visit_children(node, depth);
            }
            "return_statement" => {
                self.visit_children(node, depth);
                if let Some(value) = node.named_child(0) {
                    let value = self.value(value, 0);
                    if let Some(returns) = self.returns.last_mut().filter(|all| all.len() < limits::VALUES_OF_A_NAME) {
                        returns.push(value);
                    }
                }
            }
            "call" => {
                self.visit_children(node, depth);
                self.call(node);
            }
            _ => self.visit_children(node, depth),
        }
    }

    fn visit_children(&mut self, node: Node<'_>, depth: usize) {
        for child in children(node) {
            self.visit(child, depth);
        }
    }

    fn declare(&mut self, name: &str, value: Expr) {
        if self.builder.scope() == 0 {
            self.exported.insert(name.to_owned());
        }
        if let Some((class, scope)) = self.body_of
            && scope == self.builder.scope()
        {
            self.builder.member(class, name, value.clone());
        }
        self.builder.declare(name, value);
    }

    fn declare_target(&mut self, target: Node<'_>, value: Expr) {
        match target.kind() {
            "identifier" => self.declare(self.text(target), value),
            "pattern_list" | "tuple_pattern" | "list_pattern" => {
                for (index, part) in children(target).into_iter().enumerate() {
                    let inside = value.clone().member(index.to_string(), span(part));
                    self.declare_target(part, inside);
                }
            }
            "subscript" => self.changes(target),
            "attribute" => {
                self.changes(target);
                let parts = (target.child_by_field_name("object"), target.child_by_field_name("attribute"));
                if let (Some(object), Some(name)) = parts
                    && matches!(self.text(object), "self" | "cls")
                    && let Some(class) = self.builder.class()
                {
                    self.builder.member(class, self.text(name), value);
                }
            }
            _ => {}
        }
    }

    fn assignment(&mut self, node: Node<'_>) {
        let Some(left) = node.child_by_field_name("left") else { return };
        let right = node.child_by_field_name("right");
        // Under two names it can be changed by the other one.
        right.filter(|right| right.kind() == "identifier").into_iter().for_each(|right| self.changes(right));
        let mut values: Vec<Expr> = right.map(|right| self.value(right, 0)).into_iter().collect();
        values.extend(node.child_by_field_name("type").map(|kind| self.value_of_type(kind, 0)));
        self.declare_target(left, Expr::either(span(node), values));
    }

    fn function(&mut self, node: Node<'_>, depth: usize) {
        let is_method = self.body_of.is_some_and(|(_, scope)| scope == self.builder.scope());
        let body_of = self.body_of.take();
        let outer = self.builder.enter_scope();
        self.parameters(node);
        if let (true, Some(class)) = (is_method, self.builder.class()) {
            let place = span(node);
            self.builder.declare("self", Expr::new(place, ExprKind::Class(class)).instance());
            self.builder.declare("cls", Expr::new(place, ExprKind::Class(class)));
        }
        self.returns.push(Vec::new());
        if let Some(body) = node.child_by_field_name("body") {
            self.visit_children(body, depth);
        }
        let mut returns = self.returns.pop().unwrap_or_default();
        returns.extend(node.child_by_field_name("return_type").map(|kind| self.value_of_type(kind, 0)));
        self.builder.leave_scope(outer);
        self.body_of = body_of;
        let place = span(node);
        let result = Expr::either(place, returns);
        let decorated = node.parent().filter(|parent| parent.kind() == "decorated_definition");
        let is_property = decorated.is_some_and(|decorated| {
            children(decorated).into_iter().any(|child| self.text(child).contains("property"))
        });
        let value = if is_property { result } else { Expr::new(place, ExprKind::Function(Box::new(result))) };
        if let Some(name) = node.child_by_field_name("name") {
            self.declare(self.text(name), value);
        }
    }

    fn parameters(&mut self, node: Node<'_>) {
        for parameter in node.child_by_field_name("parameters").map(children).unwrap_or_default() {
            let mut values: Vec<Expr> = Vec::new();
            values.extend(parameter.child_by_field_name("type").map(|kind| self.value_of_type(kind, 0)));
            values.extend(parameter.child_by_field_name("value").map(|value| self.value(value, 0)));
            let name = match parameter.kind() {
                "identifier" => Some(parameter),
                "typed_parameter" => parameter.named_child(0).filter(|name| name.kind() == "identifier"),
                _ => parameter.child_by_field_name("name"),
            };
            if let Some(name) = name.map(|name| self.text(name)).filter(|name| !matches!(*name, "self" | "cls")) {
                self.builder.declare(name, Expr::either(span(parameter), values));
            }
        }
    }

    fn class(&mut self, node: Node<'_>, depth: usize) {
        let bases = node.child_by_field_name("superclasses").map(children).unwrap_or_default();
        let bases = bases.into_iter().filter(|base| base.kind() != "keyword_argument" && !base.is_extra());
        let bases = bases.map(|base| self.value(base, 0)).collect();
        let class = self.builder.enter_class(bases);
        if let Some(name) = node.child_by_field_name("name") {
            self.declare(self.text(name), Expr::new(span(node), ExprKind::Class(class)));
        }
        let outer = self.builder.enter_scope();
        let outer_body = self.body_of.replace((class, self.builder.scope()));
        if let Some(body) = node.child_by_field_name("body") {
            self.visit_children(body, depth);
        }
        self.body_of = outer_body;
        self.builder.leave_scope(outer);
        self.builder.leave_class();
    }

    fn module(&mut self, name: &str, node: Node<'_>) -> Expr {
        self.builder.import(name);
        Expr::new(span(node), ExprKind::Module(name.to_owned()))
    }

    fn import(&mut self, node: Node<'_>) {
        for part in children(node) {
            match part.kind() {
                "dotted_name" => {
                    // `import a.b` binds `a`; its members are looked up from there.
                    let name = self.text(part);
                    self.builder.import(name);
                    let first = name.split('.').next().unwrap_or_default();
                    let value = self.module(first, part);
                    self.declare(first, value);
                }
                "aliased_import" => {
                    let parts = (part.child_by_field_name("name"), part.child_by_field_name("alias"));
                    if let (Some(name), Some(alias)) = parts {
                        let value = self.module(self.text(name), part);
                        self.declare(self.text(alias), value);
                    }
                }
                _ => {}
            }
        }
    }

    fn import_from(&mut self, node: Node<'_>) {
        let Some(from) = node.child_by_field_name("module_name") else { return };
        let name = self.text(from);
        let module = self.module(name, from);
        for part in children(node).into_iter().filter(|part| part.id() != from.id()) {
            match part.kind() {
                "wildcard_import" => self.builder.star(name),
                "dotted_name" => {
                    let value = module.clone().member(self.text(part), span(part));
                    self.declare(self.text(part), value);
                }
                "aliased_import" => {
                    let parts = (part.child_by_field_name("name"), part.child_by_field_name("alias"));
                    if let (Some(name), Some(alias)) = parts {
                        if self.names.has(self.text(name)) {
                            self.renamed.insert(self.text(alias).to_owned(), self.text(name).to_owned());
                        }
                        let value = module.clone().member(self.text(name), span(part));
                        self.declare(self.text(alias), value);
                    }
                }
                _ => {}
            }
        }
    }

    /// A call of another function or method may change what it is called on, and what it is given.
    fn note_changes(&mut self, name: Option<Node<'_>>, receiver: Option<Node<'_>>, call: Node<'_>) {
        if name.is_some_and(|name| READERS.contains(&self.text(name))) {
            return;
        }
        receiver.into_iter().for_each(|receiver| self.changes(receiver));
        for argument in call.child_by_field_name("arguments").map(children).unwrap_or_default() {
            self.changes(argument.child_by_field_name("value").unwrap_or(argument));
        }
    }

    /// What the name that an expression begins with holds may be changed.
    fn changes(&mut self, node: Node<'_>) {
        let mut at = node;
        while let "attribute" | "subscript" | "parenthesized_expression" = at.kind() {
            let Some(inner) = at.named_child(0) else { return };
            at = inner;
        }
        if at.kind() == "identifier" {
            self.builder.changes(self.text(at));
        }
    }

    fn call(&mut self, node: Node<'_>) {
        let Some(function) = node.child_by_field_name("function") else { return };
        let (name, receiver) = match function.kind() {
            "attribute" => (function.child_by_field_name("attribute"), function.child_by_field_name("object")),
            "identifier" => (Some(function), None),
            _ => return self.note_changes(None, None, node),
        };
        let called = name.map_or("", |name| self.text(name));
        let called = self.renamed.get(called).filter(|_| receiver.is_none()).map_or(called, String::as_str).to_owned();
        let Some(name_node) = name.filter(|_| self.names.has(&called)) else {
            return self.note_changes(name, receiver, node);
        };
        let callee = receiver.is_none().then(|| self.value(function, 0));
        let receiver_text = receiver.map(|receiver| self.text(receiver).chars().take(80).collect());
        let receiver = receiver.map(|receiver| self.value(receiver, 0));
        let (mut arguments, mut named) = (Vec::new(), Vec::new());
        for argument in node.child_by_field_name("arguments").map(children).unwrap_or_default() {
            if argument.kind() == "keyword_argument" {
                let parts = (argument.child_by_field_name("name"), argument.child_by_field_name("value"));
                if let (Some(name), Some(value)) = parts {
                    let value = self.value(value, 0);
                    named.push((self.text(name).to_owned(), value));
                }
            } else if !argument.is_extra() && arguments.len() < limits::DEPTH {
                arguments.push(self.value(argument, 0));
            }
        }
        let (name, name_span) = (called, span(name_node));
        let span = span(node);
        self.builder.call(Call { span, name, name_span, receiver, receiver_text, callee, arguments, named });
    }
}

//! Items: functions, constants, structs, enums, implementations, modules, imports.

use tree_sitter::Node;

use super::super::syntax_tree::{children, span};
use super::Rust;
use crate::record::{Expr, ExprKind, IN_FILE, Span};

impl Rust<'_> {
    /// A name of this module: other files can use it, and what surrounds it.
    fn item(&mut self, name: &str, value: Expr) {
        self.builder.declare(name, value.clone());
        match self.modules.last() {
            Some(module) => self.builder.member(*module, name, value),
            None if self.builder.scope() == 0 => self.builder.export(name, value),
            None => {}
        }
    }

    pub(super) fn function(&mut self, node: Node<'_>, depth: usize) {
        let outer = self.builder.enter_scope();
        self.type_parameters(node);
        let parameters = node.child_by_field_name("parameters").map(children).unwrap_or_default();
        if let (true, Some(class)) = (parameters.iter().any(|one| one.kind() == "self_parameter"), self.builder.class())
        {
            let instance = Expr::new(span(node), ExprKind::Class(class)).instance();
            self.builder.declare("self", instance);
        }
        parameters.into_iter().for_each(|parameter| self.parameter(parameter));
        self.returns.push(Vec::new());
        let modules = std::mem::take(&mut self.modules);
        if let Some(body) = node.child_by_field_name("body") {
            let inner = self.builder.enter_scope();
            self.visit_children(body, depth);
            if let Some(last) = last_expression(body) {
                let value = self.value(last, 0);
                self.returned(value);
            }
            self.builder.leave_scope(inner);
        }
        self.modules = modules;
        let mut returns = self.returns.pop().unwrap_or_default();
        returns.extend(node.child_by_field_name("return_type").map(|kind| self.value_of_type(kind, 0)));
        self.builder.leave_scope(outer);
        let value = Expr::new(span(node), ExprKind::Function(Box::new(Expr::either(span(node), returns))));
        let Some(name) = node.child_by_field_name("name").map(|name| self.text(name)) else { return };
        match self.builder.class() {
            Some(class) if self.modules.last() != Some(&class) => self.builder.member(class, name, value),
            _ => self.item(name, value),
        }
    }

    fn type_parameters(&mut self, node: Node<'_>) {
        for parameter in node.child_by_field_name("type_parameters").map(children).unwrap_or_default() {
            let bounds = parameter.child_by_field_name("bounds").map(children).unwrap_or_default();
            let values = bounds.into_iter().map(|bound| self.value_of_type(bound, 0)).collect();
            if let Some(name) = parameter.child_by_field_name("name") {
                self.builder.declare(self.text(name), Expr::either(span(parameter), values));
            }
        }
    }

    pub(super) fn constant(&mut self, node: Node<'_>, depth: usize) {
        let mut values = Vec::new();
        if let Some(value) = node.child_by_field_name("value") {
            self.visit(value, depth);
            values.push(self.value(value, 0));
        }
        values.extend(node.child_by_field_name("type").map(|kind| self.value_of_type(kind, 0)));
        let Some(name) = node.child_by_field_name("name").map(|name| self.text(name)) else { return };
        let value = Expr::either(span(node), values);
        match self.builder.class() {
            Some(class) if self.modules.last() != Some(&class) => self.builder.member(class, name, value),
            _ => self.item(name, value),
        }
    }

    /// The class of a name of this file, wherever it is first met.
    fn class_named(&mut self, name: &str) -> u32 {
        if let Some(class) = self.classes.get(name) {
            return *class;
        }
        let class = self.builder.enter_class(Vec::new());
        self.builder.leave_class();
        self.classes.insert(name.to_owned(), class);
        class
    }

    fn declare_class(&mut self, node: Node<'_>) -> Option<u32> {
        let name = self.text(node.child_by_field_name("name")?);
        let class = self.class_named(name);
        self.item(name, Expr::new(span(node), ExprKind::Class(class)));
        Some(class)
    }

    pub(super) fn structure(&mut self, node: Node<'_>) {
        let Some(class) = self.declare_class(node) else { return };
        let outer = self.builder.enter_scope();
        self.type_parameters(node);
        let fields = node.child_by_field_name("body").map(children).unwrap_or_default();
        let mut index = 0;
        for field in fields {
            if field.kind() == "field_declaration" {
                let parts = (field.child_by_field_name("name"), field.child_by_field_name("type"));
                if let (Some(name), Some(kind)) = parts {
                    let value = self.value_of_type(kind, 0);
                    self.builder.member(class, self.text(name), value);
                }
            } else if !matches!(field.kind(), "visibility_modifier" | "attribute_item") && !field.is_extra() {
                let value = self.value_of_type(field, 0);
                self.builder.member(class, index.to_string(), value);
                index += 1;
            }
        }
        self.builder.leave_scope(outer);
    }

    pub(super) fn enumeration(&mut self, node: Node<'_>) {
        let Some(class) = self.declare_class(node) else { return };
        for variant in node.child_by_field_name("body").map(children).unwrap_or_default() {
            if let Some(name) = variant.child_by_field_name("name") {
                let instance = Expr::new(span(variant), ExprKind::Class(class)).instance();
                self.builder.member(class, self.text(name), instance);
            }
        }
    }

    pub(super) fn trait_item(&mut self, node: Node<'_>, depth: usize) {
        let Some(class) = self.declare_class(node) else { return };
        self.inside(class, node, depth);
    }

    pub(super) fn implementation(&mut self, node: Node<'_>, depth: usize) {
        let mut kind = node.child_by_field_name("type");
        while let Some(generic) = kind.filter(|kind| kind.kind() == "generic_type") {
            kind = generic.child_by_field_name("type");
        }
        let Some(name) = kind.map(|kind| self.text(kind)) else { return };
        let class = self.class_named(name);
        self.inside(class, node, depth);
    }

    /// Walks the body of an `impl` or a trait.
    fn inside(&mut self, class: u32, node: Node<'_>, depth: usize) {
        let outer = self.builder.enter_scope();
        let place = span(node);
        self.builder.declare("Self", Expr::new(place, ExprKind::Class(class)));
        self.type_parameters(node);
        self.builder.reenter_class(class);
        if let Some(body) = node.child_by_field_name("body") {
            self.visit_children(body, depth);
        }
        self.builder.leave_class();
        self.builder.leave_scope(outer);
    }

    pub(super) fn inline_module(&mut self, node: Node<'_>, depth: usize) {
        let Some(name) = node.child_by_field_name("name").map(|name| self.text(name)) else { return };
        let place = span(node);
        let Some(body) = node.child_by_field_name("body") else {
            let module = match self.path_attribute(node) {
                Some(file) => format!("{IN_FILE}{file}"),
                None => format!("mod:{name}"),
            };
            return self.item(name, Expr::new(place, ExprKind::Module(module)));
        };
        let module = self.builder.enter_class(Vec::new());
        self.builder.leave_class();
        self.item(name, Expr::new(place, ExprKind::Class(module)));
        // Classes of the module are its own, whatever those around it are called.
        let classes = std::mem::take(&mut self.classes);
        let outer = self.builder.enter_scope();
        self.modules.push(module);
        self.visit_children(body, depth);
        self.modules.pop();
        self.builder.leave_scope(outer);
        self.classes = classes;
    }

    /// `other.rs` of `#[path = "other.rs"] mod name;`
    fn path_attribute(&self, node: Node<'_>) -> Option<String> {
        let mut before = node.prev_named_sibling();
        while let Some(attribute) = before.filter(|before| before.kind() == "attribute_item" || before.is_extra()) {
            let text = self.text(attribute).trim_start_matches("#[").trim_start();
            if let Some(rest) = text.strip_prefix("path").and_then(|rest| rest.trim_start().strip_prefix('=')) {
                return rest.split('"').nth(1).map(str::to_owned);
            }
            before = attribute.prev_named_sibling();
        }
        None
    }

    pub(super) fn alias(&mut self, node: Node<'_>) {
        let parts = (node.child_by_field_name("name"), node.child_by_field_name("type"));
        if let (Some(name), Some(kind)) = parts {
            let value = self.value_of_type(kind, 0);
            match self.builder.class() {
                Some(class) if self.modules.last() != Some(&class) => {
                    self.builder.member(class, self.text(name), value)
                }
                _ => self.item(self.text(name), value),
            }
        }
    }

    pub(super) fn uses(&mut self, node: Node<'_>) {
        if let Some(argument) = node.child_by_field_name("argument") {
            self.use_tree(argument, None, 0);
        }
    }

    /// `before` is the path in front of a list.
    fn use_tree(&mut self, node: Node<'_>, before: Option<Expr>, depth: usize) {
        if depth > 16 {
            return;
        }
        let place = span(node);
        match node.kind() {
            "use_list" => {
                for part in children(node) {
                    self.use_tree(part, before.clone(), depth + 1);
                }
            }
            "scoped_use_list" => {
                let path = match node.child_by_field_name("path") {
                    Some(path) => Some(self.use_path(path, before)),
                    None => before,
                };
                if let Some(list) = node.child_by_field_name("list") {
                    self.use_tree(list, path, depth + 1);
                }
            }
            "use_as_clause" => {
                let parts = (node.child_by_field_name("path"), node.child_by_field_name("alias"));
                if let (Some(path), Some(alias)) = parts {
                    let value = self.use_path(path, before);
                    self.item(self.text(alias), value);
                }
            }
            "use_wildcard" => {
                if let Some(path) = node.named_child(0) {
                    let prefix = before.as_ref().and_then(path_text);
                    let own = self.text(path);
                    let own = if self.modules.is_empty() { own.to_owned() } else { own.replacen("super", "self", 1) };
                    let whole = prefix.map_or(own.clone(), |prefix| format!("{prefix}::{own}"));
                    self.use_path(path, before);
                    self.builder.star(whole);
                }
            }
            "self" => {
                let name =
                    before.as_ref().and_then(path_text).and_then(|path| path.rsplit("::").next().map(str::to_owned));
                if let (Some(name), Some(value)) = (name, before) {
                    self.item(&name, value);
                }
            }
            _ => {
                let value = self.use_path(node, before);
                if let Some(name) = self.text(node).rsplit("::").next().filter(|name| *name != "_") {
                    // A name must not stand for itself.
                    if !matches!(value.kind, ExprKind::Name(..)) {
                        self.item(name.trim(), Expr { span: place, ..value });
                    }
                }
            }
        }
    }

    fn use_path(&mut self, node: Node<'_>, before: Option<Expr>) -> Expr {
        let place = span(node);
        match node.kind() {
            "scoped_identifier" => {
                let name = node.child_by_field_name("name").map_or("", |name| self.text(name));
                match node.child_by_field_name("path") {
                    Some(path) => self.use_path(path, before).member(name, place),
                    None => self.root(name, place),
                }
            }
            _ => match before {
                Some(before) => before.member(self.text(node), place),
                None => self.root(self.text(node), place),
            },
        }
    }

    /// Where a path begins: a module of the crate, a name of this file, or a crate.
    pub(super) fn root(&mut self, name: &str, place: Span) -> Expr {
        match name {
            "super" if !self.modules.is_empty() => Expr::new(place, ExprKind::Module("self".to_owned())),
            "crate" | "super" | "self" => Expr::new(place, ExprKind::Module(name.to_owned())),
            name => {
                self.builder.import(name);
                self.builder.name(name, place)
            }
        }
    }
}

/// The value of a block.
pub(super) fn last_expression<'t>(block: Node<'t>) -> Option<Node<'t>> {
    let last = children(block).into_iter().rfind(|child| !child.is_extra())?;
    match last.kind() {
        "expression_statement" => {
            let is_value = last.child(last.child_count().saturating_sub(1)).is_none_or(|end| end.kind() != ";");
            last.named_child(0).filter(|_| is_value)
        }
        "let_declaration" | "empty_statement" => None,
        kind if kind.ends_with("_item") || kind.ends_with("_declaration") => None,
        _ => Some(last),
    }
}

/// `crate::topics` of a path.
fn path_text(path: &Expr) -> Option<String> {
    match &path.kind {
        ExprKind::Module(name) | ExprKind::Name(_, name) => Some(name.clone()),
        ExprKind::Member(of, name) => Some(format!("{}::{name}", path_text(of)?)),
        _ => None,
    }
}

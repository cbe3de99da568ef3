//! What an expression stands for. A walk from the expression over names, members and modules; each possibility is told.
//!
//! Ends in circles and deep code by a budget of steps: what is left then is unknown.

use std::cell::Cell;
use std::sync::Arc;

use super::{ModuleTarget, SourceModule, SourceTree};
use crate::limits;
use crate::record::{Expr, ExprKind};

/// One possibility of an expression.
#[derive(Debug, Clone, Copy)]
pub enum Meaning<'e> {
    /// A client of a hub.
    Client,
    /// The class of clients.
    ClientClass,
    /// The package of a client.
    ClientModule(usize),
    /// What a client's method returned, such as a publication under way.
    Made,
    /// Something that is certainly not ours.
    Foreign,
    Namespace,
    Class(u32),
    Instance(u32),
    /// What is written there.
    Literal(&'e Expr),
    Unknown,
}

/// Whose method a call calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiverKind {
    Ours,
    Other,
    Unknown,
}

pub type Visitor<'v> = &'v mut dyn FnMut(&Arc<SourceModule>, Meaning<'_>);

/// Methods that give the client itself, or something with its methods.
const SAME: [&str; 14] = [
    "clone",
    "unwrap",
    "expect",
    "unwrap_or_else",
    "as_ref",
    "as_mut",
    "acting_for",
    "get",
    "borrow",
    "lock",
    "deref",
    "bind",
    "upgrade",
    "to_owned",
];

/// Methods that give the text itself.
const KEEPS_TEXT: [&str; 6] = ["as_str", "as_ref", "as_bytes", "to_string", "strip", "valueOf"];

/// Looks things up for one call.
pub struct NameResolver<'t> {
    pub tree: &'t SourceTree<'t>,
    steps: Cell<usize>,
}

impl<'t> NameResolver<'t> {
    pub fn new(tree: &'t SourceTree<'t>) -> Self {
        Self { tree, steps: Cell::new(limits::STEPS) }
    }

    pub fn receiver(&self, module: &Arc<SourceModule>, expr: &Expr) -> ReceiverKind {
        let (mut ours, mut unknown, mut foreign) = (false, false, false);
        self.each(module, expr, 0, &mut |_, meaning| match meaning {
            Meaning::Client | Meaning::Made => ours = true,
            Meaning::Unknown => unknown = true,
            Meaning::Foreign => foreign = true,
            _ => {}
        });
        match (ours, unknown, foreign) {
            (true, ..) => ReceiverKind::Ours,
            // `new Emitter() as any` is somebody else's all the same.
            (_, true, false) => ReceiverKind::Unknown,
            _ => ReceiverKind::Other,
        }
    }

    /// Calls `visit` with everything that the expression can be.
    pub fn each(&self, module: &Arc<SourceModule>, expr: &Expr, depth: usize, visit: Visitor<'_>) {
        let left = self.steps.get();
        if left == 0 || depth > limits::DEPTH {
            return visit(module, Meaning::Unknown);
        }
        self.steps.set(left - 1);
        let depth = depth + 1;
        match &expr.kind {
            ExprKind::Text(_)
            | ExprKind::Json(_)
            | ExprKind::Concat(_)
            | ExprKind::Object(_)
            | ExprKind::Array(_)
            | ExprKind::Function(_) => visit(module, Meaning::Literal(expr)),
            ExprKind::Opaque => visit(module, Meaning::Foreign),
            ExprKind::Unknown | ExprKind::Name(..) => visit(module, Meaning::Unknown),
            ExprKind::Class(class) => visit(module, Meaning::Class(*class)),
            ExprKind::Either(choices) => {
                for choice in choices {
                    self.each(module, choice, depth, visit);
                }
            }
            ExprKind::Local(binding) => match module.record.bindings.get(*binding as usize) {
                Some(binding) if !binding.values.is_empty() => {
                    for value in &binding.values {
                        self.each(module, value, depth, visit);
                    }
                }
                _ => visit(module, Meaning::Unknown),
            },
            ExprKind::Global(name) => self.global(module, name, depth, visit),
            ExprKind::Module(name) => self.module(module, name, depth, visit),
            ExprKind::Member(of, name) => self.each(module, of, depth, &mut |module, meaning| {
                self.member(module, meaning, name, depth, visit);
            }),
            ExprKind::Element(of) => self.each(module, of, depth, &mut |module, meaning| {
                self.elements(module, meaning, depth, visit);
            }),
            ExprKind::Instance(of) => self.each(module, of, depth, &mut |module, meaning| {
                self.instance(module, meaning, depth, visit);
            }),
            ExprKind::Call(callee, arguments) => self.call(module, callee, arguments, depth, visit),
        }
    }

    fn global(&self, module: &Arc<SourceModule>, name: &str, depth: usize, visit: Visitor<'_>) {
        use crate::front::SourceLanguage;
        match module.language {
            // A path begins with a crate, or with what a glob import brought.
            SourceLanguage::Rust => {
                let mut found = false;
                self.stars(module, name, depth, &mut |module, meaning| {
                    found = true;
                    visit(module, meaning);
                });
                if !found {
                    self.module(module, name, depth, visit);
                }
            }
            SourceLanguage::Python => {
                let mut found = false;
                self.stars(module, name, depth, &mut |module, meaning| {
                    found = true;
                    visit(module, meaning);
                });
                if !found {
                    visit(module, Meaning::Unknown);
                }
            }
            SourceLanguage::TypeScript => match name {
                "console" | "document" | "window" | "process" | "Math" | "JSON" => visit(module, Meaning::Foreign),
                _ => visit(module, Meaning::Unknown),
            },
        }
    }

    fn module(&self, module: &Arc<SourceModule>, name: &str, depth: usize, visit: Visitor<'_>) {
        match self.tree.target(module, name) {
            ModuleTarget::Client(client) => visit(module, Meaning::ClientModule(client)),
            ModuleTarget::Foreign => visit(module, Meaning::Foreign),
            ModuleTarget::Missing => visit(module, Meaning::Unknown),
            ModuleTarget::File(path, rest) => match self.tree.module(&path) {
                None => visit(module, Meaning::Unknown),
                Some(other) if rest.is_empty() => visit(&other, Meaning::Namespace),
                Some(other) => self.export(&other, &rest[0], depth, visit),
            },
        }
    }

    /// What a module offers under a name.
    fn export(&self, module: &Arc<SourceModule>, name: &str, depth: usize, visit: Visitor<'_>) {
        let mut found = false;
        for export in module.record.exports.iter().filter(|export| export.name == name) {
            found = true;
            self.each(module, &export.value, depth + 1, visit);
        }
        if found {
            return;
        }
        // `module.exports = { name }`, and a default import of a module without a default.
        for export in module.record.exports.iter().filter(|export| export.name == "default") {
            found = true;
            self.each(module, &export.value, depth + 1, &mut |module, meaning| {
                self.member(module, meaning, name, depth + 1, visit);
            });
        }
        if found {
            return;
        }
        if let Some(path) = self.tree.python_submodule(&module.path, name)
            && let Some(other) = self.tree.module(&path)
        {
            return visit(&other, Meaning::Namespace);
        }
        self.stars(module, name, depth, &mut |module, meaning| {
            found = true;
            visit(module, meaning);
        });
        if !found {
            let is_whole = name == "default" && !module.record.exports.is_empty();
            visit(module, if is_whole { Meaning::Namespace } else { Meaning::Unknown });
        }
    }

    /// A name among all that `export * from` and `use …::*` bring. Says nothing if it is in none.
    fn stars(&self, module: &Arc<SourceModule>, name: &str, depth: usize, visit: Visitor<'_>) {
        for star in &module.record.stars {
            let left = self.steps.get();
            if left == 0 || depth > limits::DEPTH {
                return;
            }
            self.steps.set(left - 1);
            // A path such as `crate::topics` in Rust.
            let mut parts = star.split("::");
            let first = parts.next().unwrap_or_default();
            let place = crate::record::Span::default();
            // A module that the file declares, or else a crate or a file.
            let own = module.record.exports.iter().find(|export| export.name == first);
            let start = match own {
                Some(own) => own.value.clone(),
                None => Expr::new(place, ExprKind::Module(first.to_owned())),
            };
            let path = parts.fold(start, |path, part| path.member(part, place));
            self.each(module, &path, depth + 1, &mut |other, meaning| match meaning {
                Meaning::ClientModule(client) if self.is_client_name(client, name) => {
                    visit(other, Meaning::ClientClass);
                }
                Meaning::Namespace if other.path != module.path => {
                    self.export(other, name, depth + 1, &mut |module, meaning| {
                        if !matches!(meaning, Meaning::Unknown) {
                            visit(module, meaning);
                        }
                    });
                }
                _ => {}
            });
        }
    }

    fn is_client_name(&self, client: usize, name: &str) -> bool {
        self.tree.clients[client].names.iter().any(|known| known == name)
    }

    fn member(&self, module: &Arc<SourceModule>, of: Meaning<'_>, name: &str, depth: usize, visit: Visitor<'_>) {
        match of {
            Meaning::ClientModule(client) if self.is_client_name(client, name) => visit(module, Meaning::ClientClass),
            // A namespace inside, such as `default` of CommonJS or a module of the crate.
            Meaning::ClientModule(client) if name.starts_with(|first: char| first.is_lowercase()) => {
                visit(module, Meaning::ClientModule(client));
            }
            Meaning::ClientModule(_) | Meaning::Foreign => visit(module, Meaning::Foreign),
            // `super::super`
            Meaning::Namespace
                if module.language == crate::front::SourceLanguage::Rust && matches!(name, "super" | "self") =>
            {
                self.module(module, name, depth, visit);
            }
            Meaning::Namespace => self.export(module, name, depth, visit),
            Meaning::Class(class) | Meaning::Instance(class) => self.member_of_class(module, class, name, depth, visit),
            Meaning::Literal(literal) => match &literal.kind {
                ExprKind::Object(properties) => {
                    let mut found = false;
                    for property in properties.iter().filter(|property| property.key.as_deref() == Some(name)) {
                        found = true;
                        self.each(module, &property.value, depth, visit);
                    }
                    let spreads = properties.iter().filter(|property| property.key.is_none());
                    for spread in spreads.filter(|_| !found) {
                        self.each(module, &spread.value, depth, &mut |module, meaning| {
                            self.member(module, meaning, name, depth + 1, visit);
                        });
                    }
                }
                ExprKind::Array(elements) => match name.parse::<usize>().ok().and_then(|at| elements.get(at)) {
                    Some(element) => self.each(module, element, depth, visit),
                    None => visit(module, Meaning::Unknown),
                },
                // The text of an enum's member in Python.
                ExprKind::Text(_) if name == "value" => visit(module, of),
                ExprKind::Text(_) | ExprKind::Json(_) | ExprKind::Concat(_) => visit(module, Meaning::Foreign),
                _ => visit(module, Meaning::Unknown),
            },
            _ => visit(module, Meaning::Unknown),
        }
    }

    fn member_of_class(&self, module: &Arc<SourceModule>, class: u32, name: &str, depth: usize, visit: Visitor<'_>) {
        let Some(class) = module.record.classes.get(class as usize) else {
            return visit(module, Meaning::Unknown);
        };
        let mut found = false;
        for (_, value) in class.members.iter().filter(|(member, _)| member == name) {
            found = true;
            self.each(module, value, depth, visit);
        }
        if found {
            return;
        }
        if class.extends.is_empty() {
            return visit(module, Meaning::Unknown);
        }
        for base in &class.extends {
            self.each(module, base, depth, &mut |module, meaning| match meaning {
                Meaning::Class(_) | Meaning::Literal(_) | Meaning::Namespace => {
                    self.member(module, meaning, name, depth + 1, visit);
                }
                Meaning::Foreign => visit(module, Meaning::Foreign),
                _ => visit(module, Meaning::Unknown),
            });
        }
    }

    fn elements(&self, module: &Arc<SourceModule>, of: Meaning<'_>, depth: usize, visit: Visitor<'_>) {
        match of {
            Meaning::Literal(Expr { kind: ExprKind::Array(elements), .. }) => {
                for element in elements {
                    match &element.kind {
                        ExprKind::Element(inner) => self.each(module, inner, depth, &mut |module, meaning| {
                            self.elements(module, meaning, depth + 1, visit);
                        }),
                        _ => self.each(module, element, depth, visit),
                    }
                }
            }
            Meaning::Literal(Expr { kind: ExprKind::Object(properties), .. }) => {
                for property in properties {
                    self.each(module, &property.value, depth, visit);
                }
            }
            Meaning::Class(class) => {
                let members = module.record.classes.get(class as usize).map_or(&[][..], |class| &class.members);
                for (_, value) in members.iter().filter(|(_, value)| !matches!(value.kind, ExprKind::Function(_))) {
                    self.each(module, value, depth, visit);
                }
            }
            Meaning::Foreign => visit(module, Meaning::Foreign),
            _ => visit(module, Meaning::Unknown),
        }
    }

    fn instance(&self, module: &Arc<SourceModule>, of: Meaning<'_>, depth: usize, visit: Visitor<'_>) {
        match of {
            Meaning::ClientClass => visit(module, Meaning::Client),
            Meaning::Class(class) if self.extends_client(module, class, depth) => visit(module, Meaning::Client),
            Meaning::Class(class) => visit(module, Meaning::Instance(class)),
            Meaning::Foreign => visit(module, Meaning::Foreign),
            // A type that is an alias of something that is a value already.
            Meaning::Literal(Expr { kind: ExprKind::Function(_), .. }) => visit(module, Meaning::Foreign),
            Meaning::Literal(_) | Meaning::Client | Meaning::Instance(_) => visit(module, of),
            _ => visit(module, Meaning::Unknown),
        }
    }

    fn extends_client(&self, module: &Arc<SourceModule>, class: u32, depth: usize) -> bool {
        let Some(class) = module.record.classes.get(class as usize) else {
            return false;
        };
        let mut is_client = false;
        for base in &class.extends {
            self.each(module, base, depth + 1, &mut |module, meaning| match meaning {
                Meaning::ClientClass => is_client = true,
                Meaning::Class(base) => is_client = is_client || self.extends_client(module, base, depth + 2),
                _ => {}
            });
        }
        is_client
    }

    fn call(&self, module: &Arc<SourceModule>, callee: &Expr, arguments: &[Expr], depth: usize, visit: Visitor<'_>) {
        if arguments.len() <= 2 && self.names_a_client(module, arguments, depth) {
            // `inject(PromClient)`, `container.resolve(PromClient)`.
            return visit(module, Meaning::Client);
        }
        let mut is_done = false;
        if let ExprKind::Member(of, method) = &callee.kind {
            self.each(module, of, depth, &mut |module, meaning| {
                let made = match meaning {
                    Meaning::Client if SAME.contains(&method.as_str()) => Meaning::Client,
                    Meaning::Client | Meaning::Made => Meaning::Made,
                    Meaning::ClientClass | Meaning::ClientModule(_) if !method.ends_with("Options") => Meaning::Client,
                    Meaning::Foreign => Meaning::Foreign,
                    Meaning::Literal(Expr { kind: ExprKind::Text(_) | ExprKind::Concat(_), .. })
                        if KEEPS_TEXT.contains(&method.as_str()) =>
                    {
                        meaning
                    }
                    _ => return,
                };
                is_done = true;
                visit(module, made);
            });
        }
        if is_done {
            return;
        }
        self.each(module, callee, depth, &mut |module, meaning| match meaning {
            Meaning::ClientClass => visit(module, Meaning::Client),
            Meaning::Literal(Expr { kind: ExprKind::Function(result), .. }) => {
                self.each(module, result, depth + 1, visit);
            }
            Meaning::Class(_) => self.instance(module, meaning, depth, visit),
            Meaning::Foreign => visit(module, Meaning::Foreign),
            _ => visit(module, Meaning::Unknown),
        });
    }

    fn names_a_client(&self, module: &Arc<SourceModule>, arguments: &[Expr], depth: usize) -> bool {
        arguments.iter().any(|argument| {
            let mut is_client = false;
            if matches!(argument.kind, ExprKind::Local(_)) {
                self.each(module, argument, depth + 1, &mut |_, meaning| {
                    is_client = is_client || matches!(meaning, Meaning::ClientClass);
                });
            }
            is_client
        })
    }
}

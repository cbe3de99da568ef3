//! What is kept of a source file: only what calls can need. The tree it was read from is dropped.
//!
//! All languages make the same record. An expression says how a value comes about, as far as that can be read; names are
//! linked to the bindings of the file, and everything else is `Unknown`.

mod builder;
mod cache;
mod stored;

use serde::{Deserialize, Serialize};

pub use builder::{RecordBuilder, ScopeId};
pub use cache::RecordCache;

/// Bytes of a file: `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }
}

/// Before the file of a Rust module that `#[path = "…"]` names.
pub const IN_FILE: &str = "file:";

/// An expression and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A text whose value is written there.
    Text(String),
    /// A number, a truth value or null, as JSON.
    Json(String),
    /// Texts one after the other.
    Concat(Vec<Expr>),
    /// A name that is not linked yet: the scope it is used in, and the name.
    Name(ScopeId, String),
    /// A binding of this file.
    Local(u32),
    /// A name that no binding of this file has.
    Global(String),
    /// `of.name`, also with a known index such as `of["name"]`.
    Member(Box<Expr>, String),
    /// One of the values of an array or an object.
    Element(Box<Expr>),
    Object(Vec<Property>),
    Array(Vec<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    /// An instance of what the expression names: from a constructor or from a type.
    Instance(Box<Expr>),
    /// Index of a class, an interface or a module in the file.
    Class(u32),
    /// A function, by what it returns.
    Function(Box<Expr>),
    /// One of these.
    Either(Vec<Expr>),
    /// A module, as the file names it.
    Module(String),
    /// Something of a type that has no methods of its own here, such as a number's.
    Opaque,
    Unknown,
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// `None` is a spread, or a name that is computed.
    pub key: Option<String>,
    /// Of the key.
    pub span: Span,
    pub value: Expr,
}

/// A name of the file. It may have been given several values.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Binding {
    pub values: Vec<Expr>,
    /// What it holds may be changed after it was given: `it.key = …`, `it.push(…)`, `fill(it)`, `let mut it`.
    pub is_changed: bool,
}

/// A class, an interface, an inline module: named members, static ones and those of instances alike.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Class {
    pub extends: Vec<Expr>,
    pub members: Vec<(String, Expr)>,
}

/// A call that may publish or subscribe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub span: Span,
    /// The method's or function's name.
    pub name: String,
    pub name_span: Span,
    /// What the method is called on; `None` for a plain function.
    pub receiver: Option<Expr>,
    /// As it is written, if it is short.
    pub receiver_text: Option<String>,
    /// The function itself, for plain functions.
    pub callee: Option<Expr>,
    pub arguments: Vec<Expr>,
    /// `name=value`, in languages that have them.
    pub named: Vec<(String, Expr)>,
}

/// What a file offers to others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModuleExport {
    pub name: String,
    pub value: Expr,
}

/// `prom-ignore rule, rule: reason`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignore {
    /// The whole comment.
    pub span: Span,
    /// Empty if it names none.
    pub rules: Vec<String>,
    pub has_reason: bool,
    /// The line that it speaks of, from 1: its own, or the next one if it stands alone.
    pub line: u32,
    /// It speaks of the whole file.
    pub is_for_file: bool,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreadable {
    pub span: Span,
    pub message: String,
}

/// Everything that is kept of a file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FileRecord {
    pub bindings: Vec<Binding>,
    pub classes: Vec<Class>,
    pub exports: Vec<ModuleExport>,
    /// Modules whose exports are all exported.
    pub stars: Vec<String>,
    /// Modules that are imported, by the names the file uses.
    pub imports: Vec<String>,
    pub calls: Vec<Call>,
    pub ignores: Vec<Ignore>,
    pub unreadable: Vec<Unreadable>,
}

impl Expr {
    pub fn new(span: Span, kind: ExprKind) -> Self {
        Self { span, kind }
    }

    pub fn unknown(span: Span) -> Self {
        Self { span, kind: ExprKind::Unknown }
    }

    pub fn text(span: Span, text: impl Into<String>) -> Self {
        Self { span, kind: ExprKind::Text(text.into()) }
    }

    pub fn member(self, name: impl Into<String>, span: Span) -> Self {
        Self { span, kind: ExprKind::Member(Box::new(self), name.into()) }
    }

    pub fn instance(self) -> Self {
        Self { span: self.span, kind: ExprKind::Instance(Box::new(self)) }
    }

    /// One of several; a single one is itself.
    pub fn either(span: Span, mut choices: Vec<Expr>) -> Self {
        match choices.len() {
            0 => Self::unknown(span),
            1 => choices.remove(0),
            _ => Self { span, kind: ExprKind::Either(choices) },
        }
    }

    /// The expressions directly inside.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Concat(parts) | ExprKind::Array(parts) | ExprKind::Either(parts) => parts.iter_mut().collect(),
            ExprKind::Member(of, _) | ExprKind::Element(of) | ExprKind::Instance(of) | ExprKind::Function(of) => {
                vec![of]
            }
            ExprKind::Object(properties) => properties.iter_mut().map(|property| &mut property.value).collect(),
            ExprKind::Call(callee, arguments) => std::iter::once(callee.as_mut()).chain(arguments.iter_mut()).collect(),
            _ => Vec::new(),
        }
    }
}

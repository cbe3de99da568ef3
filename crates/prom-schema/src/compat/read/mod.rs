//! Reads schemas into nodes: drafts made alike, references resolved, limits kept.

mod classes;
mod covered;
mod cycles;
mod draft;
mod keywords;

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::error::CompareError;
use super::format::FormatChecks;
use super::node::{ANYTHING, Clause, Keyword, Node, NodeId, Side};
use super::pattern::Patterns;
use super::settings::Formats;
use crate::draft::Draft;
use crate::limits::{SCHEMA_BYTES, SCHEMA_CHAIN, SCHEMA_DEPTH, SCHEMA_NODES};
use crate::references::{IndexedSchema, Target, escape};

/// The nodes of both schemas, and those that the search makes.
pub(super) struct Arena {
    pub nodes: Vec<Node>,
    pub patterns: Patterns,
    pub formats: FormatChecks,
    classes: u32,
}

/// A schema that was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Root {
    pub node: NodeId,
    pub draft: Draft,
}

impl Arena {
    pub fn new() -> Self {
        let mut arena =
            Self { nodes: Vec::new(), patterns: Patterns::default(), formats: FormatChecks::default(), classes: 0 };
        let anything = arena.make(Side::New, "", Vec::new());
        debug_assert_eq!(anything, ANYTHING);
        arena
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    pub fn clauses(&self, id: NodeId) -> Rc<Vec<Clause>> {
        Rc::clone(&self.node(id).clauses)
    }

    /// A node that was not read from a schema.
    pub fn make(&mut self, side: Side, pointer: &str, clauses: Vec<Clause>) -> NodeId {
        self.classes += 1;
        self.nodes.push(Node { side, pointer: pointer.to_owned(), class: self.classes, clauses: Rc::new(clauses) });
        self.nodes.len() as NodeId - 1
    }

    /// Reads one schema. The classes are settled by [`Arena::settle`], after the last one.
    pub fn read(&mut self, schema: &Value, side: Side, formats: Formats) -> Result<Root, CompareError> {
        measure(schema, "", 0)?;
        let bytes = schema.to_string().len();
        if bytes > SCHEMA_BYTES {
            return Err(CompareError::TooLarge { bytes, max: SCHEMA_BYTES });
        }
        let draft = Draft::of(schema)?;
        draft.validate(schema)?;
        let document = IndexedSchema::index(schema, draft)?;
        let first = self.nodes.len();
        let mut reader = Reader { arena: self, document, side, draft, formats, known: HashMap::new(), depth: 0 };
        let node = reader.node("", schema, "")?;
        let read = first..self.nodes.len();
        cycles::refuse_endless(self, read.clone())?;
        covered::fill(self, read);
        Ok(Root { node, draft })
    }

    /// Finds the nodes that mean the same, in both schemas.
    pub fn settle(&mut self) {
        self.classes = classes::settle(&mut self.nodes);
    }
}

fn measure(schema: &Value, pointer: &str, depth: usize) -> Result<(), CompareError> {
    if depth > SCHEMA_DEPTH {
        return Err(CompareError::TooDeep { pointer: pointer.to_owned(), max: SCHEMA_DEPTH });
    }
    match schema {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .filter(|(_, item)| item.is_array() || item.is_object())
            .try_for_each(|(index, item)| measure(item, &format!("{pointer}/{index}"), depth + 1)),
        Value::Object(members) => members
            .iter()
            .filter(|(_, member)| member.is_array() || member.is_object())
            .try_for_each(|(name, member)| measure(member, &format!("{pointer}/{}", escape(name)), depth + 1)),
        _ => Ok(()),
    }
}

/// Reads the subschemas of one document, each once.
struct Reader<'a, 'd> {
    arena: &'a mut Arena,
    document: IndexedSchema<'d>,
    side: Side,
    draft: Draft,
    formats: Formats,
    known: HashMap<String, NodeId>,
    /// Subschemas and references around the current one.
    depth: usize,
}

impl<'d> Reader<'_, 'd> {
    /// The node of the subschema at this pointer, where references start from `base`.
    fn node(&mut self, pointer: &str, schema: &'d Value, base: &str) -> Result<NodeId, CompareError> {
        if let Some(known) = self.known.get(pointer) {
            return Ok(*known);
        }
        if self.known.len() >= SCHEMA_NODES {
            return Err(CompareError::TooManyNodes { max: SCHEMA_NODES });
        }
        if self.depth >= SCHEMA_CHAIN {
            return Err(CompareError::TooDeep { pointer: pointer.to_owned(), max: SCHEMA_CHAIN });
        }
        self.depth += 1;
        // Entered before its parts are read, so that a reference to it from below finds it.
        let id = self.arena.make(self.side, pointer, Vec::new());
        self.known.insert(pointer.to_owned(), id);
        let clauses = match schema {
            Value::Bool(true) => Vec::new(),
            Value::Bool(false) => vec![Clause { keyword: Keyword::False, name: "" }],
            Value::Object(members) => self.clauses(pointer, members, base)?,
            other => return Err(invalid(pointer, &format!("a schema is an object or a boolean, not {other}"))),
        };
        self.depth -= 1;
        self.arena.nodes[id as usize].clauses = Rc::new(clauses);
        Ok(id)
    }

    fn clauses(
        &mut self,
        pointer: &str,
        members: &'d Map<String, Value>,
        base: &str,
    ) -> Result<Vec<Clause>, CompareError> {
        let base = self.document.base_of(pointer).unwrap_or(base).to_owned();
        let mut clauses = Vec::new();
        if let Some(Value::String(reference)) = members.get("$ref") {
            clauses.push(self.reference(pointer, "$ref", reference, &base)?);
            if !self.draft.reads_beside_ref() {
                return Ok(clauses);
            }
        }
        for (name, dynamic) in [("$dynamicRef", Draft::Draft202012), ("$recursiveRef", Draft::Draft201909)] {
            if let Some(Value::String(reference)) = members.get(name).filter(|_| self.draft == dynamic) {
                clauses.push(self.reference(pointer, name, reference, &base)?);
            }
        }
        self.keywords(pointer, members, &base, &mut clauses)?;
        Ok(clauses)
    }

    fn reference(
        &mut self,
        pointer: &str,
        name: &'static str,
        reference: &str,
        base: &str,
    ) -> Result<Clause, CompareError> {
        let at = format!("{pointer}/{name}");
        let target = match name {
            "$ref" => self.document.resolve(&at, reference, base)?,
            "$dynamicRef" => self.document.resolve_dynamic(&at, reference, base)?,
            _ => self.document.resolve_recursive(&at, reference, base)?,
        };
        let Some(Target { pointer, schema, base }) = target else {
            return Ok(Clause { keyword: Keyword::Opaque, name });
        };
        let node = self.node(&pointer, schema, &base)?;
        Ok(Clause { keyword: Keyword::Ref(node), name })
    }
}

fn invalid(pointer: &str, message: &str) -> CompareError {
    let pointer = if pointer.is_empty() { "the schema" } else { pointer };
    CompareError::Invalid { pointer: pointer.to_owned(), message: message.to_owned() }
}

//! Where the references of a schema lead, for the bound on what judging costs.
//!
//! A validator follows a reference however it is written: relative to an `$id`, percent-encoded, from below a keyword that
//! is none. A reference that is not followed here would be judged without a bound, so one that is not found is refused,
//! and where it is not sure which schema is meant, all of them count.

use std::collections::HashMap;
use std::ptr::from_ref;
use std::rc::Rc;

use serde_json::Value;

use crate::draft::{NAMED, SCHEMAS};
use crate::error::SchemaError;
use crate::uri::{join, percent_decode};

/// Names that may be the base of one reference.
const BASES: usize = 16;

pub(crate) struct SchemaNames<'s> {
    /// By the name that `$id` and its base give; the root has the empty name too.
    resources: HashMap<String, Vec<&'s Value>>,
    /// By `$anchor`, `$dynamicAnchor` and the fragments of draft 7.
    anchors: HashMap<&'s str, Vec<&'s Value>>,
    /// What references in an object may start from.
    bases: HashMap<*const Value, Rc<Vec<String>>>,
    root: &'s Value,
    /// Some part is of a draft that ignores an `$id` beside a `$ref`.
    ignores_siblings: bool,
}

/// Whether a value is reached through keywords that hold schemas.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    AsSchema,
    /// A reference may still point there.
    Otherwise,
}

impl<'s> SchemaNames<'s> {
    pub fn of(root: &'s Value) -> Result<Self, SchemaError> {
        let resources = HashMap::from([(String::new(), vec![root])]);
        let mut names = Self {
            resources,
            anchors: HashMap::new(),
            bases: HashMap::new(),
            root,
            ignores_siblings: names_old_draft(root),
        };
        names.collect(root, &Rc::new(vec![String::new()]), Reached::AsSchema)?;
        Ok(names)
    }

    fn collect(&mut self, value: &'s Value, bases: &Rc<Vec<String>>, reached: Reached) -> Result<(), SchemaError> {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.collect(item, bases, reached)),
            Value::Object(members) => {
                let bases = self.enter(value, bases, reached)?;
                for (name, below) in members {
                    let is_schema = reached == Reached::AsSchema && SCHEMAS.contains(&name.as_str());
                    match below {
                        Value::Object(inner) if is_schema && NAMED.contains(&name.as_str()) => {
                            inner.values().try_for_each(|one| self.collect(one, &bases, Reached::AsSchema))?;
                        }
                        _ if is_schema => self.collect(below, &bases, Reached::AsSchema)?,
                        _ => self.collect(below, &bases, Reached::Otherwise)?,
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Notes the names that an object gives itself, and what references in it start from.
    fn enter(
        &mut self,
        schema: &'s Value,
        around: &Rc<Vec<String>>,
        reached: Reached,
    ) -> Result<Rc<Vec<String>>, SchemaError> {
        let text = |name: &str| schema.get(name).and_then(Value::as_str);
        for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
            self.anchors.entry(anchor).or_default().push(schema);
        }
        let mut bases = Rc::clone(around);
        if let Some(id) = text("$id") {
            let (name, fragment) = id.split_once('#').unwrap_or((id, ""));
            if !fragment.is_empty() {
                self.anchors.entry(fragment).or_default().push(schema);
            }
            if !name.is_empty() {
                let mut own: Vec<String> = around.iter().map(|base| join(base, name)).collect();
                for name in &own {
                    self.resources.entry(key(name)).or_default().push(schema);
                }
                // Up to draft 7 an `$id` beside a `$ref` is ignored, and below other keywords it may be data.
                if reached == Reached::Otherwise || (self.ignores_siblings && text("$ref").is_some()) {
                    own.extend(around.iter().cloned());
                    own.sort_unstable();
                    own.dedup();
                }
                if own.len() > BASES {
                    let reason =
                        "too many `$id` inside each other; give definitions their names below `$defs`".to_owned();
                    return Err(SchemaError::Invalid { pointer: String::new(), reason });
                }
                bases = Rc::new(own);
            }
        }
        self.bases.insert(from_ref(schema), Rc::clone(&bases));
        Ok(bases)
    }

    /// The schemas that judge the same place because this one refers to them.
    pub fn referred(&self, schema: &'s Value) -> Result<Vec<&'s Value>, SchemaError> {
        let mut found = Vec::new();
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(reference) = schema.get(keyword).and_then(Value::as_str) else { continue };
            let before = found.len();
            for base in self.bases.get(&from_ref(schema)).into_iter().flat_map(|bases| bases.iter()) {
                found.extend(self.find(base, reference));
            }
            if keyword == "$recursiveRef" && !found[before..].iter().any(|other| std::ptr::eq(*other, self.root)) {
                found.push(self.root);
            }
            if found.len() == before {
                return Err(SchemaError::Elsewhere { reference: reference.to_owned() });
            }
        }
        Ok(found)
    }

    fn find(&self, base: &str, reference: &str) -> Vec<&'s Value> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let name = if document.is_empty() { base.to_owned() } else { join(base, document) };
        let resources = self.resources.get(&key(&name)).map_or(&[][..], Vec::as_slice);
        let Some(fragment) = percent_decode(fragment) else { return Vec::new() };
        match fragment.as_str() {
            "" => resources.to_vec(),
            path if path.starts_with('/') => resources.iter().filter_map(|base| base.pointer(path)).collect(),
            anchor => self.anchors.get(anchor).cloned().unwrap_or_default(),
        }
    }
}

fn names_old_draft(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(names_old_draft),
        Value::Object(members) => {
            let draft = members.get("$schema").and_then(Value::as_str);
            draft.is_some_and(|uri| uri.contains("draft-0")) || members.values().any(names_old_draft)
        }
        _ => false,
    }
}

/// Names that a validator may take for the same have the same key.
fn key(name: &str) -> String {
    percent_decode(name).unwrap_or_else(|| name.to_owned()).to_lowercase()
}

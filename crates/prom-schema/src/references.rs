//! Finds what references lead to inside one document, and in those embedded in it. Other documents are not fetched.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::compat::CompareError;
use crate::draft::{Draft, NAMED, SCHEMAS};
use crate::uri::{join, percent_decode};

pub(crate) struct Target<'d> {
    pub pointer: String,
    pub schema: &'d Value,
    pub base: String,
}

pub(crate) struct IndexedSchema<'d> {
    root: &'d Value,
    /// Resources by their `$id`.
    resources: HashMap<String, String>,
    /// The `$id` in force for a subschema that starts a resource, by its pointer.
    bases: HashMap<String, String>,
    /// By `$id` and anchor.
    anchors: HashMap<(String, String), String>,
    dynamic_anchors: HashMap<String, Vec<String>>,
    recursive_anchors: usize,
}

impl<'d> IndexedSchema<'d> {
    pub fn index(root: &'d Value, draft: Draft) -> Result<Self, CompareError> {
        let mut document = Self {
            root,
            resources: HashMap::from([(String::new(), String::new())]),
            bases: HashMap::new(),
            anchors: HashMap::new(),
            dynamic_anchors: HashMap::new(),
            recursive_anchors: 0,
        };
        document.visit(root, "", "", draft)?;
        Ok(document)
    }

    /// The base of references below this pointer, if a resource starts there.
    pub fn base_of(&self, pointer: &str) -> Option<&str> {
        self.bases.get(pointer).map(String::as_str)
    }

    fn visit(&mut self, schema: &'d Value, pointer: &str, base: &str, draft: Draft) -> Result<(), CompareError> {
        let Value::Object(members) = schema else { return Ok(()) };
        if !pointer.is_empty()
            && members.get("$schema").and_then(Value::as_str).is_some_and(|uri| Draft::named(uri) != Some(draft))
        {
            let message = "a part of the schema names another draft; one document has one draft".to_owned();
            return Err(CompareError::Invalid { pointer: pointer.to_owned(), message });
        }
        let ignores_siblings = !draft.reads_beside_ref() && members.contains_key("$ref");
        let base = if ignores_siblings { base.to_owned() } else { self.enter(members, pointer, base, draft) };
        for (name, value) in members {
            if !SCHEMAS.contains(&name.as_str()) || (ignores_siblings && name != "definitions") {
                continue;
            }
            let at = format!("{pointer}/{name}");
            match value {
                Value::Array(items) => {
                    for (index, item) in items.iter().enumerate() {
                        self.visit(item, &format!("{at}/{index}"), &base, draft)?;
                    }
                }
                Value::Object(inner) if NAMED.contains(&name.as_str()) => {
                    for (key, value) in inner {
                        self.visit(value, &format!("{at}/{}", escape(key)), &base, draft)?;
                    }
                }
                value => self.visit(value, &at, &base, draft)?,
            }
        }
        Ok(())
    }

    /// Notes the names that a subschema gives itself. Gives the base that holds below it.
    fn enter(&mut self, members: &Map<String, Value>, pointer: &str, base: &str, draft: Draft) -> String {
        let text = |name: &str| members.get(name).and_then(Value::as_str);
        let mut base = base.to_owned();
        match text("$id") {
            Some(id) if draft == Draft::Draft7 && id.starts_with('#') => {
                self.anchors.insert((base.clone(), id[1..].to_owned()), pointer.to_owned());
            }
            Some(id) => {
                base = join(&base, id.trim_end_matches('#'));
                self.resources.insert(base.clone(), pointer.to_owned());
                self.bases.insert(pointer.to_owned(), base.clone());
            }
            None => {}
        }
        if draft != Draft::Draft7 {
            if let Some(anchor) = text("$anchor") {
                self.anchors.insert((base.clone(), anchor.to_owned()), pointer.to_owned());
            }
            if let Some(anchor) = text("$dynamicAnchor") {
                self.anchors.insert((base.clone(), anchor.to_owned()), pointer.to_owned());
                self.dynamic_anchors.entry(anchor.to_owned()).or_default().push(pointer.to_owned());
            }
            let recursive = members.get("$recursiveAnchor").and_then(Value::as_bool).unwrap_or(false);
            self.recursive_anchors += usize::from(recursive);
        }
        base
    }

    pub fn resolve(&self, at: &str, reference: &str, base: &str) -> Result<Option<Target<'d>>, CompareError> {
        let (pointer, schema) = self.locate(at, reference, base)?;
        Ok(Some(Target { base: self.base_at(&pointer), pointer, schema }))
    }

    /// As [`Self::resolve`], without the base that holds at the target, which takes longer to find than the target.
    pub fn locate(&self, at: &str, reference: &str, base: &str) -> Result<(String, &'d Value), CompareError> {
        let unknown = || CompareError::UnknownReference { pointer: at.to_owned(), reference: reference.to_owned() };
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let uri = if uri.is_empty() { base.to_owned() } else { join(base, uri) };
        let resource = self
            .resources
            .get(&uri)
            .ok_or_else(|| CompareError::RemoteReference { pointer: at.to_owned(), reference: reference.to_owned() })?;
        let fragment = percent_decode(fragment).ok_or_else(unknown)?;
        let pointer = if fragment.is_empty() || fragment.starts_with('/') {
            format!("{resource}{fragment}")
        } else {
            self.anchors.get(&(uri.clone(), fragment)).ok_or_else(unknown)?.clone()
        };
        let schema = self.root.pointer(&pointer).ok_or_else(unknown)?;
        Ok((pointer, schema))
    }

    /// `None` where the target depends on how the reference was reached.
    pub fn resolve_dynamic(&self, at: &str, reference: &str, base: &str) -> Result<Option<Target<'d>>, CompareError> {
        let anchor = reference.rsplit_once('#').map_or("", |(_, anchor)| anchor);
        let target = self.resolve(at, reference, base)?;
        let several = self.dynamic_anchors.get(anchor).is_some_and(|places| places.len() > 1);
        Ok(target.filter(|_| !several))
    }

    pub fn resolve_recursive(&self, at: &str, reference: &str, base: &str) -> Result<Option<Target<'d>>, CompareError> {
        let target = self.resolve(at, reference, base)?;
        Ok(target.filter(|_| self.recursive_anchors <= 1 && (self.recursive_anchors == 0 || self.resources.len() <= 2)))
    }

    /// The base in force at a pointer: that of the nearest resource around it.
    pub fn base_at(&self, pointer: &str) -> String {
        let around = |base: &&String| {
            let start = self.resources[*base].as_str();
            pointer.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let nearest = self.bases.values().filter(around).max_by_key(|base| self.resources[*base].len());
        nearest.cloned().unwrap_or_default()
    }
}

/// In a JSON pointer.
pub(crate) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

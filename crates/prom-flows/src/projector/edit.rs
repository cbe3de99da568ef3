//! What a transactional projector does to documents: whole ones, deletions, and changes of single fields.
//!
//! A change means in our own store what MongoDB's operators of the same name mean there, so a projector can move from one to the
//! other: `a.b` names a field of a nested object, which is made if it is missing.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Number, Value};

/// One step on one document.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentEdit {
    /// Of those that the projector declares.
    pub collection: String,
    /// Whose document it is.
    pub key: String,
    /// What is done to it.
    pub action: EditAction,
}

/// What is done to a document.
#[derive(Debug, Clone, PartialEq)]
pub enum EditAction {
    /// It is this from now on.
    Put(Map<String, Value>),
    /// It goes.
    Delete,
    /// Single fields change. A document that is not there is made.
    Change(BTreeMap<String, FieldEdit>),
}

/// What is done to a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldEdit {
    /// It has this value from now on.
    Set(Value),
    /// It grows by so much; one that is missing begins at 0.
    Inc(Number),
    /// It is at least this.
    Max(Number),
    /// It is at most this.
    Min(Number),
    /// It goes.
    Unset,
}

/// As a program writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    collection: String,
    key: Value,
    put: Option<Map<String, Value>>,
    #[serde(default)]
    delete: bool,
    #[serde(default)]
    set: Map<String, Value>,
    #[serde(default)]
    inc: BTreeMap<String, Number>,
    #[serde(default)]
    max: BTreeMap<String, Number>,
    #[serde(default)]
    min: BTreeMap<String, Number>,
    #[serde(default)]
    unset: Vec<String>,
}

/// One output of a program: an edit, or a list of them.
pub(crate) fn read(output: &[u8]) -> Result<Vec<DocumentEdit>, String> {
    let unfit = |error: serde_json::Error| format!("not an edit of a document: {error}");
    let written: Vec<Written> = match output.first() {
        Some(b'[') => serde_json::from_slice(output).map_err(unfit)?,
        _ => vec![serde_json::from_slice(output).map_err(unfit)?],
    };
    written.into_iter().map(Written::edit).collect()
}

impl Written {
    fn edit(self) -> Result<DocumentEdit, String> {
        let key = key_text(&self.key).ok_or("the key of an edit is text or a number")?;
        let mut fields: BTreeMap<String, FieldEdit> = BTreeMap::new();
        let all = (self.set.into_iter().map(|(name, value)| (name, FieldEdit::Set(value))))
            .chain(self.inc.into_iter().map(|(name, by)| (name, FieldEdit::Inc(by))))
            .chain(self.max.into_iter().map(|(name, value)| (name, FieldEdit::Max(value))))
            .chain(self.min.into_iter().map(|(name, value)| (name, FieldEdit::Min(value))))
            .chain(self.unset.into_iter().map(|name| (name, FieldEdit::Unset)));
        for (name, edit) in all {
            check_path(&name)?;
            if let Some(other) = fields.keys().find(|other| overlap(other, &name)) {
                return Err(format!("the fields {other} and {name} of an edit overlap"));
            }
            fields.insert(name, edit);
        }
        let action = match (self.put, self.delete, fields.is_empty()) {
            (Some(whole), false, true) => EditAction::Put(whole),
            (None, true, true) => EditAction::Delete,
            (None, false, false) => EditAction::Change(fields),
            _ => {
                return Err(
                    "an edit is one of put, delete, or changes of fields (set, inc, max, min, unset)".to_owned()
                );
            }
        };
        Ok(DocumentEdit { collection: self.collection, key, action })
    }
}

/// Text as it is, a number as it is written.
pub(crate) fn key_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn check_path(path: &str) -> Result<(), String> {
    let is_name = |part: &str| !part.is_empty() && !part.starts_with('$') && !part.contains('\0');
    if !path.split('.').all(is_name) {
        return Err(format!("{path:?} does not name a field"));
    }
    if [super::change::KEY, super::change::TIME, "_id"].iter().any(|ours| overlap(ours, path)) {
        return Err(format!("the field {path} is the projector's own"));
    }
    Ok(())
}

/// One is the other, or lies in it.
fn overlap(one: &str, other: &str) -> bool {
    let below =
        |short: &str, long: &str| long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    below(one, other) || below(other, one)
}

/// The edits of one document, fewer where several can be said as one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FoldedEdits(pub Vec<EditAction>);

impl FoldedEdits {
    pub fn add(&mut self, action: EditAction) {
        match (self.0.last_mut(), action) {
            (_, whole @ (EditAction::Put(_) | EditAction::Delete)) => self.0 = vec![whole],
            (Some(EditAction::Change(known)), EditAction::Change(more)) if can_merge(known, &more) => {
                for (name, edit) in more {
                    let merged = match known.remove(&name) {
                        Some(before) => merged(before, edit),
                        None => edit,
                    };
                    known.insert(name, merged);
                }
            }
            (_, action) => self.0.push(action),
        }
    }

    /// The document after them.
    pub fn apply(&self, mut document: Option<Map<String, Value>>) -> Result<Option<Map<String, Value>>, String> {
        for action in &self.0 {
            document = match action {
                EditAction::Put(whole) => Some(whole.clone()),
                EditAction::Delete => None,
                EditAction::Change(fields) => {
                    let mut changed = document.unwrap_or_default();
                    for (path, edit) in fields {
                        change_field(&mut changed, path, edit)?;
                    }
                    Some(changed)
                }
            };
        }
        Ok(document)
    }
}

/// Each field in common is changed in the same way, and no field lies in another.
fn can_merge(known: &BTreeMap<String, FieldEdit>, more: &BTreeMap<String, FieldEdit>) -> bool {
    more.iter().all(|(name, edit)| {
        known.iter().all(|(other, before)| match name == other {
            true => std::mem::discriminant(before) == std::mem::discriminant(edit),
            false => !overlap(name, other),
        })
    })
}

fn merged(before: FieldEdit, edit: FieldEdit) -> FieldEdit {
    match (before, edit) {
        (FieldEdit::Inc(one), FieldEdit::Inc(two)) => FieldEdit::Inc(sum(&one, &two)),
        (FieldEdit::Max(one), FieldEdit::Max(two)) => FieldEdit::Max(if is_less(&one, &two) { two } else { one }),
        (FieldEdit::Min(one), FieldEdit::Min(two)) => FieldEdit::Min(if is_less(&two, &one) { two } else { one }),
        (_, edit) => edit,
    }
}

fn change_field(document: &mut Map<String, Value>, path: &str, edit: &FieldEdit) -> Result<(), String> {
    if let Some((first, rest)) = path.split_once('.') {
        if *edit == FieldEdit::Unset && !document.contains_key(first) {
            return Ok(());
        }
        let inner = document.entry(first).or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(inner) = inner else {
            return Err(format!("the field {first} is no object, so {path} is no field in it"));
        };
        return change_field(inner, rest, edit);
    }
    let number_there = |what: &str| match document.get(path) {
        None => Ok(None),
        Some(Value::Number(number)) => Ok(Some(number.clone())),
        Some(_) => Err(format!("the field {path} is no number, so `{what}` does not fit it")),
    };
    let value = match edit {
        FieldEdit::Unset => {
            document.remove(path);
            return Ok(());
        }
        FieldEdit::Set(value) => value.clone(),
        FieldEdit::Inc(by) => number_there("inc")?.map_or_else(|| by.clone(), |known| sum(&known, by)).into(),
        FieldEdit::Max(least) => match number_there("max")? {
            Some(known) if !is_less(&known, least) => known.into(),
            _ => least.clone().into(),
        },
        FieldEdit::Min(most) => match number_there("min")? {
            Some(known) if !is_less(most, &known) => known.into(),
            _ => most.clone().into(),
        },
    };
    document.insert(path.to_owned(), value);
    Ok(())
}

/// Whole numbers stay whole as long as they fit into 64 bits.
fn sum(one: &Number, two: &Number) -> Number {
    let whole = one.as_i64().zip(two.as_i64()).and_then(|(one, two)| one.checked_add(two));
    let float = || Number::from_f64(one.as_f64().unwrap_or(0.0) + two.as_f64().unwrap_or(0.0));
    whole.map(Number::from).or_else(float).unwrap_or_else(|| two.clone())
}

fn is_less(one: &Number, two: &Number) -> bool {
    match (one.as_i64(), two.as_i64()) {
        (Some(one), Some(two)) => one < two,
        _ => one.as_f64() < two.as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edits(texts: &[Value]) -> FoldedEdits {
        let mut folded = FoldedEdits::default();
        for text in texts {
            for edit in read(text.to_string().as_bytes()).unwrap() {
                folded.add(edit.action);
            }
        }
        folded
    }

    fn edit(more: Value) -> Value {
        let mut whole = json!({"collection": "c", "key": "k"});
        whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        whole
    }

    #[test]
    fn counters_fold_into_one_edit_and_come_to_the_same() {
        let one = edit(json!({"inc": {"n": 1, "deep.n": 2}, "max": {"top": 3}, "set": {"last": "a"}}));
        let folded = edits(&[one.clone(), one.clone(), one]);
        assert_eq!(folded.0.len(), 1);
        let document = folded.apply(None).unwrap().unwrap();
        assert_eq!(Value::Object(document), json!({"n": 3, "deep": {"n": 6}, "top": 3, "last": "a"}));
    }

    #[test]
    fn edits_that_cannot_be_said_as_one_stay_apart() {
        let folded =
            edits(&[edit(json!({"inc": {"n": 1}})), edit(json!({"set": {"n": 5}})), edit(json!({"inc": {"n": 1}}))]);
        assert_eq!(folded.0.len(), 3);
        assert_eq!(Value::Object(folded.apply(None).unwrap().unwrap()), json!({"n": 6}));
        let gone =
            edits(&[edit(json!({"inc": {"n": 1}})), edit(json!({"delete": true})), edit(json!({"inc": {"n": 1}}))]);
        assert_eq!(Value::Object(gone.apply(None).unwrap().unwrap()), json!({"n": 1}));
    }

    #[test]
    fn what_is_no_edit_says_why() {
        for (bad, why) in [
            (json!({"put": {}, "delete": true}), "one of"),
            (json!({}), "one of"),
            (json!({"incr": {"n": 1}}), "incr"),
            (json!({"inc": {"n": "1"}}), "number"),
            (json!({"set": {"a": 1}, "inc": {"a.b": 1}}), "overlap"),
            (json!({"set": {"_key": 1}}), "own"),
            (json!({"set": {"$where": 1}}), "does not name"),
        ] {
            let told = read(edit(bad).to_string().as_bytes()).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
        let text = edits(&[edit(json!({"inc": {"n": 1}}))]);
        let told = text.apply(json!({"n": "x"}).as_object().cloned()).unwrap_err();
        assert!(told.contains("no number"), "{told}");
    }
}

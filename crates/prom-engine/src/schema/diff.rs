//! What differs between two versions, place by place.

use serde_json::Value;

use super::{SchemaChoice, SchemaVersion};
use crate::{Bus, Error};

/// How a place differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// Only the second has it.
    Added,
    /// Only the first has it.
    Removed,
    /// Both have it, with other values.
    Changed,
}

/// One place where two schemas differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Where, as a JSON pointer.
    pub pointer: String,
    /// How.
    pub kind: DifferenceKind,
    /// What the first has there.
    pub before: Option<Value>,
    /// What the second has there.
    pub after: Option<Value>,
}

impl Bus {
    /// Two versions of a topic, and where they differ.
    pub async fn schema_diff(
        &self,
        topic: &str,
        from: SchemaChoice,
        to: SchemaChoice,
    ) -> Result<(SchemaVersion, SchemaVersion, Vec<Difference>), Error> {
        let before = self.schema_version(topic, from).await?;
        let after = self.schema_version(topic, to).await?;
        let mut differences = Vec::new();
        compare(&before.document.schema, &after.document.schema, &mut String::new(), &mut differences);
        Ok((before, after, differences))
    }
}

fn compare(before: &Value, after: &Value, pointer: &mut String, found: &mut Vec<Difference>) {
    let difference = |pointer: &str, kind, before: Option<&Value>, after: Option<&Value>| Difference {
        pointer: pointer.to_owned(),
        kind,
        before: before.cloned(),
        after: after.cloned(),
    };
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        if before != after {
            found.push(difference(pointer, DifferenceKind::Changed, Some(before), Some(after)));
        }
        return;
    };
    let length = pointer.len();
    let mut names: Vec<&String> = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))).collect();
    names.sort_unstable();
    for name in names {
        pointer.push('/');
        pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        match (old.get(name), new.get(name)) {
            (Some(before), Some(after)) => compare(before, after, pointer, found),
            (Some(before), None) => found.push(difference(pointer, DifferenceKind::Removed, Some(before), None)),
            (None, after) => found.push(difference(pointer, DifferenceKind::Added, None, after)),
        }
        pointer.truncate(length);
    }
}

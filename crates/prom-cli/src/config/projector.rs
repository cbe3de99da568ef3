//! `[[projector]]`: the events of a topic become documents, or events of another topic.

use std::time::Duration;

use prom_transform::{Program, ProgramLimits};
use prom_types::TopicName;
use toml::de::DeValue;

use super::mongo;
use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"# Turns the events of a topic into documents, one per key; repeat for each projector. Unset: none.
#[[projector]]
#topic = "process.state"
# The collection that it fills, and the projector's name.
#collection = "processes"
# Where the documents go: "store", the hub's own, read under /snap and /list; "mongo", your own database; or "topic",
# where each event becomes one of the topic `into`. Default: "store".
#target = "mongo"
# For "mongo": its address, which may include a database. Never shown. Default: the url of [mongo].
#url = "mongodb://127.0.0.1:27017/shop?replicaSet=rs0"
# jq programs over the whole event. `key` builds the document's key (default: the event's key), `map` the document
# (default: the payload; null deletes it, no output skips the event), `version` a number that decides which of two events
# is newer (default: the one stored later), `tombstone` is true if the event deletes (always: null, {"_deleted": true}).
#key = ".payload.processId"
#map = ".payload | del(.sid)"
#version = ".payload.last_seen_ts"
#tombstone = ".payload.status == \"gone\""
# Indexes, each of one or several fields. In the store each field is indexed separately. Default: only the key.
#indexes = [["host", "name"], ["status"]]
# The topic's snapshots, to start from. Default: start from the earliest event.
#warm_from = "process.state.snapshot"

# Edits several collections at once, each event exactly once; `target` and `url` are as above.
#[[projector]]
#name = "host_stats"
#topic = "process.state"
# The collections, with their indexes.
#collections = { host_stats = [], hosts_seen = [["host"]] }
# A jq program that returns edits for each event, such as {collection, key, put: {…}}, {collection, key, delete: true},
# or changes of fields: {collection, key, set: {…}, inc: {…}, max: {…}, min: {…}, unset: […]}.
#edits = "{collection: \"host_stats\", key: .payload.host, inc: {events: 1}}"

# Publishes each event to another topic; `key` and `map` are as above.
#[[projector]]
#topic = "heartbeat.received"
#into = "process.state"
# If a key has no event for this long, `silent` builds one more event from its last payload. Default: no such event.
#silent_after = "15s"
#silent = ".status = \"stale\""
"#;

/// A projector as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredProjector {
    pub name: String,
    pub topic: TopicName,
    pub makes: ProjectorMakes,
    pub warm_from: Option<TopicName>,
}

/// What it makes of events, and where that goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectorMakes {
    Documents { collection: DeclaredCollection, programs: ProjectorPrograms, place: DocumentPlace },
    Edits { collections: Vec<DeclaredCollection>, program: String, place: DocumentPlace },
    Events { into: TopicName, programs: ProjectorPrograms, silence: Option<(Duration, String)> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredCollection {
    pub name: String,
    pub indexes: Vec<Vec<String>>,
}

/// jq programs over the event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectorPrograms {
    pub key: Option<String>,
    pub map: Option<String>,
    pub version: Option<String>,
    pub tombstone: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
pub enum DocumentPlace {
    Store,
    /// At this address, or at that of `[mongo]`.
    Mongo(Option<String>),
}

/// The address may hold a password.
impl std::fmt::Debug for DocumentPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Store => "Store",
            Self::Mongo(_) => "Mongo(…)",
        })
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum TargetKind {
    #[default]
    Store,
    Mongo,
    Topic,
}

/// Every key, as far as it was right.
#[derive(Default)]
struct Written {
    name: Option<String>,
    topic: Option<TopicName>,
    target: TargetKind,
    url: Option<String>,
    programs: ProjectorPrograms,
    collection: Option<String>,
    indexes: Vec<Vec<String>>,
    collections: Vec<DeclaredCollection>,
    edits: Option<String>,
    into: Option<TopicName>,
    silent_after: Option<Duration>,
    silent: Option<String>,
    warm_from: Option<TopicName>,
}

impl DeclaredProjector {
    /// `None` where something is missing or wrong; the section knows what.
    pub fn read(section: &mut ConfigSection<'_>) -> Option<Self> {
        let written = Written::read(section);
        if !section.has("topic") {
            section.complain("a [[projector]] needs a `topic`");
        }
        let forms = ["collection", "edits", "into"].into_iter().filter(|key| section.has(key)).count();
        if forms != 1 {
            section.complain("a [[projector]] has one of `collection`, `edits` and `into`");
            return None;
        }
        written.refuse_strays(section);
        let (topic, warm_from) = (written.topic.clone()?, written.warm_from.clone());
        if warm_from.is_some() && warm_from != prom_jobs::snapshot_topic(&topic).ok() {
            section.complain_at("warm_from", format!("`warm_from`: the snapshots of {topic} are in {topic}.snapshot"));
        }
        let name = match (&written.name, &written.collection, &written.into) {
            (Some(name), ..) | (None, Some(name), _) => name.clone(),
            (None, None, Some(into)) => into.to_string(),
            _ => {
                section.complain("a [[projector]] with `edits` needs a `name`");
                return None;
            }
        };
        Some(Self { name, topic, makes: written.makes(section)?, warm_from })
    }
}

impl Written {
    fn read(section: &mut ConfigSection<'_>) -> Self {
        let mut written = Self::default();
        section.set_some("name", &mut written.name, name);
        section.set_some("topic", &mut written.topic, topic);
        section.set_some("collection", &mut written.collection, name);
        let kinds = [("store", TargetKind::Store), ("mongo", TargetKind::Mongo), ("topic", TargetKind::Topic)];
        section.set("target", &mut written.target, value::one_of(&kinds));
        section.set_some("url", &mut written.url, |url| mongo::parse_url(&value::text(url)?));
        section.set_some("key", &mut written.programs.key, program);
        section.set_some("map", &mut written.programs.map, program);
        section.set_some("version", &mut written.programs.version, program);
        section.set_some("tombstone", &mut written.programs.tombstone, program);
        section.set("indexes", &mut written.indexes, indexes);
        section.set("collections", &mut written.collections, collections);
        section.set_some("edits", &mut written.edits, program);
        section.set_some("into", &mut written.into, topic);
        section.set_some("silent_after", &mut written.silent_after, value::duration);
        section.set_some("silent", &mut written.silent, program);
        section.set_some("warm_from", &mut written.warm_from, topic);
        written
    }

    /// What is written and would not be used.
    fn refuse_strays(&self, section: &ConfigSection<'_>) {
        let strays: &[&str] = if self.into.is_some() {
            &["url", "version", "indexes", "collections", "warm_from"]
        } else if self.edits.is_some() {
            &["key", "map", "version", "tombstone", "indexes", "silent_after", "silent", "warm_from"]
        } else {
            &["collections", "silent_after", "silent"]
        };
        for key in strays.iter().filter(|key| section.has(key)) {
            section.complain_at(key, format!("`{key}` does not belong to a projector of this form"));
        }
        if self.target != TargetKind::Mongo && section.has("url") && self.into.is_none() {
            section.complain_at("url", "`url` is for target = \"mongo\"");
        }
        if section.has("target") && (self.target == TargetKind::Topic) != self.into.is_some() {
            section.complain_at("target", "target = \"topic\" and `into` belong together");
        }
        if self.silent_after.is_some() != self.silent.is_some() {
            section.complain("`silent_after` and `silent` belong together");
        }
    }

    fn makes(self, section: &ConfigSection<'_>) -> Option<ProjectorMakes> {
        let place = match self.target {
            TargetKind::Mongo => DocumentPlace::Mongo(self.url),
            _ => DocumentPlace::Store,
        };
        if let Some(into) = self.into {
            let silence = self.silent_after.zip(self.silent);
            return Some(ProjectorMakes::Events { into, programs: self.programs, silence });
        }
        if let Some(program) = self.edits {
            if self.collections.is_empty() {
                section.complain("a [[projector]] with `edits` names its `collections`");
                return None;
            }
            return Some(ProjectorMakes::Edits { collections: self.collections, program, place });
        }
        let collection = DeclaredCollection { name: self.collection?, indexes: self.indexes };
        Some(ProjectorMakes::Documents { collection, programs: self.programs, place })
    }
}

fn name(value: &DeValue<'_>) -> Result<String, String> {
    let name = value::text(value)?;
    prom_jobs::CollectionName::parse(&name).map_err(|error| error.to_string())?;
    Ok(name)
}

fn topic(value: &DeValue<'_>) -> Result<TopicName, String> {
    TopicName::parse(&value::text(value)?).map_err(|error| error.to_string())
}

fn program(value: &DeValue<'_>) -> Result<String, String> {
    let text = value::text(value)?;
    match Program::compile(&text, ProgramLimits::default()) {
        Ok(_) => Ok(text),
        Err(error) => Err(format!("not a valid jq program: {error}")),
    }
}

/// `["status", ["host", "name"]]`: one field may stand by itself.
fn indexes(value: &DeValue<'_>) -> Result<Vec<Vec<String>>, String> {
    let list = value.as_array().ok_or("expected a list such as [[\"host\", \"name\"], [\"status\"]]")?;
    let index = |item: &DeValue<'_>| match item.is_array() {
        true => value::texts(item),
        false => Ok(vec![value::text(item)?]),
    };
    list.iter().map(|item| index(item.get_ref())).collect()
}

/// `["a", "b"]`, or `{ a = [["field"]], b = [] }` with indexes.
fn collections(value: &DeValue<'_>) -> Result<Vec<DeclaredCollection>, String> {
    let Some(table) = value.as_table() else {
        let names = value::texts(value)?;
        return names.into_iter().map(|name| checked(name, Vec::new())).collect();
    };
    table.iter().map(|(name, value)| checked(name.get_ref().to_string(), indexes(value.get_ref())?)).collect()
}

fn checked(name: String, indexes: Vec<Vec<String>>) -> Result<DeclaredCollection, String> {
    prom_jobs::CollectionName::parse(&name).map_err(|error| error.to_string())?;
    Ok(DeclaredCollection { name, indexes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Overrides, load_text};

    fn read(text: &str) -> Result<Vec<DeclaredProjector>, String> {
        let loaded = load_text("prom.toml", text, Overrides::default());
        loaded.map(|loaded| loaded.config.projectors).map_err(|problems| problems.to_string())
    }

    #[test]
    fn the_three_forms_are_told_apart() {
        let all = read(
            r#"
            [[projector]]
            topic = "a"
            collection = "docs"
            target = "mongo"
            url = "mongodb://user:secret@h/x"
            indexes = ["status", ["host", "name"]]
            [[projector]]
            name = "stats"
            topic = "a"
            collections = { one = [["f"]], two = [] }
            edits = "empty"
            [[projector]]
            topic = "a"
            into = "b"
            silent_after = "15s"
            silent = "."
            "#,
        )
        .unwrap();
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["docs", "stats", "b"]);
        let ProjectorMakes::Documents { collection, .. } = &all[0].makes else { panic!("{all:?}") };
        assert_eq!(collection.indexes, [vec!["status"], vec!["host", "name"]]);
        assert!(matches!(&all[1].makes, ProjectorMakes::Edits { collections, .. } if collections.len() == 2));
        assert!(matches!(&all[2].makes, ProjectorMakes::Events { silence: Some(_), .. }));
        assert!(!format!("{all:?}").contains("secret"));
    }

    #[test]
    fn what_does_not_belong_together_is_refused_by_name() {
        for (keys, told) in [
            ("", "one of `collection`, `edits` and `into`"),
            ("collection = \"a\"\ninto = \"b\"", "one of `collection`, `edits` and `into`"),
            ("edits = \".\"\ncollections = [\"a\"]", "needs a `name`"),
            ("name = \"n\"\nedits = \".\"", "names its `collections`"),
            ("collection = \"a\"\nurl = \"mongodb://h\"", "`url` is for target"),
            ("collection = \"a\"\nsilent_after = \"1s\"", "`silent_after` does not belong"),
            ("into = \"b\"\nsilent_after = \"1s\"", "belong together"),
            ("into = \"b\"\nversion = \".v\"", "`version` does not belong"),
            ("collection = \"A b\"", "collection"),
            ("collection = \"a\"\nkey = \".[\"", "not a valid jq program"),
            ("collection = \"a\"\nwarm_from = \"b.snapshot\"", "are in a.snapshot"),
            ("collection = \"a\"\nmaps = \".\"", "unknown key `maps`"),
        ] {
            let refused = read(&format!("[[projector]]\ntopic = \"a\"\n{keys}\n")).unwrap_err();
            assert!(refused.contains(told), "{keys}: {refused}");
        }
        let twice = "[[projector]]\ntopic = \"a\"\ncollection = \"a\"\n".repeat(2);
        assert!(read(&twice).unwrap_err().contains("declared twice"));
    }
}

//! `[[changefeed]]`: MongoDB collections whose changes become events.

use std::fmt;

use prom_flows::feed::{
    BeforeImage, FeedOptions, FeedRoute, FeedSource, FullDocument, NumberForm, OnLostToken, OnUnfit, Oversize,
};
use prom_transform::{Program, ProgramLimits};
use toml::de::DeValue;

use super::section::ConfigSection;
use super::{mongo, value};

pub const TEXT: &str = r#"# Publishes the changes of a MongoDB collection to a topic; repeat for each feed. Unset: none.
#[[changefeed]]
# A unique name. Do not change it: the position is stored under it, and ids of events are derived from it.
#name = "orders"
# The replica set. Unset: that of [mongo].
#url = "mongodb://127.0.0.1:27017/?replicaSet=rs0"
#database = "shop"
# Unset: all collections of the database; put {collection} into `topic`, or all go to one topic.
#collection = "orders"
#topic = "shop.orders"
# What an update carries: "update_lookup" (the document when the change is read), "when_available" or "required" (right
# after the change, if the collection keeps such images), "none" (only the update). Default: "update_lookup".
#full_document = "update_lookup"
# Whether filter and map see the document before the change: "none", "when_available" or "required". Default: "none".
#before = "none"
# A jq program over the change, { op, ns, key, id, cluster_time, ts, document, before, update }: only changes for which
# it is true are published. Default: all changes.
#filter = ".op == \"delete\" or .document.status != \"draft\""
# A jq program over the change that builds the payload. Default: the document.
#map = ".document | { status, total }"
# Whether to copy the existing documents first: true or false. Default: false.
#snapshot = false
# For a payload above 1 MiB: "project" (only `fields` and _id), "pointer" (its location) or "dead_letter". Default:
# "pointer".
#oversize = "project"
#fields = ["status", "total"]
# For a change on which the map fails or that the topic refuses: "stop" or "dead_letter". Default: "stop".
#on_unfit = "stop"
# If the oplog no longer has the feed's position: "stop", or "resnapshot" (a gap event on the topic, then a copy of
# everything). Default: "stop".
#on_lost_token = "stop"
# Numbers: "plain" (digit by digit), or "typed" (as {"$numberLong":"…"}, for consumers that round). Default: "plain".
#numbers = "plain"
"#;

#[derive(Clone, PartialEq, Eq)]
pub struct DeclaredFeed {
    /// That of `[mongo]` if `None`. Not shown: there may be a password in it.
    pub url: Option<String>,
    /// All but the address.
    pub options: FeedOptions,
}

impl fmt::Debug for DeclaredFeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(f)
    }
}

impl DeclaredFeed {
    /// `None` where something is missing or wrong; the section knows what.
    pub fn read(section: &mut ConfigSection<'_>) -> Option<Self> {
        let (mut name, mut url, mut database, mut collection, mut route) = (None, None, None, None, None);
        section.set_some("name", &mut name, value::text);
        section.set_some("url", &mut url, |value| mongo::parse_url(&value::text(value)?));
        section.set_some("database", &mut database, value::text);
        section.set_some("collection", &mut collection, value::text);
        section.set_some("topic", &mut route, |value| {
            FeedRoute::parse(&value::text(value)?).map_err(|error| error.to_string())
        });
        for key in ["name", "database", "topic"] {
            if !section.has(key) {
                section.complain(format!("a [[changefeed]] needs `{key}`"));
            }
        }
        let oversize = read_oversize(section);
        let source = FeedSource { database: database.unwrap_or_default(), collection };
        let route = route.or_else(|| FeedRoute::parse("none").ok())?;
        let mut options = FeedOptions { oversize, ..FeedOptions::new(&name.unwrap_or_default(), "", source, route) };
        read_choices(section, &mut options);
        let is_whole = ["name", "database", "topic"].iter().all(|key| section.has(key));
        is_whole.then_some(Self { url, options })
    }
}

fn read_choices(section: &mut ConfigSection<'_>, options: &mut FeedOptions) {
    let documents = [
        ("update_lookup", FullDocument::UpdateLookup),
        ("when_available", FullDocument::WhenAvailable),
        ("required", FullDocument::Required),
        ("none", FullDocument::None),
    ];
    section.set("full_document", &mut options.full_document, value::one_of(&documents));
    let images = [
        ("none", BeforeImage::None),
        ("when_available", BeforeImage::WhenAvailable),
        ("required", BeforeImage::Required),
    ];
    section.set("before", &mut options.before, value::one_of(&images));
    section.set_some("filter", &mut options.filter, program);
    section.set_some("map", &mut options.map, program);
    section.set("snapshot", &mut options.snapshot, value::flag);
    let unfit = [("stop", OnUnfit::Stop), ("dead_letter", OnUnfit::DeadLetter)];
    section.set("on_unfit", &mut options.on_unfit, value::one_of(&unfit));
    let lost = [("stop", OnLostToken::Stop), ("resnapshot", OnLostToken::Resnapshot)];
    section.set("on_lost_token", &mut options.on_lost_token, value::one_of(&lost));
    let numbers = [("plain", NumberForm::Plain), ("typed", NumberForm::Typed)];
    section.set("numbers", &mut options.numbers, value::one_of(&numbers));
}

fn read_oversize(section: &mut ConfigSection<'_>) -> Oversize {
    let (mut oversize, mut fields) = (Oversize::Pointer, Vec::new());
    section.set("fields", &mut fields, value::texts);
    let policies = [
        ("project", Oversize::Project(fields.clone())),
        ("pointer", Oversize::Pointer),
        ("dead_letter", Oversize::DeadLetter),
    ];
    section.set("oversize", &mut oversize, value::one_of(&policies));
    match (&oversize, fields.is_empty()) {
        (Oversize::Project(_), true) => section.complain_at("oversize", "oversize = \"project\" needs `fields`"),
        (Oversize::Pointer | Oversize::DeadLetter, false) => {
            section.complain_at("fields", "`fields` belong to oversize = \"project\"");
        }
        _ => {}
    }
    oversize
}

fn program(value: &DeValue<'_>) -> Result<String, String> {
    let program = value::text(value)?;
    match Program::compile(&program, ProgramLimits::default()) {
        Ok(_) => Ok(program),
        Err(error) => Err(format!("not a valid jq program: {error}")),
    }
}

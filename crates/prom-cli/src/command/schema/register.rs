//! `prom schema register`: registers a schema, or everything in a folder that the hub lacks.

use std::path::{Path, PathBuf};

use clap::Args;
use prom_protocol::http::schema::{RegisterSchema, RegisteredVersion, SchemaReference, SchemaSettingsChange};
use prom_schema::{Compat, SettingsChange};
use prom_types::TopicName;
use serde_json::json;

use super::known::{self, HeldTo};
use super::{file, settings};
use crate::cli::Context;
use crate::command::names;
use crate::exit::{CommandResult, Failure};
use crate::hub::HubClient;
use crate::output::note;
use crate::schema_folder::{FolderStep, SchemaFolder, edited};

/// Register a schema as the next version of a topic, or all schemas of a folder
#[derive(Debug, Args)]
#[command(after_help = "\
A schema that the topic already has, whatever its formatting, is not registered again. A folder is registered in \
dependency order, and running it again changes nothing. On a topic with compat `backward`, a version with an \
upcaster only has to satisfy `upcast`.

Examples:
  prom schema register orders.placed v1.json
  prom schema register heartbeat.received v2.json --upcast v1-to-v2.jq
  prom schema register --folder schemas")]
pub struct Register {
    /// The topic
    #[arg(value_parser = names::topic, required_unless_present = "folder")]
    topic: Option<TopicName>,
    /// File with the schema
    #[arg(required_unless_present = "folder")]
    file: Option<PathBuf>,
    /// Register everything in this folder
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["topic", "file", "compat", "upcast", "reference", "as_version"])]
    folder: Option<PathBuf>,
    /// Compatibility to check, instead of the topic's setting
    #[arg(long, value_name = "WORD", value_parser = settings::parse::<Compat>)]
    compat: Option<Compat>,
    /// File with the jq program from the previous version
    #[arg(long, value_name = "FILE")]
    upcast: Option<PathBuf>,
    /// Another schema in the registry that this one refers to; can be repeated
    #[arg(long, value_name = "NAME=TOPIC:VERSION", value_parser = file::reference)]
    reference: Vec<SchemaReference>,
    /// Fail unless it becomes this version
    #[arg(long, value_name = "N")]
    as_version: Option<u32>,
}

impl Register {
    pub async fn run(self, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        let (Some(topic), Some(path)) = (self.topic, self.file) else {
            return register_folder(context, &hub, self.folder.as_deref().unwrap_or(Path::new("schemas"))).await;
        };
        let held_to = HeldTo::new(self.compat, self.upcast.as_ref());
        let mut request = RegisterSchema {
            schema: file::schema(&path)?,
            references: self.reference,
            compat: None,
            version: self.as_version,
            upcast: self.upcast.as_deref().map(file::text).transpose()?,
        };
        request.compat = held_to.word(&hub, &topic).await?;
        let answer = hub.post(&["topics", &topic, "schema"], &request).await;
        let answer = answer.map_err(|failure| held_to.advise(failure, &topic))?;
        let registered: RegisteredVersion = answer.parse()?;
        registered.notes.iter().for_each(note);
        context.show(&answer, |registered: RegisteredVersion| {
            context.output.line(told(&topic, registered.version, registered.id, registered.existed))
        })
    }
}

fn told(topic: &TopicName, version: u32, id: u32, existed: bool) -> String {
    let how = if existed { "was registered before" } else { "is registered" };
    format!("{topic} version {version} {how}, id {id}")
}

/// Settings first, then every version, then what upcasters are left.
async fn register_folder(context: &Context, hub: &HubClient, path: &Path) -> CommandResult {
    let folder = SchemaFolder::read_filled(path)?;
    for topic in folder.topics().iter().filter(|topic| topic.settings != SettingsChange::default()) {
        let change = change(&topic.settings);
        hub.put(&["topics", &topic.topic, "schema", "settings"], &change).await?;
    }
    let mut done = Vec::new();
    for step in folder.steps()? {
        let registered: RegisteredVersion = register_step(hub, &step).await?;
        registered.notes.iter().for_each(note);
        if context.output.is_for_machines() {
            done.push(json!({"topic": step.topic, "version": registered.version, "id": registered.id,
                "existed": registered.existed}));
        } else {
            context.output.line(told(&step.topic, registered.version, registered.id, registered.existed))?;
        }
    }
    match context.output.is_for_machines() {
        true => context.output.json(&json!({"registered": done})),
        false => Ok(()),
    }
}

async fn register_step(hub: &HubClient, step: &FolderStep) -> Result<RegisteredVersion, Failure> {
    let references = step.document.references.iter().map(|reference| SchemaReference {
        name: reference.name.clone(),
        subject: reference.subject.clone(),
        version: reference.version,
    });
    let mut request = RegisterSchema {
        schema: step.document.schema.clone(),
        references: references.collect(),
        compat: step.compat.map(|word| word.to_string()),
        version: Some(step.version),
        upcast: step.upcast.clone(),
    };
    let path = ["topics", step.topic.as_str(), "schema"];
    let registered = match hub.post(&path, &request).await {
        Ok(answer) => answer.parse::<RegisteredVersion>(),
        Err(failure) => Err(explain(hub, step, failure).await),
    }?;
    if registered.existed && registered.version != step.version {
        let RegisteredVersion { version, .. } = registered;
        let what = format!("{}: {} has this schema as version {version}", step.path.display(), step.topic);
        return Err(Failure::no(what).fix("versions of a folder are those of the hub; rename or remove the file"));
    }
    // What was there before keeps its upcaster unless the folder has another one.
    if let Some(jq) = request.upcast.take().filter(|_| registered.existed) {
        let from = (step.version - 1).to_string();
        let path = ["topics", step.topic.as_str(), "schema", "upcasters", &from];
        hub.put(&path, &json!({"jq": jq})).await.map_err(|failure| failure.at(&step.path))?;
    }
    Ok(registered)
}

/// The hub says that the number is taken. People want to know that they changed what is registered.
async fn explain(hub: &HubClient, step: &FolderStep, refusal: Failure) -> Failure {
    if !matches!(refusal, Failure::Usage(_)) {
        return refusal.at(&step.path);
    }
    let next = match known::of_topic(hub, &step.topic).await {
        Ok(Some(view)) if view.versions.iter().any(|entry| entry.version == step.version && !entry.deleted) => {
            view.versions.iter().map(|entry| entry.version + 1).max()
        }
        // The refusal says enough.
        _ => None,
    };
    match next {
        Some(next) => edited(&step.path, &step.topic, step.version, next),
        None => refusal.at(&step.path),
    }
}

fn change(settings: &SettingsChange) -> SchemaSettingsChange {
    SchemaSettingsChange {
        compat: settings.compat.map(|word| word.to_string()),
        policy: settings.policy.map(|word| word.to_string()),
        formats: settings.formats.map(|word| word.to_string()),
        undecided: settings.undecided.map(|word| word.to_string()),
        admit: settings.admit.map(|word| word.to_string()),
        unversioned_as: settings.unversioned_as,
    }
}

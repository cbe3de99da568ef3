//! Schemas that a hub has from the start: a folder, `[[topic]] schema` and `[[upcast]]`.
//!
//! Promises: what the store has is not registered again; what differs from the store, or is incompatible with it, stops the
//! start with the file and the reason, before anything is served.

use std::path::Path;

use prom_engine::{Bus, Error, SchemaCandidate, SchemaChoice, SchemaDocument, SettingsChange};
use prom_types::TopicName;

use crate::config::{Config, DeclaredTopic};
use crate::exit::{CommandResult, Failure};
use crate::schema_folder::{FolderStep, SchemaFolder, edited};
use crate::violations;

/// What can be told without a store.
pub fn check(config: &Config) -> CommandResult {
    for declared in &config.declared {
        read_schema(declared)?;
    }
    let Some(folder) = read_folder(config)? else {
        return Ok(());
    };
    let judged = folder.judge(config.schemas.settings)?;
    let wrong = judged.iter().find(|version| !version.violations.is_empty());
    wrong.map_or(Ok(()), |version| {
        let why = violations::in_words(&version.violations);
        Err(Failure::usage(format!("{} breaks compat {}\n{why}", version.path.display(), version.compat)))
    })
}

/// Registers what the configuration has and the store lacks.
pub async fn register(config: &Config, bus: &Bus) -> CommandResult {
    let folder = read_folder(config)?;
    if let Some(folder) = &folder {
        for topic in folder.topics().iter().filter(|topic| topic.settings != SettingsChange::default()) {
            apply_settings(bus, &topic.topic, topic.settings).await?;
        }
        for step in folder.steps()? {
            register_step(bus, &step).await?;
        }
    }
    for declared in &config.declared {
        register_declared(bus, declared).await?;
    }
    for step in &config.upcasters {
        set_upcaster(bus, &step.topic, step.from, &step.jq).await.map_err(|error| {
            Failure::no(format!("[[upcast]] {} from {}: {error}", step.topic, step.from))
                .fix("register the version after it first, by a folder or with `prom schema register`")
        })?;
    }
    Ok(())
}

/// The folder, with the steps that the configuration adds to it.
fn read_folder(config: &Config) -> Result<Option<SchemaFolder>, Failure> {
    let Some(path) = &config.schemas.folder else {
        return Ok(None);
    };
    let mut folder = SchemaFolder::read(path)?;
    for step in &config.upcasters {
        folder.add_upcaster(&step.topic, step.from, &step.jq);
    }
    Ok(Some(folder))
}

async fn apply_settings(bus: &Bus, topic: &TopicName, settings: SettingsChange) -> CommandResult {
    let failed = |error: Error| Failure::no(format!("the settings of the schemas of {topic} cannot be set: {error}"));
    let stored = bus.schema(topic).await.map_err(failed)?.map(|entry| entry.settings).unwrap_or_default();
    if stored.and(&settings) != stored {
        bus.set_schema_settings(Some(topic), settings).await.map_err(failed)?;
    }
    Ok(())
}

async fn register_step(bus: &Bus, step: &FolderStep) -> CommandResult {
    let FolderStep { topic, version, document, path, .. } = step;
    let failed = |error: Error| explain(path, &error);
    let entry = bus.schema(topic).await.map_err(failed)?;
    if let Some(next) = entry.map(|entry| entry.next_version).filter(|next| version < next) {
        match bus.schema_version(topic, SchemaChoice::Version(*version)).await {
            Ok(stored) if stored.document.digest() == document.digest() => {}
            Ok(_) => return Err(edited(path, topic, *version, next)),
            // Removed for good, on purpose.
            Err(Error::UnknownSchema { .. }) => return Ok(()),
            Err(error) => return Err(failed(error)),
        }
        return match &step.upcast {
            Some(jq) => set_upcaster(bus, topic, version - 1, jq).await.map_err(failed),
            None => Ok(()),
        };
    }
    let candidate = SchemaCandidate {
        document: document.clone(),
        compat: step.compat,
        version: Some(*version),
        upcast: step.upcast.clone(),
    };
    let registered = bus.register_schema(topic, candidate).await.map_err(failed)?;
    if registered.existed {
        let what = format!("{}: {topic} has this schema as version {}", path.display(), registered.version);
        return Err(Failure::no(what).fix("remove the file, or change it"));
    }
    tracing::info!(topic = topic.as_str(), version, id = registered.id, "registered a schema");
    registered.notes.iter().for_each(|note| tracing::warn!(topic = topic.as_str(), version, "{note}"));
    Ok(())
}

/// Nothing is written where it is there already.
async fn set_upcaster(bus: &Bus, topic: &TopicName, from: u32, jq: &str) -> Result<(), Error> {
    let stored = bus.schema(topic).await?;
    if stored.is_some_and(|entry| entry.upcasters.get(&from).is_some_and(|stored| stored == jq)) {
        return Ok(());
    }
    bus.set_upcaster(topic, from, Some(jq.to_owned())).await
}

async fn register_declared(bus: &Bus, declared: &DeclaredTopic) -> CommandResult {
    let (Some(document), Some(path)) = (read_schema(declared)?, &declared.schema) else {
        return Ok(());
    };
    let registered = bus.register_schema(&declared.name, SchemaCandidate::new(document)).await;
    let registered = registered.map_err(|error| explain(path, &error))?;
    if !registered.existed {
        let (topic, version) = (declared.name.as_str(), registered.version);
        tracing::info!(topic, version, id = registered.id, "registered a schema");
        registered.notes.iter().for_each(|note| tracing::warn!(topic, version, "{note}"));
    }
    Ok(())
}

fn read_schema(declared: &DeclaredTopic) -> Result<Option<SchemaDocument>, Failure> {
    let Some(path) = &declared.schema else {
        return Ok(None);
    };
    let wrong = |reason: String| {
        Failure::usage(format!("[[topic]] {}: {}: {reason}", declared.name, path.display()))
            .fix("`schema` names a file with a JSON Schema")
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    SchemaDocument::parse(&text, Vec::new()).map(Some).map_err(|error| wrong(error.to_string()))
}

fn explain(path: &Path, error: &Error) -> Failure {
    match error {
        Error::SchemaIncompatible { topic, violations } => {
            let views: Vec<_> = violations.iter().cloned().map(prom_gateway::http::violation_view).collect();
            let why = violations::in_words(&views);
            Failure::no(format!("{}: not compatible with what {topic} has\n{why}", path.display()))
        }
        error => Failure::no(format!("{}: {error}", path.display())),
    }
}

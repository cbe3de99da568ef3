//! `/config`: how new versions are judged. `/mode` and `/contexts`, which are always the same here.

use std::sync::Arc;

use axum::extract::{Path, State};
use prom_auth::Action;
use prom_protocol::http::confluent::{ConfluentConfig, ConfluentConfigView, ConfluentMode};
use prom_schema::{Compat, CompatPolicy, SchemaSettings, SettingsChange};

use super::{Answered, ConfluentAnswer, ConfluentQuery, ConfluentRefusal, Subject};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::JsonBody;
use crate::http::problem::Problem;
use crate::http::schema::{may_read, may_read_some};

pub async fn get_for_all(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
) -> Answered<ConfluentConfigView> {
    may_read_some(&caller?)?;
    Ok(ConfluentAnswer(view(api.hub.bus.schema_settings(None).await?)))
}

pub async fn get(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path(subject): Path<String>,
    query: ConfluentQuery,
) -> Answered<ConfluentConfigView> {
    let caller = caller?;
    let subject = Subject::to_read(&subject)?;
    may_read(&caller, &subject.topic)?;
    let bus = &api.hub.bus;
    let own = bus.schema(&subject.topic).await?.map(|entry| entry.settings).unwrap_or_default();
    if own.compat.is_none() && own.policy.is_none() && !query.default_to_global {
        return Err(ConfluentRefusal::no_config(&subject.name));
    }
    Ok(ConfluentAnswer(view(bus.schema_settings(Some(&subject.topic)).await?)))
}

pub async fn put_for_all(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    body: JsonBody<ConfluentConfig>,
) -> Answered<ConfluentConfig> {
    let caller = caller?;
    caller.may_everywhere(Action::Admin)?;
    let body = body.read(&api).await?;
    caller.bus(&api.hub).set_schema_settings(None, change(&body)?).await?;
    Ok(ConfluentAnswer(body))
}

pub async fn put(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path(subject): Path<String>,
    body: JsonBody<ConfluentConfig>,
) -> Answered<ConfluentConfig> {
    let caller = caller?;
    let subject = Subject::to_change(&subject)?;
    caller.may(Action::Admin, &subject.topic)?;
    let body = body.read(&api).await?;
    caller.bus(&api.hub).set_schema_settings(Some(&subject.topic), change(&body)?).await?;
    Ok(ConfluentAnswer(body))
}

/// Back to what the hub's configuration says.
pub async fn delete_for_all(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
) -> Answered<ConfluentConfigView> {
    let caller = caller?;
    caller.may_everywhere(Action::Admin)?;
    let bus = caller.bus(&api.hub);
    let before = bus.schema_settings(None).await?;
    bus.clear_registry_settings().await?;
    Ok(ConfluentAnswer(view(before)))
}

/// Back to what holds for all.
pub async fn delete(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path(subject): Path<String>,
) -> Answered<ConfluentConfigView> {
    let caller = caller?;
    let subject = Subject::to_read(&subject)?;
    caller.may(Action::Admin, &subject.topic)?;
    let bus = caller.bus(&api.hub);
    let own = bus.schema(&subject.topic).await?.map(|entry| entry.settings).unwrap_or_default();
    if own == SettingsChange::default() {
        return Err(ConfluentRefusal::no_config(&subject.name));
    }
    let before = bus.schema_settings(Some(&subject.topic)).await?;
    bus.clear_schema_settings(&subject.topic).await?;
    Ok(ConfluentAnswer(view(before)))
}

pub async fn mode(caller: Result<Caller, Problem>) -> Answered<ConfluentMode> {
    may_read_some(&caller?)?;
    Ok(ConfluentAnswer(ConfluentMode { mode: "READWRITE".to_owned() }))
}

pub async fn mode_of_subject(
    caller: Result<Caller, Problem>,
    Path(subject): Path<String>,
    query: ConfluentQuery,
) -> Answered<ConfluentMode> {
    let caller = caller?;
    let subject = Subject::to_read(&subject)?;
    may_read(&caller, &subject.topic)?;
    if query.default_to_global { mode(Ok(caller)).await } else { Err(ConfluentRefusal::no_mode(&subject.name)) }
}

pub async fn contexts(caller: Result<Caller, Problem>) -> Answered<[&'static str; 1]> {
    may_read_some(&caller?)?;
    Ok(ConfluentAnswer(["."]))
}

fn view(settings: SchemaSettings) -> ConfluentConfigView {
    // Confluent has no word for it, and with upcasters the schemas themselves may be anything.
    let compat = if settings.compat == Compat::Upcast { Compat::None } else { settings.compat };
    ConfluentConfigView {
        compatibility_level: compat.as_str().to_ascii_uppercase(),
        compatibility_policy: settings.policy.as_str().to_ascii_uppercase(),
    }
}

fn change(body: &ConfluentConfig) -> Result<SettingsChange, ConfluentRefusal> {
    let word = |word: &String| word.to_ascii_lowercase();
    let compat = body.compatibility.as_ref().map(word).map(|word| word.parse::<Compat>()).transpose();
    let policy = body.compatibility_policy.as_ref().map(word).map(|word| word.parse::<CompatPolicy>()).transpose();
    match compat.map_err(ConfluentRefusal::invalid_level)? {
        Some(Compat::Upcast) => Err(ConfluentRefusal::invalid_level("set upcast by `prom schema set`")),
        compat => Ok(SettingsChange {
            compat,
            policy: policy.map_err(ConfluentRefusal::invalid_level)?,
            ..SettingsChange::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(compatibility: &str) -> Result<SettingsChange, ConfluentRefusal> {
        change(&ConfluentConfig { compatibility: Some(compatibility.to_owned()), compatibility_policy: None })
    }

    #[test]
    fn every_level_of_theirs_is_one_of_ours_and_no_other() {
        let theirs =
            ["NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"];
        for level in theirs {
            let compat = asked(level).unwrap().compat.unwrap();
            let settings = SchemaSettings { compat, ..SchemaSettings::default() };
            assert_eq!(view(settings).compatibility_level, level);
        }
        for wrong in ["UPCAST", "SIDEWAYS", ""] {
            assert!(asked(wrong).is_err(), "{wrong}");
        }
    }
}

//! `prom.toml` as a whole: which sections there are, and reading them all, so that every error is found at once.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{ConfigProblems, suggestion};
use super::section::{ConfigSection, NOT_YET};
use super::source::Source;
use super::{Config, DeclaredTopic, DeclaredUpcaster};

const TABLES: [&str; 10] =
    ["server", "store", "mongo", "auth", "limits", "topics", "schemas", "cors", "telemetry", "log"];
const LISTS: [&str; 2] = ["topic", "upcast"];
const LATER: [&str; 4] = ["outbox", "changefeed", "projector", "lint"];

/// Puts what the text says over what `config` holds.
pub fn read(config: &mut Config, file: &str, text: &str) -> Result<(), ConfigProblems> {
    let source = Source::new(file, text);
    let (document, errors) = DeTable::parse_recoverable(source.text());
    match errors.is_empty() {
        true => read_document(config, &source, document.get_ref()),
        // What was recovered of broken syntax would only bring errors that are none.
        false => {
            for error in errors {
                let span = error.span().unwrap_or_default();
                let hint = quotes_hint(source.line_at(span.start));
                source.complain(span, error.message(), hint);
            }
        }
    }
    source.finish()
}

fn read_document(config: &mut Config, source: &Source<'_>, document: &DeTable<'_>) {
    for (key, value) in document.iter() {
        let name = key.get_ref().as_ref();
        match value.get_ref() {
            _ if LATER.contains(&name) => source.complain(key.span(), format!("`{name}`: {NOT_YET}"), None),
            DeValue::Table(table) if TABLES.contains(&name) => {
                let title = format!("[{name}]");
                ConfigSection::read(source, &title, key.span(), table, |section| read_table(config, name, section));
            }
            DeValue::Array(list) if LISTS.contains(&name) => {
                for item in list.iter() {
                    read_item(config, source, name, item);
                }
            }
            _ if TABLES.contains(&name) => {
                let hint = (name == "topics").then(|| "a topic that exists from the start is a [[topic]]".to_owned());
                source.complain(key.span(), format!("`{name}` is a section, given once: write [{name}]"), hint);
            }
            _ if LISTS.contains(&name) => {
                source.complain(key.span(), format!("`{name}` is a list of sections: write [[{name}]]"), None);
            }
            other => {
                let what = if other.is_table() || other.is_array() {
                    format!("unknown section `{name}`")
                } else {
                    format!("unknown key `{name}` outside of any section")
                };
                source.complain(key.span(), what, Some(suggest_section(name)));
            }
        }
    }
}

fn read_table(config: &mut Config, name: &str, section: &mut ConfigSection<'_>) {
    match name {
        "server" => config.server.read(section),
        "store" => config.store.read(section),
        "mongo" => config.mongo.read(section),
        "auth" => config.auth.read(section),
        "limits" => config.limits.read(section),
        "topics" => config.topics.read(section),
        "schemas" => config.schemas.read(section),
        "cors" => config.cors.read(section),
        "telemetry" => config.telemetry.read(section),
        _ => config.log.read(section),
    }
}

fn read_item(config: &mut Config, source: &Source<'_>, name: &str, item: &Spanned<DeValue<'_>>) {
    let DeValue::Table(table) = item.get_ref() else {
        source.complain(item.span(), format!("`{name}` is a list of sections: write [[{name}]]"), None);
        return;
    };
    let title = format!("[[{name}]]");
    ConfigSection::read(source, &title, item.span(), table, |section| match name {
        "topic" => read_topic(config, section),
        _ => read_upcaster(config, section),
    });
}

fn read_topic(config: &mut Config, section: &mut ConfigSection<'_>) {
    let Some(topic) = DeclaredTopic::read(section) else {
        return;
    };
    if config.declared.iter().any(|other| other.name == topic.name) {
        section.complain_at("name", format!("topic `{}` is declared twice", topic.name))
    } else {
        config.declared.push(topic)
    }
}

fn read_upcaster(config: &mut Config, section: &mut ConfigSection<'_>) {
    let Some(step) = DeclaredUpcaster::read(section) else {
        return;
    };
    if config.upcasters.iter().any(|other| (&other.topic, other.from) == (&step.topic, step.from)) {
        section
            .complain_at("from", format!("the step from version {} of `{}` is declared twice", step.from, step.topic))
    } else {
        config.upcasters.push(step)
    }
}

/// For a line such as `listen = 0.0.0.0:8090`: TOML wants text in quotes.
fn quotes_hint(line: &str) -> Option<String> {
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim(), value.split('#').next().unwrap_or_default().trim());
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    let is_bare = !value.is_empty() && !value.contains(['"', '\'', '[', '{']);
    (is_key && is_bare).then(|| format!("text stands in quotes: {key} = \"{value}\""))
}

fn suggest_section(name: &str) -> String {
    let valid: Vec<&str> = TABLES.into_iter().chain(LISTS).collect();
    suggestion(name, &valid)
}

//! `prom.toml` as a whole: which sections there are, and reading them all, so that every error is found at once.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{ConfigProblems, suggestion};
use super::section::ConfigSection;
use super::source::Source;
use super::{Config, DeclaredFeed, DeclaredOutbox, DeclaredProjector, DeclaredTopic, DeclaredUpcaster, search};

const TABLES: [&str; 11] =
    ["server", "store", "mongo", "auth", "limits", "topics", "schemas", "cors", "telemetry", "log", "lint"];
const LISTS: [&str; 6] = ["topic", "upcast", "outbox", "changefeed", "projector", "search"];

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
        "log" => config.log.read(section),
        _ => config.lint.read(section),
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
        "outbox" => read_outbox(config, section),
        "search" => read_search(config, section),
        "projector" => read_projector(config, section),
        "changefeed" => read_feed(config, section),
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

fn read_search(config: &mut Config, section: &mut ConfigSection<'_>) {
    let Some(saved) = search::read(section) else {
        return;
    };
    if config.searches.iter().any(|other| other.name == saved.name) {
        section.complain_at("name", format!("search `{}` is declared twice", saved.name))
    } else {
        config.searches.push(saved)
    }
}

fn read_projector(config: &mut Config, section: &mut ConfigSection<'_>) {
    let Some(projector) = DeclaredProjector::read(section) else {
        return;
    };
    if config.projectors.iter().any(|other| other.name == projector.name) {
        section.complain(format!("projector `{}` is declared twice; give one of them another `name`", projector.name))
    } else {
        config.projectors.push(projector)
    }
}

fn read_outbox(config: &mut Config, section: &mut ConfigSection<'_>) {
    let Some(outbox) = DeclaredOutbox::read(section) else {
        return;
    };
    if config.outboxes.iter().any(|other| other.name == outbox.name) {
        section.complain_at("name", format!("outbox `{}` is declared twice", outbox.name))
    } else {
        config.outboxes.push(outbox)
    }
}

fn read_feed(config: &mut Config, section: &mut ConfigSection<'_>) {
    let Some(feed) = DeclaredFeed::read(section) else {
        return;
    };
    if config.feeds.iter().any(|other| other.options.name == feed.options.name) {
        section.complain_at("name", format!("changefeed `{}` is declared twice", feed.options.name))
    } else {
        config.feeds.push(feed)
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

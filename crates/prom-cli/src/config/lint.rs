//! `[lint]`: what `prom lint` reports in this project. A hub reads it only to say what is wrong with it.

use std::collections::BTreeMap;

use prom_lint::{CallAction, ClientModule, RuleId, Severity, Wrapper};
use toml::de::DeValue;

use super::problem::suggestion;
use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"[lint]
# Severity of rules: "error", "warn" or "off". `prom lint --explain` lists the rules. Default: each rule's own.
#rules = { topic-unresolved = "warn", schema-unused = "off" }
# Exceptions per rule: topics and topic patterns, or names for rules about headers and groups. Default: none.
#allow = { topic-unregistered = ["test.**"] }
# Functions of the project that publish or subscribe, with the positions of their arguments, from 0. `module` is the
# package or file that they come from, `action` is "publish" (the default) or "subscribe". Default: none.
#wrappers = [{ name = "emit", module = "src/bus.ts", topic = 0, payload = 1 }]
# Packages, or files of the project, whose classes are clients of a hub, in addition to Promethean's. Default: none.
#clients = [{ module = "@acme/bus", names = ["Bus"] }]
# Files to skip, as in .gitignore. Default: none.
#exclude = ["**/generated/**"]
"#;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LintConfig {
    pub rules: BTreeMap<RuleId, Severity>,
    pub allow: BTreeMap<RuleId, Vec<String>>,
    pub wrappers: Vec<Wrapper>,
    pub clients: Vec<ClientModule>,
    pub exclude: Vec<String>,
}

impl LintConfig {
    pub fn read(&mut self, section: &mut ConfigSection<'_>) {
        section.set("rules", &mut self.rules, |table| by_rule(table, |word| value::one_of(&Severity::WORDS)(word)));
        section.set("allow", &mut self.allow, |table| by_rule(table, value::texts));
        section.set("wrappers", &mut self.wrappers, |list| tables(list, wrapper));
        section.set("clients", &mut self.clients, |list| tables(list, client));
        section.set("exclude", &mut self.exclude, value::texts);
    }
}

/// `{ rule = value, … }`.
fn by_rule<T>(
    table: &DeValue<'_>,
    parse: impl Fn(&DeValue<'_>) -> Result<T, String>,
) -> Result<BTreeMap<RuleId, T>, String> {
    let table = table.as_table().ok_or("expected a table such as { topic-name = … }")?;
    let mut read = BTreeMap::new();
    for (key, value) in table.iter() {
        let name = key.get_ref().as_ref();
        let rule = RuleId::named(name).ok_or_else(|| {
            let known: Vec<&str> = RuleId::ALL.iter().map(|rule| rule.id()).collect();
            format!("there is no rule `{name}`; {}", suggestion(name, &known))
        })?;
        read.insert(rule, parse(value.get_ref()).map_err(|reason| format!("`{name}`: {reason}"))?);
    }
    Ok(read)
}

/// A list of tables, each read as a whole.
fn tables<'a, T>(
    list: &DeValue<'a>,
    read: impl Fn(&mut Fields<'_, 'a>) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let list = list.as_array().ok_or("expected a list of tables such as [{ name = \"emit\" }]")?;
    let one = |item: &toml::Spanned<DeValue<'a>>| {
        let table = item.get_ref().as_table().ok_or("expected a table such as { name = \"emit\" }")?;
        let mut fields = Fields { table, known: Vec::new() };
        let value = read(&mut fields)?;
        let unknown = table.keys().map(|key| key.get_ref().as_ref()).find(|key| !fields.known.contains(key));
        match unknown {
            Some(key) => Err(format!("unknown key `{key}`; {}", suggestion(key, &fields.known))),
            None => Ok(value),
        }
    };
    list.iter().map(one).collect()
}

/// A table inside of a list while it is read.
struct Fields<'t, 'a> {
    table: &'t toml::de::DeTable<'a>,
    known: Vec<&'static str>,
}

impl<'a> Fields<'_, 'a> {
    fn get<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&DeValue<'a>) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        self.known.push(key);
        let value = self.table.get(key).map(|value| parse(value.get_ref()));
        value.transpose().map_err(|reason| format!("`{key}`: {reason}"))
    }
}

fn wrapper(fields: &mut Fields<'_, '_>) -> Result<Wrapper, String> {
    let position = || value::number(0..=63u8);
    let name = fields.get("name", value::text)?;
    let words = [("publish", CallAction::Publish), ("subscribe", CallAction::Subscribe)];
    Ok(Wrapper {
        name: name.ok_or("a wrapper needs its `name`, such as \"emit\" or \"events.emit\"")?,
        module: fields.get("module", value::text)?,
        action: fields.get("action", value::one_of(&words))?.unwrap_or(CallAction::Publish),
        topic: fields.get("topic", position())?.map_or(0, usize::from),
        payload: fields.get("payload", position())?.map(usize::from),
        headers: fields.get("headers", position())?.map(usize::from),
        group: fields.get("group", position())?.map(usize::from),
    })
}

fn client(fields: &mut Fields<'_, '_>) -> Result<ClientModule, String> {
    let module = fields.get("module", value::text)?;
    let names = fields.get("names", value::texts)?;
    Ok(ClientModule {
        module: module.ok_or("a client needs its `module`, such as \"@acme/bus\" or \"src/bus.ts\"")?,
        names: names.ok_or("a client needs the `names` of its classes, such as [\"Bus\"]")?,
    })
}

//! One table of the file while it is being read. A key that is asked for is known; what is left over at the end is an
//! error with the nearest known key.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::suggestion;
use super::source::Source;

pub const NOT_YET: &str = "not supported by this version";

pub struct ConfigSection<'a> {
    source: &'a Source<'a>,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    /// As it is written in the file: `[server]`.
    title: &'a str,
    known: Vec<&'static str>,
}

impl<'a> ConfigSection<'a> {
    /// Reads a table and complains of unknown keys.
    pub fn read(
        source: &'a Source<'a>,
        title: &'a str,
        span: Range<usize>,
        table: &'a DeTable<'a>,
        read: impl FnOnce(&mut ConfigSection<'a>),
    ) {
        let mut section = Self { source, table, span, title, known: Vec::new() };
        read(&mut section);
        for key in table.keys().filter(|key| !section.known.contains(&key.get_ref().as_ref())) {
            let what = format!("unknown key `{}` in {title}", key.get_ref());
            source.complain(key.span(), what, Some(suggestion(key.get_ref(), &section.known)));
        }
    }

    /// Puts the key's value where it belongs; leaves that alone where the key is absent or wrong.
    pub fn set<T>(&mut self, key: &'static str, target: &mut T, parse: impl FnOnce(&DeValue<'a>) -> Result<T, String>) {
        if let Some(value) = self.find(key) {
            match parse(value.get_ref()) {
                Ok(parsed) => *target = parsed,
                Err(reason) => self.source.complain(value.span(), format!("`{key}`: {reason}"), None),
            }
        }
    }

    /// The same for what has no default.
    pub fn set_some<T>(
        &mut self,
        key: &'static str,
        target: &mut Option<T>,
        parse: impl FnOnce(&DeValue<'a>) -> Result<T, String>,
    ) {
        self.set(key, target, |value| parse(value).map(Some));
    }

    /// A table below this one; `title` names it in errors.
    pub fn table(&mut self, key: &'static str, title: &'static str, read: impl FnOnce(&mut ConfigSection<'a>)) {
        let Some(value) = self.find(key) else {
            return;
        };
        match value.get_ref() {
            DeValue::Table(table) => ConfigSection::read(self.source, title, value.span(), table, read),
            other => {
                let what = format!("`{key}`: expected a table such as {{ … }}, found {}", other.type_str());
                self.source.complain(value.span(), what, None);
            }
        }
    }

    /// Whether the key is written as a table, where it may be something else too.
    pub fn is_table(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|value| value.get_ref().is_table())
    }

    /// A key that a later version brings.
    pub fn not_yet(&mut self, key: &'static str) {
        if let Some((key, _)) = self.table.get_key_value(key) {
            self.source.complain(key.span(), format!("`{}` in {}: {NOT_YET}", key.get_ref(), self.title), None);
        }
        self.known.push(key);
    }

    /// Something that is wrong with the table as a whole.
    pub fn complain(&self, what: impl Into<String>) {
        self.source.complain(self.span.clone(), what, None);
    }

    /// Something that is wrong with the value of one key.
    pub fn complain_at(&self, key: &str, what: impl Into<String>) {
        let span = self.table.get(key).map_or_else(|| self.span.clone(), Spanned::span);
        self.source.complain(span, what, None);
    }

    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    fn find(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.table.get(key)
    }
}

//! `[mongo]`: the database behind `kind = "mongo"`.

use toml::de::DeValue;

use super::section::Section;
use super::value;

pub const TEXT: &str = r#"[mongo]
# The replica set for `kind = "mongo"`; where it names no database, that is `prom`. MONGO_URL replaces it. Unset by
# default.
#url = "mongodb://127.0.0.1:27017/prom?replicaSet=rs0"
# Comes before the names of all collections, so that several hubs' worlds fit into one database.
#prefix = ""
"#;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mongo {
    pub url: Option<String>,
    pub prefix: String,
}

impl Mongo {
    pub fn read(&mut self, section: &mut Section<'_>) {
        section.set_some("url", &mut self.url, url);
        section.set("prefix", &mut self.prefix, value::any_text);
    }
}

fn url(value: &DeValue<'_>) -> Result<String, String> {
    value::text(value).and_then(|text| parse_url(&text))
}

/// Never repeats what it was given: there may be a password in it.
pub fn parse_url(text: &str) -> Result<String, String> {
    match text.starts_with("mongodb://") || text.starts_with("mongodb+srv://") {
        true => Ok(text.to_owned()),
        false => Err("a MongoDB address begins with mongodb:// or mongodb+srv://".to_owned()),
    }
}

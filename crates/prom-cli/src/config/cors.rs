//! `[cors]`: which web pages may use the HTTP API.

use toml::de::DeValue;

use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"[cors]
# Origins of web pages that may use the HTTP API, such as "https://app.example.com"; ["*"] allows all.
#origins = []
"#;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CorsConfig {
    pub origins: Vec<String>,
}

impl CorsConfig {
    pub fn read(&mut self, section: &mut ConfigSection<'_>) {
        section.set("origins", &mut self.origins, origins);
    }
}

fn origins(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let origins = value::texts(value)?;
    if origins.len() > 1 && origins.iter().any(|origin| origin == "*") {
        return Err("\"*\" is all origins; list it alone, or not at all".to_owned());
    }
    for origin in origins.iter().filter(|origin| *origin != "*") {
        let exact = reqwest::Url::parse(origin).is_ok_and(|url| url.origin().ascii_serialization() == *origin);
        if !exact {
            return Err(format!(
                "`{origin}` is not an origin; write scheme, host and port only, such as \"https://app.example.com\""
            ));
        }
    }
    Ok(origins)
}

//! `[log]`: what the hub says while it runs, on standard error.

use toml::de::DeValue;
use tracing_subscriber::EnvFilter;

use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"[log]
# "error", "warn", "info", "debug" or "trace"; by part: "info,prom_gateway=debug". PROM_LOG and --log replace it.
#level = "info"
# "text" or "json".
#format = "text"
"#;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    pub level: String,
    pub format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: LogFormat::default() }
    }
}

impl LogConfig {
    pub fn read(&mut self, section: &mut ConfigSection<'_>) {
        section.set("level", &mut self.level, level);
        section.set("format", &mut self.format, value::one_of(&[("text", LogFormat::Text), ("json", LogFormat::Json)]));
    }
}

fn level(value: &DeValue<'_>) -> Result<String, String> {
    value::text(value).and_then(|text| parse_level(&text))
}

pub fn parse_level(text: &str) -> Result<String, String> {
    // A lone word would be taken as the name of a part, so that `inof` silences everything.
    let words = text.split(',').map(|directive| directive.rsplit('=').next().unwrap_or_default());
    let known = ["off", "error", "warn", "info", "debug", "trace"];
    for word in words {
        if !known.iter().any(|level| level.eq_ignore_ascii_case(word.trim())) {
            return Err(format!("`{}` is not one of {}", word.trim(), known.join(", ")));
        }
    }
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("`{text}` is not a log level: {error}")),
    }
}

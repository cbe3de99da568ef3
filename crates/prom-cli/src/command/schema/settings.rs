//! How schemas are judged: the flags that say it, and the words for people.

use clap::Args;
use prom_protocol::http::schema::{SchemaSettingsChange, SchemaSettingsView};
use prom_schema::{Admit, Compat, CompatPolicy, Formats, Undecided, UnknownWord};

/// Flags of `prom schema set`.
#[derive(Debug, Args)]
pub struct SettingsFlags {
    /// What a new version must be to those before it: none, backward, forward, full, the last three with _transitive, or
    /// upcast
    #[arg(long, value_name = "WORD", value_parser = parse::<Compat>)]
    compat: Option<Compat>,
    /// Which documents count: lenient takes properties that were never declared as absent, strict counts them all
    #[arg(long, value_name = "WORD", value_parser = parse::<CompatPolicy>)]
    policy: Option<CompatPolicy>,
    /// Whether `format` is a note (annotate) or a rule (assert)
    #[arg(long, value_name = "WORD", value_parser = parse::<Formats>)]
    formats: Option<Formats>,
    /// Whether a pair that cannot be decided is refused (refuse) or passes (allow)
    #[arg(long, value_name = "WORD", value_parser = parse::<Undecided>)]
    undecided: Option<Undecided>,
    /// Which versions a publisher that names none may write: the newest that accepts the payload, or only the latest
    #[arg(long, value_name = "WORD", value_parser = parse::<Admit>)]
    admit: Option<Admit>,
    /// The version of stored events that name none
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    unversioned_as: Option<u32>,
}

impl SettingsFlags {
    pub fn change(&self) -> SchemaSettingsChange {
        SchemaSettingsChange {
            compat: self.compat.map(|word| word.to_string()),
            policy: self.policy.map(|word| word.to_string()),
            formats: self.formats.map(|word| word.to_string()),
            undecided: self.undecided.map(|word| word.to_string()),
            admit: self.admit.map(|word| word.to_string()),
            unversioned_as: self.unversioned_as,
        }
    }
}

/// For clap.
pub fn parse<T: std::str::FromStr<Err = UnknownWord>>(word: &str) -> Result<T, String> {
    word.parse().map_err(|error: UnknownWord| error.to_string())
}

pub fn in_words(settings: &SchemaSettingsView) -> String {
    let SchemaSettingsView { compat, policy, formats, undecided, admit, unversioned_as } = settings;
    format!(
        "compat {compat}, policy {policy}, formats {formats}, undecided {undecided}, admit {admit}, unversioned events are \
         version {unversioned_as}"
    )
}

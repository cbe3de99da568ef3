//! How a topic's schemas are judged: settings of the registry, of a topic, and of one registration.
//!
//! ```text
//!   hub ([schemas]) ──▶ topic (its overrides) ──▶ one registration (`compat`)
//! ```

use serde::{Deserialize, Serialize};

/// What a new version must be to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compat {
    /// Anything goes.
    None,
    /// What is valid under the version before is valid under the new one.
    #[default]
    Backward,
    /// What is valid under the new version is valid under the one before.
    Forward,
    /// Both.
    Full,
    /// As `Backward`, against every earlier version.
    BackwardTransitive,
    /// As `Forward`, against every earlier version.
    ForwardTransitive,
    /// As `Full`, against every earlier version.
    FullTransitive,
    /// Anything that upcasters lead to, step by step, from every earlier version.
    Upcast,
}

/// What counts as a document of an open model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompatPolicy {
    /// Properties that an open model never declared are taken as absent.
    #[default]
    Lenient,
    /// Every document counts.
    Strict,
}

/// What `format` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Formats {
    /// A note for people.
    #[default]
    Annotate,
    /// A rule for documents.
    Assert,
}

/// What becomes of a pair that cannot be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undecided {
    /// It counts as incompatible, and says so.
    #[default]
    Refuse,
    /// It passes.
    Allow,
}

/// Which versions a publisher that names none may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Admit {
    /// The newest that accepts the payload: writers of an older version go on.
    #[default]
    Newest,
    /// The latest and no other.
    Latest,
}

/// Everything that decides how a topic's schemas are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaSettings {
    /// What a new version must be to those before it.
    pub compat: Compat,
    /// What counts as a document.
    pub policy: CompatPolicy,
    /// What `format` means.
    pub formats: Formats,
    /// What becomes of a pair that cannot be decided.
    pub undecided: Undecided,
    /// Which versions a publisher that names none may write.
    pub admit: Admit,
    /// The version of stored events that name none.
    pub unversioned_as: u32,
}

/// Settings that somebody gave; the rest is inherited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsChange {
    /// See [`SchemaSettings::compat`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<Compat>,
    /// See [`SchemaSettings::policy`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<CompatPolicy>,
    /// See [`SchemaSettings::formats`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formats: Option<Formats>,
    /// See [`SchemaSettings::undecided`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// See [`SchemaSettings::admit`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admit: Option<Admit>,
    /// See [`SchemaSettings::unversioned_as`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unversioned_as: Option<u32>,
}

impl Default for SchemaSettings {
    fn default() -> Self {
        Self {
            compat: Compat::default(),
            policy: CompatPolicy::default(),
            formats: Formats::default(),
            undecided: Undecided::default(),
            admit: Admit::default(),
            unversioned_as: 1,
        }
    }
}

impl SchemaSettings {
    /// These settings, where `change` says nothing else.
    pub fn with(self, change: &SettingsChange) -> Self {
        Self {
            compat: change.compat.unwrap_or(self.compat),
            policy: change.policy.unwrap_or(self.policy),
            formats: change.formats.unwrap_or(self.formats),
            undecided: change.undecided.unwrap_or(self.undecided),
            admit: change.admit.unwrap_or(self.admit),
            unversioned_as: change.unversioned_as.unwrap_or(self.unversioned_as),
        }
    }
}

impl SettingsChange {
    /// This change with `later` on top of it.
    pub fn and(self, later: &Self) -> Self {
        Self {
            compat: later.compat.or(self.compat),
            policy: later.policy.or(self.policy),
            formats: later.formats.or(self.formats),
            undecided: later.undecided.or(self.undecided),
            admit: later.admit.or(self.admit),
            unversioned_as: later.unversioned_as.or(self.unversioned_as),
        }
    }
}

/// Each as its word in settings.
macro_rules! words {
    ($($name:ident { $($variant:ident = $word:literal),+ $(,)? })+) => {$(
        impl $name {
            /// Every choice.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word in settings.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                Self::ALL.iter().copied().find(|choice| choice.as_str() == word).ok_or_else(|| UnknownWord {
                    word: word.chars().take(64).collect(),
                    known: Self::ALL.iter().map(|choice| choice.as_str()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    )+};
}

words! {
    Compat {
        None = "none",
        Backward = "backward",
        Forward = "forward",
        Full = "full",
        BackwardTransitive = "backward_transitive",
        ForwardTransitive = "forward_transitive",
        FullTransitive = "full_transitive",
        Upcast = "upcast",
    }
    CompatPolicy { Lenient = "lenient", Strict = "strict" }
    Formats { Annotate = "annotate", Assert = "assert" }
    Undecided { Refuse = "refuse", Allow = "allow" }
    Admit { Newest = "newest", Latest = "latest" }
}

/// A word that is no choice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is none of {known}")]
pub struct UnknownWord {
    word: String,
    known: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_in_settings_is_the_word_in_json() {
        for compat in Compat::ALL {
            assert_eq!(serde_json::to_value(compat).unwrap(), compat.as_str());
            assert_eq!(compat.as_str().parse(), Ok(*compat));
        }
        let told = "sideways".parse::<Compat>().unwrap_err().to_string();
        assert!(told.contains("sideways") && told.contains("full_transitive"), "{told}");
    }

    #[test]
    fn what_a_topic_does_not_set_is_inherited() {
        let hub = SchemaSettings { policy: CompatPolicy::Strict, ..SchemaSettings::default() };
        let topic = SettingsChange { compat: Some(Compat::Full), ..SettingsChange::default() };
        let resolved = hub.with(&topic);
        assert_eq!((resolved.compat, resolved.policy), (Compat::Full, CompatPolicy::Strict));
        let later = SettingsChange { compat: Some(Compat::None), ..SettingsChange::default() };
        assert_eq!(topic.and(&later).compat, Some(Compat::None));
        assert_eq!(later.and(&SettingsChange::default()), later);
    }
}

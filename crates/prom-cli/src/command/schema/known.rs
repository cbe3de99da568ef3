//! What the hub has of a topic's schemas, for commands that decide or explain by it.

use prom_protocol::http::schema::TopicSchemaView;
use prom_schema::Compat;
use prom_types::TopicName;

use crate::exit::Failure;
use crate::hub::HubClient;
use crate::schema_folder::with_upcaster;

/// What to look at where a topic has no schema.
pub const LIST: &str = "`prom schema ls` lists the topics that have schemas";

/// `None` where the topic has no schema.
pub async fn of_topic(hub: &HubClient, topic: &TopicName) -> Result<Option<TopicSchemaView>, Failure> {
    match hub.get(&["topics", topic, "schema"], &()).await {
        Ok(answer) => answer.parse().map(|view: TopicSchemaView| Some(view).filter(|view| !view.versions.is_empty())),
        Err(Failure::No(_)) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// What to look at where a version is missing.
pub fn list_of(topic: &TopicName) -> String {
    format!("`prom schema show {topic}` lists its versions, and `prom schema ls` the topics that have schemas")
}

/// What a candidate is held to: `asked`, or by its upcaster as in a folder.
#[derive(Debug, Clone, Copy)]
pub struct HeldTo {
    asked: Option<Compat>,
    has_upcaster: bool,
}

impl HeldTo {
    pub fn new(asked: Option<Compat>, upcaster: Option<&std::path::PathBuf>) -> Self {
        Self { asked, has_upcaster: upcaster.is_some() }
    }

    /// The word for the hub; `None` leaves it to the topic's setting.
    pub async fn word(self, hub: &HubClient, topic: &TopicName) -> Result<Option<String>, Failure> {
        if self.asked.is_some() || !self.has_upcaster {
            return Ok(self.asked.map(|word| word.to_string()));
        }
        match of_topic(hub, topic).await {
            Ok(known) => {
                let held_to = known.and_then(|known| known.settings.compat.parse::<Compat>().ok());
                Ok(held_to.and_then(with_upcaster).map(|word| word.to_string()))
            }
            // A token that may not read the settings may still register.
            Err(Failure::Refused(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Adds which flag would help.
    pub fn advise(self, refusal: Failure, topic: &TopicName) -> Failure {
        match &refusal {
            Failure::No(_) if self.asked.is_none() && self.has_upcaster => {
                refusal.fix("to check it against its upcaster only, add --compat upcast")
            }
            Failure::Usage(message) if message.what.contains("there is no upcaster from version") => {
                let set = format!("one between earlier versions is set by `prom schema upcast {topic} FROM FILE`");
                refusal.fix(match self.has_upcaster {
                    true => set,
                    false => format!("give the jq program from the previous version with --upcast FILE; {set}"),
                })
            }
            _ => refusal,
        }
    }
}

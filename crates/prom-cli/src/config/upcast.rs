//! `[[upcast]]`: steps between versions of a topic's schema, where no folder has them.

use prom_schema::Upcaster;
use prom_types::TopicName;

use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"# A step that turns payloads of one version into the next; repeat for each. Unset: those of the folder and the store.
#[[upcast]]
#topic = "heartbeat.received"
# The version that the step starts from.
#from = 1
# A jq program over the payload.
#jq = ".mem_mib = .mem_mb | del(.mem_mb)"
"#;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredUpcaster {
    pub topic: TopicName,
    pub from: u32,
    pub jq: String,
}

impl DeclaredUpcaster {
    /// `None` where something is missing or wrong; the section knows what.
    pub fn read(section: &mut ConfigSection<'_>) -> Option<Self> {
        let (mut topic, mut from, mut jq) = (None, None, None);
        section.set_some("topic", &mut topic, |value| {
            TopicName::parse(&value::text(value)?).map_err(|error| error.to_string())
        });
        section.set_some("from", &mut from, value::number(1..=u32::MAX - 1));
        section.set_some("jq", &mut jq, |value| {
            let program = value::text(value)?;
            match Upcaster::jq(&program) {
                Ok(_) => Ok(program),
                Err(error) => Err(format!("not a valid jq program: {error}")),
            }
        });
        for key in ["topic", "from", "jq"] {
            if !section.has(key) {
                section.complain(format!("an [[upcast]] needs `{key}`"));
            }
        }
        Some(Self { topic: topic?, from: from?, jq: jq? })
    }
}

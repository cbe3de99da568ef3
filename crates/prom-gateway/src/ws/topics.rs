//! PublishTopics a connection publishes to: checked once, looked up afterwards.

use hashbrown::HashMap;
use prom_auth::{Action, Policy};
use prom_protocol::ErrorCode;
use prom_protocol::frame::err::Problem;
use prom_types::TopicName;

/// Beyond this many it starts over: a connection with more pays for the check each time.
const KEPT: usize = 1024;

#[derive(Default)]
pub struct PublishTopics {
    known: HashMap<Box<str>, CheckedTopic>,
}

struct CheckedTopic {
    name: TopicName,
    may_publish: bool,
}

impl PublishTopics {
    /// The topic, if it is one and the policy lets this connection publish there.
    pub fn for_publish(&mut self, topic: &str, policy: &Policy) -> Result<TopicName, Problem> {
        if !self.known.contains_key(topic) {
            let name =
                TopicName::parse(topic).map_err(|error| Problem::new(ErrorCode::BadRequest, error.to_string()))?;
            if self.known.len() >= KEPT {
                self.known.clear();
            }
            let may_publish = policy.allows(Action::Publish, &name);
            self.known.insert(topic.into(), CheckedTopic { name, may_publish });
        }
        match self.known.get(topic) {
            Some(CheckedTopic { name, may_publish: true }) => Ok(name.clone()),
            _ => Err(Problem::new(ErrorCode::Forbidden, format!("this token lacks the right `publish` on {topic}"))),
        }
    }

    /// The rights changed.
    pub fn forget(&mut self) {
        self.known.clear();
    }
}

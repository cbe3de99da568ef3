//! Names of a run. No other run has them, so that everything under them may be removed.

use prom_types::{IdMaker, TopicName};

use crate::exit::Failure;
use crate::moment;

/// `bench.<random>`
pub struct Names {
    prefix: String,
}

/// The topics of one leg, and how to subscribe to all of them.
#[derive(Debug, Clone)]
pub struct LegTopics {
    pub names: Vec<TopicName>,
    pub pattern: String,
    pub group: String,
}

impl Names {
    pub fn new() -> Self {
        let id = IdMaker::new().make(moment::now_ms()).to_string();
        Self { prefix: format!("bench.{}", &id[id.len() - 8..]) }
    }

    /// What all topics of the run match.
    pub fn all(&self) -> String {
        format!("{}.**", self.prefix)
    }

    pub fn topics(&self, leg: &str, count: usize) -> Result<LegTopics, Failure> {
        let name = |number: usize| TopicName::parse(&format!("{}.{leg}.{number}", self.prefix));
        let names: Result<Vec<TopicName>, _> = (0..count).map(name).collect();
        let names = names.map_err(|error| Failure::no(error.to_string()))?;
        let pattern = match names.as_slice() {
            [only] => only.to_string(),
            _ => format!("{}.{leg}.*", self.prefix),
        };
        Ok(LegTopics { names, pattern, group: format!("{}.{leg}", self.prefix) })
    }
}

#[cfg(test)]
mod tests {
    use prom_types::{GroupName, TopicPattern};

    use super::*;

    #[test]
    fn no_two_runs_share_a_name_and_the_pattern_covers_all_of_them() {
        let (one, other) = (Names::new(), Names::new());
        assert_ne!(one.all(), other.all());
        let topics = one.topics("run", 3).unwrap();
        let pattern = TopicPattern::parse(&topics.pattern).unwrap();
        assert!(topics.names.len() == 3 && topics.names.iter().all(|name| pattern.matches(name)));
        GroupName::parse(&topics.group).unwrap();
        assert_eq!(one.topics("run", 1).unwrap().pattern, one.topics("run", 1).unwrap().names[0].to_string());
    }
}

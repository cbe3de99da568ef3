//! From a collection to its topic.

use std::fmt;

use prom_types::{Invalid, TopicName};

const COLLECTION: &str = "{collection}";

/// The topic of each collection: one for all, or a name with `{collection}` in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedRoute(RouteForm);

#[derive(Debug, Clone, PartialEq, Eq)]
enum RouteForm {
    One(TopicName),
    /// What stands before and behind the collection's name.
    Each(String, String),
}

impl FeedRoute {
    /// Reads a topic, or a pattern such as `shop.{collection}`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let form = match text.split_once(COLLECTION) {
            None => RouteForm::One(TopicName::parse(text)?),
            Some((before, behind)) => RouteForm::Each(before.to_owned(), behind.to_owned()),
        };
        let route = Self(form);
        let example = route.topic("example")?;
        if example.is_reserved() {
            return Err(Invalid::ReservedTopic { name: example.to_string() });
        }
        Ok(route)
    }

    /// Whether every collection has a topic of its own.
    pub fn is_pattern(&self) -> bool {
        matches!(self.0, RouteForm::Each(..))
    }

    /// The topic of a collection. What a topic's name cannot have becomes a dot: `orderItems_eu` is `orderitems.eu`.
    pub fn topic(&self, collection: &str) -> Result<TopicName, Invalid> {
        match &self.0 {
            RouteForm::One(topic) => Ok(topic.clone()),
            RouteForm::Each(before, behind) => TopicName::parse(&format!("{before}{}{behind}", segments(collection))),
        }
    }
}

fn segments(collection: &str) -> String {
    let lower = collection.to_ascii_lowercase();
    let parts = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(".")
}

impl fmt::Display for FeedRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            RouteForm::One(topic) => topic.fmt(f),
            RouteForm::Each(before, behind) => write!(f, "{before}{COLLECTION}{behind}"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_makes_a_topic_for_each_collection() {
        let route = FeedRoute::parse("shop.{collection}").unwrap();
        for (collection, topic) in [("orders", "shop.orders"), ("orderItems_eu", "shop.orderitems.eu")] {
            assert_eq!(route.topic(collection).unwrap().as_str(), topic);
        }
        assert!(route.topic("日本").is_err());
    }

    #[test]
    fn topics_of_the_hub_are_refused() {
        for text in ["dlq.orders", "system.{collection}", "Shop.{collection}", ""] {
            assert!(FeedRoute::parse(text).is_err(), "{text}");
        }
    }
}

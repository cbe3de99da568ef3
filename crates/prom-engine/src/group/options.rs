//! The options that belong to a group as a whole: set by its first subscriber, then changed only by
//! administration.

use std::time::Duration;

use prom_types::{Backoff, GroupName, Mode, Order, Position};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::dispatch::Parking;
use crate::limits::VIRTUAL_PARTITIONS;
use crate::topic::millis;

/// What a group agreed on. Stored with the group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupOptions {
    /// Where the group began; used once, when it was made.
    pub from: Position,
    /// Whether partitions have owners.
    #[serde(default)]
    pub mode: Mode,
    /// Into how many the group divides topics that have one partition; only where each has one owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<u32>,
    /// What an unsettled event holds back.
    #[serde(default)]
    pub order: Order,
    /// Whether a key stops when its event goes to the dead letters, and its later events follow it there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub park: bool,
    /// A jq program over the whole event; only events for which it gives a true value are delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Failed attempts before an event goes to the dead letters; the topic's setting, else 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// How long failed events wait.
    #[serde(default)]
    pub backoff: Backoff,
    /// The group is deleted after this time without a subscriber.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_after_ms: Option<u64>,
}

/// What one subscriber said about the group; silence agrees with everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RequestedOptions {
    pub from: Option<Position>,
    pub mode: Option<Mode>,
    pub partitions: Option<u32>,
    pub order: Option<Order>,
    pub park: Option<bool>,
    pub filter: Option<String>,
    pub max_attempts: Option<u32>,
    pub backoff: Option<Backoff>,
    pub expire_after: Option<Duration>,
}

impl RequestedOptions {
    /// Values that could never be right.
    pub fn check(&self) -> Result<(), Error> {
        if self.max_attempts == Some(0) {
            return Err(Error::BadOption {
                option: "max_attempts",
                asked: "0".to_owned(),
                reason: "the first delivery is an attempt",
            });
        }
        if let Some(partitions) = self.partitions {
            let refuse = |reason| Err(Error::BadOption { option: "partitions", asked: partitions.to_string(), reason });
            if self.mode == Some(Mode::Shared) {
                return refuse("a group divides a topic only with the mode `partitioned`");
            }
            if !(1..=VIRTUAL_PARTITIONS).contains(&partitions) {
                return refuse("it is between 1 and 1024");
            }
        }
        match self.backoff {
            Some(backoff) if backoff.first_ms > backoff.max_ms || backoff.first_ms == 0 => Err(Error::BadOption {
                option: "backoff",
                asked: backoff.to_string(),
                reason: "the first wait must be above zero and not above the longest",
            }),
            _ => Ok(()),
        }
    }

    /// The options of a group that this subscriber is the first of.
    pub fn into_options(self) -> Result<GroupOptions, Error> {
        // A subscriber that divides topics wants an owner for each part.
        let implied = self.partitions.map_or(Mode::Shared, |_| Mode::Partitioned);
        let (mode, park) = (self.mode.unwrap_or(implied), self.park.unwrap_or_default());
        // Parking holds a key to one event at a time.
        let order = if park && mode == Mode::Partitioned { Order::Key } else { Order::default() };
        let order = self.order.unwrap_or(order);
        if park && order != Order::Key {
            let reason = "it keeps the order of a key that fails; ask for `order: key`, or for the mode `partitioned`";
            return Err(Error::BadOption { option: "park", asked: "true".to_owned(), reason });
        }
        Ok(GroupOptions {
            from: self.from.unwrap_or_default(),
            mode,
            partitions: self.partitions,
            order,
            park,
            filter: self.filter,
            max_attempts: self.max_attempts,
            backoff: self.backoff.unwrap_or_default(),
            expire_after_ms: self.expire_after.map(millis),
        })
    }

    /// Refuses a subscriber that asks for events, or for a division of them, other than the group has. Where only the time
    /// and number of attempts differ, the group's count, and [`RequestedOptions::differences`] tells.
    pub fn agrees_with(&self, group: &GroupName, options: &GroupOptions) -> Result<(), Error> {
        let wanted = GroupOptions {
            mode: self.mode.unwrap_or(options.mode),
            partitions: self.partitions.or(options.partitions),
            order: self.order.unwrap_or(options.order),
            filter: self.filter.clone().or_else(|| options.filter.clone()),
            ..options.clone()
        };
        options.same_as(group, &wanted)
    }

    /// What it asked for and does not get, because the group has it otherwise.
    pub fn differences(&self, options: &GroupOptions) -> Vec<OptionDifference> {
        let wanted = GroupOptions {
            from: self.from.unwrap_or(options.from),
            park: self.park.unwrap_or(options.park),
            max_attempts: self.max_attempts.or(options.max_attempts),
            backoff: self.backoff.unwrap_or(options.backoff),
            expire_after_ms: self.expire_after.map(millis).or(options.expire_after_ms),
            ..options.clone()
        };
        options.differences(&wanted).collect()
    }
}

/// An option that a subscriber asked for, and that the group has otherwise. The group's counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionDifference {
    /// Its name, as in a frame.
    pub option: &'static str,
    /// What the group has.
    pub in_use: String,
    /// What was asked for.
    pub asked: String,
}

impl std::fmt::Display for OptionDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { option, in_use, asked } = self;
        write!(f, "the group has {option} = {in_use}, this subscriber asks for {asked}: the group's counts")
    }
}

impl GroupOptions {
    pub(crate) fn parking(&self) -> Parking {
        if self.park { Parking::On } else { Parking::Off }
    }

    /// How a topic with this many partitions is divided among the subscribers; `None` where all of them get
    /// everything.
    pub(crate) fn layout(&self, topic_partitions: usize) -> Option<Layout> {
        match (self.mode, self.partitions) {
            (Mode::Shared, _) => None,
            (Mode::Partitioned, Some(own)) if topic_partitions == 1 => Some(Layout::Virtual(own)),
            (Mode::Partitioned, _) => Some(Layout::Physical(u32::try_from(topic_partitions).unwrap_or(u32::MAX))),
        }
    }

    /// Refuses `other` with the first option in which it differs.
    pub fn same_as(&self, group: &GroupName, other: &Self) -> Result<(), Error> {
        match self.differences(other).next() {
            Some(OptionDifference { option, in_use, asked }) => {
                Err(Error::OptionConflict { group: group.clone(), option, in_use, asked })
            }
            None => Ok(()),
        }
    }

    fn differences(&self, other: &Self) -> impl Iterator<Item = OptionDifference> + use<> {
        let compared = [
            ("from", self.from.to_string(), other.from.to_string()),
            ("mode", self.mode.to_string(), other.mode.to_string()),
            ("partitions", text(&self.partitions), text(&other.partitions)),
            ("order", self.order.to_string(), other.order.to_string()),
            ("park", self.park.to_string(), other.park.to_string()),
            ("filter", text(&self.filter), text(&other.filter)),
            ("maxAttempts", text(&self.max_attempts), text(&other.max_attempts)),
            ("backoff", self.backoff.to_string(), other.backoff.to_string()),
            ("expireAfter", text(&self.expire_after_ms), text(&other.expire_after_ms)),
        ];
        let different = compared.into_iter().filter(|(_, in_use, asked)| in_use != asked);
        different.map(|(option, in_use, asked)| OptionDifference { option, in_use, asked })
    }
}

/// What a group's partitions of a topic are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The topic's own, each with a log and a cursor.
    Physical(u32),
    /// Parts of the topic's one log, by the hash of the key, settled in its one cursor.
    Virtual(u32),
}

impl Layout {
    pub fn partitions(self) -> u32 {
        match self {
            Self::Physical(partitions) | Self::Virtual(partitions) => partitions,
        }
    }

    /// Into how many lanes each dispatcher divides its log.
    pub fn lanes(self) -> u32 {
        match self {
            Self::Physical(_) => 1,
            Self::Virtual(partitions) => partitions,
        }
    }

    /// Where a partition is: the partition of the topic, and the lane of its dispatcher.
    pub fn place(self, partition: u32) -> (u32, u32) {
        match self {
            Self::Physical(_) => (partition, 0),
            Self::Virtual(_) => (0, partition),
        }
    }

    /// The partition in a place.
    pub fn partition_at(self, log_partition: u32, lane: u32) -> u32 {
        match self {
            Self::Physical(_) => log_partition,
            Self::Virtual(_) => lane,
        }
    }
}

fn text(value: &Option<impl ToString>) -> String {
    value.as_ref().map_or_else(|| "(default)".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_survive_their_document() {
        let options = GroupOptions {
            from: Position::Offset(7),
            mode: Mode::Partitioned,
            partitions: Some(8),
            order: Order::Key,
            park: true,
            filter: Some(".payload.a".to_owned()),
            max_attempts: Some(3),
            expire_after_ms: Some(60_000),
            ..GroupOptions::default()
        };
        let text = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<GroupOptions>(&text).unwrap(), options, "{text}");
    }

    #[test]
    fn a_conflict_names_the_option_and_both_values() {
        let group = GroupName::parse("billing").unwrap();
        let asked = RequestedOptions { filter: Some(".b".to_owned()), ..RequestedOptions::default() };
        let options = GroupOptions { filter: Some(".a".to_owned()), ..GroupOptions::default() };
        let told = asked.agrees_with(&group, &options).unwrap_err().to_string();
        assert!(told.contains("filter = .a") && told.contains("asks for .b"), "{told}");
        assert!(RequestedOptions::default().agrees_with(&group, &options).is_ok());
    }
}

//! The actions of a caller, and sets of them as rules write them: `"publish"`, `["publish", "ops"]`, `"*"`.

use std::fmt;
use std::ops::BitOr;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::PolicyError;
use crate::error::excerpt;

/// What a caller wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    Publish,
    Subscribe,
    /// Reading the hub's state: lag, stats, metrics.
    Ops,
    /// Changing it: topics, groups, cursors.
    Admin,
}

impl Action {
    pub const ALL: [Self; 4] = [Self::Publish, Self::Subscribe, Self::Ops, Self::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Subscribe => "subscribe",
            Self::Ops => "ops",
            Self::Admin => "admin",
        }
    }

    /// The action of this name.
    pub fn parse(name: &str) -> Result<Self, PolicyError> {
        let found = Self::ALL.into_iter().find(|action| action.as_str() == name);
        found.ok_or_else(|| PolicyError::UnknownAction { action: excerpt(name) })
    }

    fn bit(self) -> u8 {
        1 << (self as u8)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&name).map_err(D::Error::custom)
    }
}

/// One action or several; never none.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Actions(u8);

impl Actions {
    /// The actions that `*` covers.
    pub const ALL: Self = Self(0b1111);

    pub fn contains(self, action: Action) -> bool {
        self.0 & action.bit() != 0
    }

    /// An action's name, or `*`.
    pub fn parse(name: &str) -> Result<Self, PolicyError> {
        match name {
            "*" => Ok(Self::ALL),
            name => Action::parse(name).map(Self::from),
        }
    }

    fn names(self) -> impl Iterator<Item = Action> {
        Action::ALL.into_iter().filter(move |action| self.contains(*action))
    }
}

impl From<Action> for Actions {
    fn from(action: Action) -> Self {
        Self(action.bit())
    }
}

impl BitOr for Actions {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Actions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

impl Serialize for Actions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names: Vec<Action> = self.names().collect();
        match names.as_slice() {
            _ if *self == Self::ALL => serializer.serialize_str("*"),
            [only] => only.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Actions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Actions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an action or a list of actions")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Actions, E> {
                Actions::parse(name).map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Actions, A::Error> {
                let mut all: Option<Actions> = None;
                while let Some(name) = names.next_element::<String>()? {
                    let more = Actions::parse(&name).map_err(A::Error::custom)?;
                    all = Some(all.map_or(more, |before| before | more));
                }
                all.ok_or_else(|| A::Error::custom("a rule's list of actions is empty; name one, or * for all"))
            }
        }
        deserializer.deserialize_any(OneOrMany)
    }
}

//! The events of a batch, cut apart in the same pass that reads their frame.
//!
//! A list is looked at once, whatever its length: each item keeps where its own fields are. An item that is wrong
//! stays an error of its own; only text that is no JSON spoils the frame.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::field::Raw;
use crate::limits::BATCH_ITEMS;

/// `events` of a frame.
pub(super) enum PublishItems<'a> {
    List(Vec<ItemFields<'a>>),
    /// More than fit; how many.
    TooMany(usize),
    NotAList,
}

/// What an item holds, not looked into yet.
pub(super) enum ItemFields<'a> {
    Known(Item<'a>),
    /// A field is there twice.
    Twice(&'static str),
    NotAnObject,
}

/// One event: `{topic, payload, opts?}`.
#[derive(Default)]
pub(super) struct Item<'a> {
    pub topic: Raw<'a>,
    /// `null` is a payload too.
    pub payload: Raw<'a>,
    pub opts: Raw<'a>,
}

/// Answers the kinds of JSON that are not wanted here.
macro_rules! otherwise {
    ($other:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($other)
        }
    };
}

struct ItemsVisitor;

impl<'de: 'a, 'a> Deserialize<'de> for PublishItems<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemsVisitor)
    }
}

impl<'de> Visitor<'de> for ItemsVisitor {
    type Value = PublishItems<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PublishItems<'de>, A::Error> {
        let mut items = Vec::new();
        while items.len() < BATCH_ITEMS {
            match list.next_element()? {
                Some(item) => items.push(item),
                None => return Ok(PublishItems::List(items)),
            }
        }
        let mut count = items.len();
        while list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(if count > BATCH_ITEMS { PublishItems::TooMany(count) } else { PublishItems::List(items) })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PublishItems<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(PublishItems::NotAList)
    }

    otherwise!(PublishItems::NotAList);
}

struct ItemVisitor;

impl<'de: 'a, 'a> Deserialize<'de> for ItemFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

/// Which field a name is.
enum Name {
    Topic,
    Payload,
    Opts,
    Other,
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl Visitor<'_> for NameVisitor {
            type Value = Name;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a field's name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Name, E> {
                Ok(match name {
                    "topic" => Name::Topic,
                    "payload" => Name::Payload,
                    "opts" => Name::Opts,
                    _ => Name::Other,
                })
            }
        }
        deserializer.deserialize_identifier(NameVisitor)
    }
}

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = ItemFields<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ItemFields<'de>, A::Error> {
        let mut item = Item::default();
        let mut twice = None;
        while let Some(name) = map.next_key()? {
            let (place, name) = match name {
                Name::Topic => (&mut item.topic, "topic"),
                Name::Payload => (&mut item.payload, "payload"),
                Name::Opts => (&mut item.opts, "opts"),
                Name::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            let value: &'de RawValue = map.next_value()?;
            if place.replace(value).is_some() {
                twice = Some(name);
            }
        }
        Ok(twice.map_or(ItemFields::Known(item), ItemFields::Twice))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ItemFields<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(ItemFields::NotAnObject)
    }

    otherwise!(ItemFields::NotAnObject);
}

impl<'a> ItemFields<'a> {
    /// The item, or what is wrong with it.
    pub fn known(self) -> Result<Item<'a>, &'static str> {
        match self {
            // A field that may be left out may also be null.
            Self::Known(item) => Ok(Item { opts: item.opts.filter(|raw| raw.get() != "null"), ..item }),
            Self::Twice("topic") => Err("is wrong: duplicate field `topic`"),
            Self::Twice("payload") => Err("is wrong: duplicate field `payload`"),
            Self::Twice(_) => Err("is wrong: duplicate field `opts`"),
            Self::NotAnObject => Err("must be an object"),
        }
    }
}

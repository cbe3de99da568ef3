//! Reading what the hub sent.

use bytes::Bytes;
use prom_types::{Gap, Offset, Receipt};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::assignment::Assignment;
use super::auth::Welcome;
use super::err::Problem;
use super::event::Delivered;
use super::field::{self, Raw};
use super::ok::BatchAnswer;
use super::usual::ok_corr;
use super::{Corr, FrameError, SubscriptionName};

#[derive(Debug)]
pub enum HubFrame {
    Ok(Done),
    Err {
        corr: Option<Corr>,
        problem: Problem,
        /// The subscription that ended, where it answers no frame.
        subscription: Option<SubscriptionName>,
    },
    Events(Delivered),
    Gap(SubscriptionName, Gap),
    Assigned(SubscriptionName, Assignment),
    Revoked(SubscriptionName, Assignment),
    /// A frame of a newer hub; to be ignored.
    Other(String),
}

/// An OK; what it carries depends on what it answers.
#[derive(Debug)]
pub struct Done {
    pub corr: Option<Corr>,
    text: Bytes,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    op: &'a RawValue,
    #[serde(borrow, default)]
    corr: Raw<'a>,
    #[serde(borrow, default)]
    topic: Raw<'a>,
    #[serde(borrow, default)]
    group: Raw<'a>,
}

impl HubFrame {
    /// Which subscription it is about, where it is about one.
    pub fn subscription(&self) -> Option<&SubscriptionName> {
        match self {
            Self::Ok(_) | Self::Other(_) => None,
            Self::Err { subscription, .. } => subscription.as_ref(),
            Self::Events(delivered) => Some(&delivered.name),
            Self::Gap(name, _) | Self::Assigned(name, _) | Self::Revoked(name, _) => Some(name),
        }
    }

    /// Reads one frame. `text` is UTF-8.
    pub fn read(text: Bytes) -> Result<Self, FrameError> {
        // Deliveries are most of what comes, and their `op` is written first: they are read once.
        if text.starts_with(b"{\"op\":\"EVENT\"") || text.starts_with(b"{\"op\":\"EVENTS\"") {
            return Ok(Self::Events(Delivered::read(&text)?));
        }
        // Likewise answers: the rest is read by the caller, which knows what they answer.
        if let Some((corr, [b',' | b'}', ..])) = ok_corr(&text) {
            return Ok(Self::Ok(Done { corr: Some(Corr::number(corr)), text }));
        }
        let fields: Fields<'_> = serde_json::from_slice(&text)?;
        let corr = field::optional("corr", fields.corr, |_, raw| Corr::read(raw))?;
        let name = || -> Result<Option<SubscriptionName>, FrameError> {
            let Some(topic) = field::optional("topic", fields.topic, field::owned_text)? else {
                return Ok(None);
            };
            Ok(Some(SubscriptionName { topic, group: field::optional("group", fields.group, field::owned_text)? }))
        };
        let required_name = || name()?.ok_or_else(|| FrameError::field("topic", "is missing"));
        Ok(match &*field::text("op", fields.op)? {
            "OK" => Self::Ok(Done { corr, text }),
            "ERR" => Self::Err { corr, problem: serde_json::from_slice(&text)?, subscription: name()? },
            "EVENT" | "EVENTS" => Self::Events(Delivered::read(&text)?),
            "GAP" => Self::Gap(required_name()?, serde_json::from_slice(&text)?),
            "ASSIGNED" => Self::Assigned(required_name()?, serde_json::from_slice(&text)?),
            "REVOKED" => Self::Revoked(required_name()?, serde_json::from_slice(&text)?),
            other => Self::Other(other.to_owned()),
        })
    }
}

impl Done {
    pub fn receipt(&self) -> Result<Receipt, FrameError> {
        Ok(serde_json::from_slice(&self.text)?)
    }

    pub fn welcome(&self) -> Result<Welcome, FrameError> {
        Ok(serde_json::from_slice(&self.text)?)
    }

    /// What an ACK of many offsets did not settle, because it is not leased to us: `[from, to]`, both included.
    pub fn unknown_offsets(&self) -> Result<Vec<(Offset, Offset)>, FrameError> {
        #[derive(Deserialize)]
        struct Unknown {
            #[serde(default)]
            unknown: Vec<(Offset, Offset)>,
        }
        Ok(serde_json::from_slice::<Unknown>(&self.text)?.unknown)
    }

    /// What the hub remarks about a subscription.
    pub fn notes(&self) -> Result<Vec<String>, FrameError> {
        #[derive(Deserialize)]
        struct Notes {
            #[serde(default)]
            notes: Vec<String>,
        }
        Ok(serde_json::from_slice::<Notes>(&self.text)?.notes)
    }

    pub fn batch(&self) -> Result<BatchAnswer, FrameError> {
        BatchAnswer::read(&self.text)
    }
}

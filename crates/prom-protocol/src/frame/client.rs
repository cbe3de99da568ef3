//! Reading what a client sent.

use bytes::Bytes;
use serde::Deserialize;

use super::ack::Ack;
use super::auth::Auth;
use super::field::{self, Raw, present, required};
use super::modack::Modack;
use super::nack::Nack;
use super::pause::Resume;
use super::publish::{Publish, PublishBatch};
use super::publish_items::PublishItems;
use super::subscribe::Subscribe;
use super::{Corr, FrameError, SubscriptionName};

/// A client's frame with its correlation.
#[derive(Debug)]
pub struct Request<'a> {
    pub corr: Option<Corr>,
    pub frame: ClientFrame<'a>,
}

/// A frame that cannot be acted on, with its correlation where one could be read.
#[derive(Debug)]
pub struct Refused {
    pub corr: Option<Corr>,
    pub error: FrameError,
}

#[derive(Debug)]
pub enum ClientFrame<'a> {
    Auth(Auth<'a>),
    Publish(Publish<'a>),
    PublishBatch(PublishBatch<'a>),
    Subscribe(Box<Subscribe>),
    Unsubscribe(SubscriptionName),
    Ack(Ack<'a>),
    Nack(Nack<'a>),
    Modack(Modack<'a>),
    Pause(SubscriptionName),
    Resume(Resume),
}

/// Every field that some frame has, not looked into yet.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Fields<'a> {
    #[serde(borrow)]
    op: Raw<'a>,
    #[serde(borrow)]
    corr: Raw<'a>,
    #[serde(borrow)]
    pub token: Raw<'a>,
    #[serde(borrow)]
    pub features: Raw<'a>,
    #[serde(borrow)]
    pub topic: Raw<'a>,
    #[serde(borrow)]
    pub group: Raw<'a>,
    /// `null` is a payload too.
    #[serde(borrow, deserialize_with = "present")]
    pub payload: Raw<'a>,
    #[serde(borrow)]
    pub opts: Raw<'a>,
    #[serde(borrow)]
    pub events: Option<PublishItems<'a>>,
    #[serde(borrow)]
    pub atomic: Raw<'a>,
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub ids: Raw<'a>,
    #[serde(borrow)]
    pub partition: Raw<'a>,
    #[serde(borrow)]
    pub offsets: Raw<'a>,
    #[serde(borrow)]
    pub reason: Raw<'a>,
    #[serde(borrow)]
    pub delay_ms: Raw<'a>,
    #[serde(borrow)]
    pub extend_ms: Raw<'a>,
    #[serde(borrow)]
    pub max_in_flight: Raw<'a>,
    #[serde(borrow)]
    pub unhandled: Raw<'a>,
}

impl<'a> Request<'a> {
    /// Reads one frame. `text` is UTF-8.
    pub fn read(text: &'a Bytes) -> Result<Self, Refused> {
        let alone = |error| Refused { corr: None, error };
        let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
        if first != Some(&b'{') {
            return Err(alone(FrameError::Json { reason: "a frame begins with {".to_owned() }));
        }
        // One quick look at all of it, instead of a slow one at every field.
        let Ok(known_text) = simdutf8::basic::from_utf8(text) else {
            return Err(alone(FrameError::Json { reason: "a frame is UTF-8".to_owned() }));
        };
        let fields: Fields<'a> = match serde_json::from_str(known_text) {
            Ok(fields) => fields,
            Err(error) => return Err(Refused { corr: corr_alone(text), error: error.into() }),
        };
        let corr = field::optional("corr", fields.corr, |_, raw| Corr::read(raw)).map_err(alone)?;
        match ClientFrame::read(text, fields) {
            Ok(frame) => Ok(Self { corr, frame }),
            Err(error) => Err(Refused { corr, error }),
        }
    }
}

/// The correlation of a frame that cannot be read otherwise, such as one with a field twice.
fn corr_alone(text: &[u8]) -> Option<Corr> {
    #[derive(Deserialize)]
    struct Alone<'a> {
        #[serde(borrow)]
        corr: Raw<'a>,
    }
    let alone: Alone<'_> = serde_json::from_slice(text).ok()?;
    Corr::read(alone.corr?).ok()
}

impl<'a> ClientFrame<'a> {
    fn read(text: &'a Bytes, fields: Fields<'a>) -> Result<Self, FrameError> {
        let op = required("op", fields.op, field::text)?;
        Ok(match &*op {
            "PUBLISH" if fields.events.is_some() => Self::PublishBatch(PublishBatch::read(text, fields)?),
            "PUBLISH" => Self::Publish(Publish::read(text, &fields)?),
            "ACK" => Self::Ack(Ack::read(&fields)?),
            "NACK" => Self::Nack(Nack::read(&fields)?),
            "MODACK" => Self::Modack(Modack::read(&fields)?),
            "AUTH" => Self::Auth(Auth::read(&fields)?),
            "SUBSCRIBE" => Self::Subscribe(Box::new(Subscribe::read(&fields)?)),
            "UNSUBSCRIBE" => Self::Unsubscribe(SubscriptionName::read(&fields)?),
            "PAUSE" => Self::Pause(SubscriptionName::read(&fields)?),
            "RESUME" => Self::Resume(Resume::read(&fields)?),
            other => return Err(unknown(other)),
        })
    }
}

fn unknown(op: &str) -> FrameError {
    let shown: String = op.chars().take(32).collect();
    FrameError::Request(format!(
        "op `{shown}` is not known; it is one of AUTH, PUBLISH, SUBSCRIBE, UNSUBSCRIBE, ACK, NACK, MODACK, PAUSE, RESUME"
    ))
}

impl SubscriptionName {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self, FrameError> {
        Ok(Self {
            topic: required("topic", fields.topic, field::owned_text)?,
            group: field::optional("group", fields.group, field::owned_text)?,
        })
    }
}

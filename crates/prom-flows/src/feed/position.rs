//! Where a feed is: one document of the bus's store, written in the commit of the events before it.
//!
//! Its revision is the fence. A hub commits only onto the revision that it read or wrote last; an operator's write raises it, so the
//! hub that reads is told by its next commit and starts over from what it finds.

use mongodb::bson::{RawDocument, RawDocumentBuf, Timestamp, rawdoc};
use mongodb::change_stream::event::ResumeToken;
use prom_engine::{Bus, UnitOfWork};
use prom_store::{DocumentWrite, Expect};
use prom_types::EpochMs;
use serde::{Deserialize, Serialize};

use super::copy::CopyProgress;
use super::error::FeedError;
use super::gap::PendingGap;

/// The collection of documents that positions are in, by the name of the feed.
pub const FEED_POSITIONS: &str = "changefeed_tokens";

/// What is stored of a feed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeedPosition {
    /// What it reads. A token of one collection says nothing about another.
    pub source: String,
    /// Where the stream goes on.
    pub at: StreamPlace,
    /// When the last change was committed, or how far MongoDB said that there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<EpochMs>,
    /// A copy that is not done yet. The stream goes on behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<CopyProgress>,
    /// What readers of the topic have not been told yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<PendingGap>,
    /// It waits for an operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedFeed>,
}

/// Where a change stream begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamPlace {
    /// Behind the change with this token.
    After(String),
    /// At the first change from this time on.
    From(ClusterTime),
}

/// A moment of MongoDB's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClusterTime {
    /// Seconds since 1970.
    pub seconds: u32,
    /// Counted within the second.
    pub increment: u32,
}

/// Why a feed waits for an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedFeed {
    /// With what to do.
    pub reason: String,
    /// Since when.
    pub since: EpochMs,
}

/// The position as this hub holds it.
#[derive(Debug, Clone)]
pub(crate) struct HeldPosition {
    name: String,
    pub position: FeedPosition,
    revision: u64,
}

impl HeldPosition {
    /// What is stored, if anything is.
    pub async fn load(bus: &Bus, name: &str) -> Result<Option<Self>, FeedError> {
        let Some(stored) = bus.document(FEED_POSITIONS, name).await? else {
            return Ok(None);
        };
        let position =
            serde_json::from_slice(&stored.value).map_err(|error| FeedError::Position { reason: error.to_string() })?;
        Ok(Some(Self { name: name.to_owned(), position, revision: stored.revision }))
    }

    /// Of a feed that begins.
    pub fn begin(name: &str, position: FeedPosition) -> Self {
        Self { name: name.to_owned(), position, revision: 0 }
    }

    /// Commits the work together with the position as it is now.
    pub async fn commit(&mut self, mut work: UnitOfWork) -> Result<usize, FeedError> {
        work.write(write(&self.name, &self.position)?.expecting(Expect::Revision(self.revision)));
        let receipts = work.commit().await?;
        self.revision += 1;
        Ok(receipts.iter().filter(|receipt| !receipt.duplicate).count())
    }

    /// A later one is somebody else's.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether nobody else has written it.
    pub async fn is_current(&self, bus: &Bus) -> Result<bool, FeedError> {
        let stored = bus.document(FEED_POSITIONS, &self.name).await?;
        Ok(stored.map_or(0, |stored| stored.revision) == self.revision)
    }
}

/// The write of a position that expects nothing yet.
pub(crate) fn write(name: &str, position: &FeedPosition) -> Result<DocumentWrite, FeedError> {
    let text = serde_json::to_vec(position).map_err(|error| FeedError::Position { reason: error.to_string() })?;
    Ok(DocumentWrite::put(FEED_POSITIONS, name, text))
}

impl From<Timestamp> for ClusterTime {
    fn from(time: Timestamp) -> Self {
        Self { seconds: time.time, increment: time.increment }
    }
}

impl From<ClusterTime> for Timestamp {
    fn from(time: ClusterTime) -> Self {
        Self { time: time.seconds, increment: time.increment }
    }
}

impl ClusterTime {
    /// The next moment that a change may have.
    pub fn next(self) -> Self {
        Self { increment: self.increment + 1, ..self }
    }

    /// In milliseconds, as far as it tells.
    pub fn millis(self) -> EpochMs {
        EpochMs::from(self.seconds) * 1000
    }
}

impl StreamPlace {
    /// In words, for people.
    pub fn told(&self) -> String {
        match self {
            Self::After(token) => match token_time(token) {
                Some(time) => format!("{}.{} token {token}", time.seconds, time.increment),
                None => format!("token {token}"),
            },
            Self::From(time) => format!("{}.{}", time.seconds, time.increment),
        }
    }

    /// The moment that it stands for.
    pub fn time(&self) -> Option<ClusterTime> {
        match self {
            Self::After(token) => token_time(token),
            Self::From(time) => Some(*time),
        }
    }
}

/// A token, as a value inside another document: the driver reads and writes it there.
#[derive(Serialize, Deserialize)]
struct TokenHolder {
    token: ResumeToken,
}

/// Before the bytes of a token that is more than a `_data`, in hexadecimal.
const WHOLE_TOKEN: &str = "bson:";

/// The token as text: what drivers call `_data`.
pub(crate) fn token_text(token: &RawDocument) -> Result<String, FeedError> {
    match (token.get_str("_data"), token.iter().count()) {
        (Ok(data), 1) => Ok(data.to_owned()),
        _ => Ok(format!("{WHOLE_TOKEN}{}", hexadecimal(token.as_bytes()))),
    }
}

/// As [`token_text`], of a token that the driver holds.
pub(crate) fn held_token_text(token: &ResumeToken) -> Result<String, FeedError> {
    let holder = mongodb::bson::serialize_to_raw_document_buf(&TokenHolder { token: token.clone() })?;
    let inner = holder.get_document("token").map_err(|error| FeedError::Position { reason: error.to_string() })?;
    token_text(inner)
}

/// The token that a text stands for.
pub(crate) fn token_of(text: &str) -> Result<ResumeToken, FeedError> {
    let token = match text.strip_prefix(WHOLE_TOKEN) {
        Some(bytes) => RawDocumentBuf::from_bytes(from_hexadecimal(bytes)?)?,
        None => rawdoc! { "_data": text },
    };
    let holder: TokenHolder = mongodb::bson::deserialize_from_slice(rawdoc! { "token": token }.as_bytes())?;
    Ok(holder.token)
}

/// Bytes as text, as a position keeps BSON: nothing of a value is lost.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hexadecimal(text: &str) -> Result<Vec<u8>, FeedError> {
    let unreadable = || FeedError::Position { reason: format!("{text} is not hexadecimal") };
    let byte = |at: usize| text.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    (0..text.len()).step_by(2).map(|at| byte(at).ok_or_else(unreadable)).collect()
}

/// The moment that a token is of. Its text begins with the type of a timestamp and the timestamp, in hexadecimal, on every server
/// that has change streams as we use them; where it does not, nothing is known, and nothing depends on it.
pub(crate) fn token_time(text: &str) -> Option<ClusterTime> {
    let digits = text.strip_prefix("82")?;
    let seconds = u32::from_str_radix(digits.get(..8)?, 16).ok()?;
    let increment = u32::from_str_radix(digits.get(8..16)?, 16).ok()?;
    Some(ClusterTime { seconds, increment })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_same_after_it_was_text() {
        let text = "8265A0000000000001";
        let token = token_of(text).unwrap();
        assert_eq!(held_token_text(&token).unwrap(), text);
        assert_eq!(token_time(text), Some(ClusterTime { seconds: 0x65A0_0000, increment: 1 }));
        let odd = token_text(&rawdoc! { "_data": "82", "_typeBits": 1 }).unwrap();
        assert_eq!(held_token_text(&token_of(&odd).unwrap()).unwrap(), odd);
    }
}

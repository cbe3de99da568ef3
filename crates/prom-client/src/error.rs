//! What can go wrong between an application and its hub. Every variant says what the caller can do.

use std::time::Duration;

use prom_protocol::ErrorCode;
use prom_protocol::frame::err::{MaybeStored, Problem, SchemaMisfit};
use prom_types::{EventId, Expectation, Invalid, Offset, TopicName};

/// The one error of this crate.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A name, a header, a size. Nothing was sent; put the named piece right.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Write it as http://host:port, https://, ws:// or wss://.
    #[error("{url:?} is not the address of a hub: {reason}; write it like http://127.0.0.1:8090")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Look at the file or at the certificates of this machine.
    #[error("TLS cannot be set up: {reason}")]
    Tls {
        /// Why.
        reason: String,
    },
    /// Is it running, is the address right? A client that was connected once keeps trying by itself.
    #[error("cannot reach the hub at {url}: {reason}")]
    Unreachable {
        /// The hub's address.
        url: String,
        /// Why the last attempt failed.
        reason: String,
    },
    /// The hub said no. [`ErrorCode::fix`] says what to do about each code.
    #[error("{message} ({code})")]
    Refused {
        /// For programs.
        code: ErrorCode,
        /// For people.
        message: String,
        /// When the same may succeed, where the hub said so.
        retry_after: Option<Duration>,
        /// For publishes that failed: whether the event may have been stored anyway.
        stored: Option<MaybeStored>,
        /// With [`ErrorCode::SchemaInvalid`]: where the payload does not fit its schema.
        misfit: Option<Box<SchemaMisfit>>,
        /// With [`ErrorCode::Conflict`]: what is so instead of what was expected.
        actual: Option<Expectation>,
    },
    /// The time given for publishing is over. Publishing again with the same id is safe.
    #[error("gave up publishing after {after:?}: {reason}; {}", stored_text(.stored))]
    GaveUp {
        /// The time that was given.
        after: Duration,
        /// Whether the event may have been stored anyway.
        stored: MaybeStored,
        /// What kept it from being answered.
        reason: String,
    },
    /// The connection or the time of the lease ended first: do nothing more with the event. The group
    /// hands it out again unless the settlement had arrived.
    #[error("offset {offset} of {topic} is no longer leased to this client: {reason}")]
    LeaseLost {
        /// The event's topic.
        topic: TopicName,
        /// The event's offset in its partition.
        offset: Offset,
        /// How the lease ended.
        reason: String,
    },
    /// The token provider failed.
    #[error("no token to connect with: {reason}")]
    Token {
        /// What the provider said.
        reason: String,
    },
    /// Use a newer hub, or do without.
    #[error("the hub cannot do this: {what}")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
    },
    /// Nothing was sent; send less at once.
    #[error("{what} takes {size} bytes in a frame, the hub takes {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size in bytes.
        size: usize,
        /// How many bytes the hub takes.
        limit: usize,
    },
    /// The payload is not of the type that was asked for.
    #[error("the payload of event {id} does not have the expected form: {reason}")]
    Payload {
        /// The event.
        id: EventId,
        /// What does not fit.
        reason: String,
    },
    /// Reconnect.
    #[error("the client is closed: {reason}")]
    Closed {
        /// Why.
        reason: String,
    },
}

impl Error {
    /// The hub's code, or the one it would have used for what was refused here.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::LeaseLost { .. } => Some(ErrorCode::UnknownId),
            Self::TooLarge { .. } | Self::Invalid(Invalid::TooLarge { .. }) => Some(ErrorCode::TooLarge),
            Self::Invalid(_) => Some(ErrorCode::BadRequest),
            _ => None,
        }
    }

    /// When the hub would take the same again.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Of a publish that its topic's schema refused: version, pointer, rule and value.
    pub fn misfit(&self) -> Option<&SchemaMisfit> {
        match self {
            Self::Refused { misfit, .. } => misfit.as_deref(),
            _ => None,
        }
    }

    /// Of a publish whose expectation was not met: what is so instead.
    pub fn actual(&self) -> Option<Expectation> {
        match self {
            Self::Refused { actual, .. } => *actual,
            _ => None,
        }
    }

    /// Of a failed publish: whether the event may have been stored anyway.
    pub fn may_be_stored(&self) -> bool {
        match self {
            Self::Refused { stored, .. } => *stored == Some(MaybeStored::Unknown),
            Self::GaveUp { stored, .. } => *stored == MaybeStored::Unknown,
            _ => false,
        }
    }

    pub(crate) fn closed(reason: impl Into<String>) -> Self {
        Self::Closed { reason: reason.into() }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Refused {
            code: problem.code,
            message: problem.msg,
            retry_after: problem.retry_after_ms.map(Duration::from_millis),
            stored: problem.stored,
            misfit: problem.misfit,
            actual: problem.actual,
        }
    }
}

fn stored_text(stored: &MaybeStored) -> &'static str {
    match stored {
        MaybeStored::No => "nothing was stored",
        MaybeStored::Unknown => "it may be stored; publishing again with the same id is safe",
    }
}

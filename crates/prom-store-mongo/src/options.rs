//! Settings of the store, every size and time with its reason.

use std::sync::Arc;
use std::time::Duration;

use prom_store::{Clock, SystemClock};

/// How a [`crate::MongoStore`] is opened. The defaults are for production.
#[derive(Clone)]
pub struct MongoOptions {
    /// Comes before the names of all collections.
    pub prefix: String,
    /// Collections of documents that others are told of when they are written. Each comes with the one
    /// change stream, so they are few and seldom written.
    pub told_documents: Vec<String>,
    pub clock: Arc<dyn Clock>,
    pub lease_clock: LeaseClock,
    /// For how long opening tries to reach a server that does not answer.
    pub open_timeout: Duration,
    pub sizes: Sizes,
    pub times: Times,
}

/// Whose clock leases go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeaseClock {
    /// The server's: the only one that all hubs share.
    #[default]
    Server,
    /// The monotonic one of `clock`, for tests that move it by hand.
    Given,
}

/// Sizes in bytes unless the name says otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Events in one batch. Larger ones make nothing faster, and a reader fetches a batch whole.
    pub batch_events: usize,
    /// Bytes of records in one batch; as BSON, with raw text beside it, it stays below the server's 16 MB.
    pub batch_bytes: usize,
    /// Commits that wait, all logs together, beyond which new ones are refused.
    pub waiting_bytes: usize,
    /// Batches kept in memory for readers near the end and for the rest of a batch that was read in part.
    pub cache: usize,
    /// Batches fetched by one read.
    pub read_batches: i64,
}

/// The first two are one promise: see `docs/decisions/0011-mongodb-batches.md`. They are for tests to shorten,
/// never for configuration.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Nothing younger than this is physically deleted or merged.
    pub keep_physically: Duration,
    /// An append counts only if the head it went by was younger than this when its answer came. At most half of
    /// `keep_physically`.
    pub head_age: Duration,
    /// One call to the server; then the connection counts as broken.
    pub call: Duration,
    /// For how long a commit is tried before it is answered with a failure.
    pub commit: Duration,
    /// Between two rounds of removing and merging old batches.
    pub sweep: Duration,
}

impl Default for MongoOptions {
    fn default() -> Self {
        Self {
            prefix: String::new(),
            told_documents: vec!["topics".to_owned()],
            clock: Arc::new(SystemClock::new()),
            lease_clock: LeaseClock::default(),
            open_timeout: Duration::from_secs(30),
            sizes: Sizes::default(),
            times: Times::default(),
        }
    }
}

impl Default for Sizes {
    fn default() -> Self {
        Self { batch_events: 1000, batch_bytes: 4 << 20, waiting_bytes: 64 << 20, cache: 64 << 20, read_batches: 16 }
    }
}

impl Default for Times {
    fn default() -> Self {
        Self {
            keep_physically: Duration::from_secs(3600),
            head_age: Duration::from_secs(1800),
            call: Duration::from_secs(10),
            commit: Duration::from_secs(30),
            sweep: Duration::from_secs(600),
        }
    }
}

//! Settings of the store. Every size and time has its reason.

use std::sync::Arc;
use std::time::Duration;

use prom_store::{Clock, SystemClock};

/// How a [`crate::MongoStore`] is opened. The defaults are for production.
#[derive(Clone)]
pub struct MongoOptions {
    /// Prefix of all collection names.
    pub prefix: String,
    /// Collections of documents whose writes other hubs hear of. They all share the one change stream, so they are few and
    /// rarely written.
    pub told_documents: Vec<String>,
    pub clock: Arc<dyn Clock>,
    pub lease_clock: LeaseClock,
    /// How long opening waits for a primary. An election takes about ten seconds, a server's start longer.
    pub open_timeout: Duration,
    pub sizes: MongoSizes,
    pub times: MongoTimes,
}

/// The clock that leases use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeaseClock {
    /// The server's: the only clock that all hubs share.
    #[default]
    Server,
    /// The monotonic time of `clock`, for tests that move it by hand.
    Given,
}

/// Sizes in bytes unless the name says otherwise.
#[derive(Debug, Clone, Copy)]
pub struct MongoSizes {
    /// Events in one batch. Larger batches are not faster, and a reader fetches a batch whole.
    pub batch_events: usize,
    /// Bytes of records in one batch. As BSON, including raw text, they stay below the server's 16 MB.
    pub batch_bytes: usize,
    /// Waiting commits of all logs together, beyond which new ones are refused.
    pub waiting_bytes: usize,
    /// Batches kept in memory for readers near the end and for the rest of a partly read batch.
    pub cache: usize,
    /// Batches fetched by one read.
    pub read_batches: i64,
}

/// The first two form one promise: see `docs/decisions/0011-mongodb-batches.md`. Tests may shorten them; they are not
/// configurable.
#[derive(Debug, Clone, Copy)]
pub struct MongoTimes {
    /// Nothing younger than this is physically deleted or merged.
    pub keep_physically: Duration,
    /// An append counts only if its view of the head was younger than this when the answer came. At most half of
    /// `keep_physically`.
    pub head_age: Duration,
    /// One call to the server. After this the connection counts as broken.
    pub call: Duration,
    /// How long a commit is retried before it is answered with a failure.
    pub commit: Duration,
    /// Time between two rounds of removing and merging old batches.
    pub sweep: Duration,
}

impl Default for MongoOptions {
    fn default() -> Self {
        Self {
            prefix: String::new(),
            told_documents: ["topics", "schemas", "schema_registry"].map(str::to_owned).to_vec(),
            clock: Arc::new(SystemClock::new()),
            lease_clock: LeaseClock::default(),
            open_timeout: Duration::from_secs(60),
            sizes: MongoSizes::default(),
            times: MongoTimes::default(),
        }
    }
}

impl Default for MongoSizes {
    fn default() -> Self {
        Self { batch_events: 1000, batch_bytes: 4 << 20, waiting_bytes: 64 << 20, cache: 64 << 20, read_batches: 16 }
    }
}

impl Default for MongoTimes {
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

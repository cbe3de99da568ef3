//! How a client connects and behaves. The defaults suit a service that talks to its hub for long.

use std::fmt::Display;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prom_types::{Clock, SystemClock};

use crate::connector::{Connector, TcpConnector};
use crate::limits;
use crate::token::TokenSource;

/// Options of a [`crate::Client`].
#[derive(Debug, Clone)]
pub struct ClientOptions {
    pub(crate) token: TokenSource,
    pub(crate) extra_ca: Option<PathBuf>,
    pub(crate) give_up_after: Duration,
    pub(crate) pending_events: usize,
    pub(crate) pending_bytes: usize,
    pub(crate) rate_limited: RateLimited,
    pub(crate) frames: FrameStyle,
    pub(crate) backoff_first: Duration,
    pub(crate) backoff_longest: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) ping_after: Duration,
    pub(crate) silence_limit: Duration,
    pub(crate) drain_timeout: Duration,
    pub(crate) surroundings: Surroundings,
}

/// What the client takes from outside: the network, the time and chance.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub connector: Arc<dyn Connector>,
    pub clock: Arc<dyn Clock>,
    /// Of ids, masks and jitter; chosen at random where there is none.
    pub seed: Option<u64>,
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// What becomes of a publish that came too fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RateLimited {
    Retry,
    Fail,
}

/// What is asked for in AUTH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameStyle {
    Batched,
    Plain,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            token: TokenSource::None,
            extra_ca: None,
            give_up_after: limits::GIVE_UP_AFTER,
            pending_events: limits::PENDING_EVENTS,
            pending_bytes: limits::PENDING_BYTES,
            rate_limited: RateLimited::Retry,
            frames: FrameStyle::Batched,
            backoff_first: limits::BACKOFF_FIRST,
            backoff_longest: limits::BACKOFF_LONGEST,
            connect_timeout: limits::CONNECT_TIMEOUT,
            ping_after: limits::PING_AFTER,
            silence_limit: limits::SILENCE_LIMIT,
            drain_timeout: limits::DRAIN_TIMEOUT,
            surroundings: Surroundings {
                connector: Arc::new(TcpConnector),
                clock: Arc::new(SystemClock::new()),
                seed: None,
            },
        }
    }
}

impl ClientOptions {
    /// A token that stays the same. Expiring ones want a [`ClientOptions::token_provider`].
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = TokenSource::Fixed(token.into());
        self
    }

    /// Called at every connect, before the last token expires, and when the hub says it has expired.
    ///
    /// ```
    /// # use prom_client::ClientOptions;
    /// let options = ClientOptions::default().token_provider(|| async {
    ///     std::fs::read_to_string("/run/secrets/prom-token").map(|token| token.trim().to_owned())
    /// });
    /// # let _ = options;
    /// ```
    pub fn token_provider<P, F, E>(mut self, provide: P) -> Self
    where
        P: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<String, E>> + Send + 'static,
        E: Display,
    {
        self.token = TokenSource::provider(provide);
        self
    }

    /// A file with PEM certificates that are trusted besides those of the machine.
    pub fn extra_ca(mut self, file: impl Into<PathBuf>) -> Self {
        self.extra_ca = Some(file.into());
        self
    }

    /// How long a publish keeps trying through refusals and lost connections; 60 s unless said.
    pub fn give_up_after(mut self, time: Duration) -> Self {
        self.give_up_after = time;
        self
    }

    /// Events and bytes of publishes that wait for an answer; beyond it callers wait.
    pub fn max_pending(mut self, events: usize, bytes: usize) -> Self {
        self.pending_events = events.max(1);
        self.pending_bytes = bytes.max(1);
        self
    }

    /// Publishes that come too fast fail instead of being sent again when the hub takes them.
    pub fn fail_when_rate_limited(mut self) -> Self {
        self.rate_limited = RateLimited::Fail;
        self
    }

    /// One event and one ack per frame, also where the hub can do more.
    pub fn plain_frames(mut self) -> Self {
        self.frames = FrameStyle::Plain;
        self
    }

    /// The wait before connecting again, doubling to the longest, with jitter; 100 ms and 10 s unless said.
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.backoff_first = first.min(longest);
        self.backoff_longest = longest;
        self
    }

    /// For the name look-up, the handshakes and AUTH together; 10 s unless said.
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        self.connect_timeout = time;
        self
    }

    /// A hub that is silent for `ping_after` is asked, one that is silent for `limit` is given up; 60 s and 75 s
    /// unless said.
    pub fn silence(mut self, ping_after: Duration, limit: Duration) -> Self {
        self.ping_after = ping_after.min(limit);
        self.silence_limit = limit;
        self
    }

    /// How long [`crate::Client::close`] waits for answers and handlers; 10 s unless said.
    pub fn drain_timeout(mut self, time: Duration) -> Self {
        self.drain_timeout = time;
        self
    }

    /// Opens connections in another way than by TCP: through a proxy, or within the process.
    pub fn connector(mut self, connector: impl Connector) -> Self {
        self.surroundings.connector = Arc::new(connector);
        self
    }

    /// Reads the time elsewhere, for ids and for when tokens expire. Timers go by tokio's clock, which tests can pause.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.surroundings.clock = clock;
        self
    }

    /// Makes ids and jitter repeatable, for tests. Two clients with one seed would make the same ids.
    pub fn seed(mut self, seed: u64) -> Self {
        self.surroundings.seed = Some(seed);
        self
    }
}

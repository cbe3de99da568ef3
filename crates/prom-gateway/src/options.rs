//! How a hub treats its clients. Every limit with its reason.

use std::time::Duration;

use prom_protocol::http::search::SavedSearch;

use crate::rates::RateOptions;

/// Limits and manners of the gateway. The defaults suit a hub on the open network.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayOptions {
    /// The largest WebSocket message and the largest body of a single publish over HTTP.
    pub frame_bytes: usize,
    /// The largest body of a batch over HTTP; each item may have `frame_bytes`. Imports are streamed and may be larger.
    pub body_bytes: usize,
    /// Everything that HTTP requests and answers hold in memory at once. Beyond it more are refused, and may be tried again. With
    /// auth, one subject has at most half of it.
    pub bodies_bytes: usize,
    /// Open sockets, beyond which new ones are refused.
    pub connections: usize,
    /// Each costs a task and a window.
    pub subscriptions_per_connection: usize,
    /// Of one subject, over all its connections to this hub; `None` is no limit.
    pub subscriptions_per_subject: Option<usize>,
    /// How long a socket may stay without a valid AUTH.
    pub auth_deadline: Duration,
    /// How long an HTTP client may take to send the head of a request.
    pub header_deadline: Duration,
    /// A client of HTTP that takes nothing of its answer for this long is cut off.
    pub write_deadline: Duration,
    /// Between two pings to a client that is silent.
    pub ping_interval: Duration,
    /// A client that was silent for this long is gone.
    pub silence_limit: Duration,
    /// Bytes that wait to be written to one client, beyond which nothing more is taken from it or read for it.
    pub write_buffer_bytes: usize,
    /// Requests of one connection that are under way, beyond which nothing more is read from it.
    pub pipeline: usize,
    /// Topics, groups in topics, and lags that `/metrics` has: those where most happens. Each group in a topic is 80 lines,
    /// and a scrape has to end before the next begins.
    pub metric_series: usize,
    pub rates: RateOptions,
    pub cors: Cors,
    /// For people who look for events.
    pub searches: Vec<SavedSearch>,
}

/// Which web pages of other origins may use the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cors {
    #[default]
    None,
    Any,
    Origins(Vec<String>),
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            frame_bytes: 1024 * 1024,
            body_bytes: 16 * 1024 * 1024,
            bodies_bytes: 256 * 1024 * 1024,
            connections: 20_000,
            subscriptions_per_connection: 1000,
            subscriptions_per_subject: Some(1000),
            auth_deadline: Duration::from_secs(10),
            header_deadline: Duration::from_secs(10),
            write_deadline: Duration::from_secs(30),
            ping_interval: Duration::from_secs(20),
            silence_limit: Duration::from_secs(60),
            write_buffer_bytes: 256 * 1024,
            pipeline: 4096,
            metric_series: 2000,
            rates: RateOptions::default(),
            cors: Cors::default(),
            searches: Vec::new(),
        }
    }
}

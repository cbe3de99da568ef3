//! `[limits]`: what one client may cost.

use std::time::Duration;

use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"[limits]
# The largest WebSocket message, and the largest single publish over HTTP.
#frame_bytes = "1MiB"
# The largest body of a batch over HTTP.
#body_bytes = "16MiB"
# Memory for all HTTP requests and answers together. Beyond it, requests are refused and may be retried.
#bodies_bytes = "256MiB"
# The most open sockets; beyond it new ones are refused.
#connections = 20000
# The most subscriptions of one WebSocket.
#subscriptions_per_connection = 1000
# The most subscriptions of a token's `sub` on this hub, over all its connections: a number, or "off".
#subscriptions_per_subject = 1000
# The most topics and groups that a `sub` may create, and in total: a number, or "off". Existing ones are kept.
#topics_per_subject = 1000
#groups_per_subject = 100
#topics = 100000
#groups = 10000
# How long a WebSocket may stay open without a valid AUTH.
#auth_deadline = "10s"
# An HTTP client that reads nothing of its answer for this long is disconnected.
#write_deadline = "30s"
# Time between two pings to a silent client.
#ping_interval = "20s"
# A client that is silent for this long is disconnected.
#silence_limit = "60s"
# Events per second that one connection may publish, and how many at once: { rate = 200, burst = 200 }, or "off".
# "auto" is off if the hub listens on loopback only, otherwise 200 per second.
#per_connection = "auto"
# The same for a topic, over all connections: a rate, or "off".
#per_topic = "off"
# The same for the `sub` of a token, over all its connections: a rate, or "off".
#per_subject = "off"
"#;

#[derive(Debug, Clone, PartialEq)]
pub struct LimitsConfig {
    pub frame_bytes: u64,
    pub body_bytes: u64,
    pub bodies_bytes: u64,
    pub connections: usize,
    pub subscriptions_per_connection: usize,
    pub subscriptions_per_subject: Option<usize>,
    pub topics_per_subject: Option<usize>,
    pub groups_per_subject: Option<usize>,
    pub topics: Option<usize>,
    pub groups: Option<usize>,
    pub auth_deadline: Duration,
    pub write_deadline: Duration,
    pub ping_interval: Duration,
    pub silence_limit: Duration,
    pub per_connection: RateLimit,
    pub per_topic: RateLimit,
    pub per_subject: RateLimit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimit {
    /// Off on loopback, moderate elsewhere.
    Auto,
    Off,
    Limit {
        per_second: u32,
        burst: u32,
    },
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            frame_bytes: 1 << 20,
            body_bytes: 16 << 20,
            bodies_bytes: 256 << 20,
            connections: 20_000,
            subscriptions_per_connection: 1000,
            subscriptions_per_subject: Some(1000),
            topics_per_subject: Some(1000),
            groups_per_subject: Some(100),
            topics: Some(100_000),
            groups: Some(10_000),
            auth_deadline: Duration::from_secs(10),
            write_deadline: Duration::from_secs(30),
            ping_interval: Duration::from_secs(20),
            silence_limit: Duration::from_secs(60),
            per_connection: RateLimit::Auto,
            per_topic: RateLimit::Off,
            per_subject: RateLimit::Off,
        }
    }
}

/// Smaller frames do not hold an event with its envelope; larger ones than this are held in memory whole.
const FRAME_BYTES: std::ops::RangeInclusive<u64> = 1024..=64 << 20;
const BODY_BYTES: std::ops::RangeInclusive<u64> = 1024..=1 << 30;
/// An export needs a few megabytes; more than this is no bound.
const BODIES_BYTES: std::ops::RangeInclusive<u64> = 4 << 20..=1 << 40;

impl LimitsConfig {
    pub fn read(&mut self, section: &mut ConfigSection<'_>) {
        section.set("frame_bytes", &mut self.frame_bytes, |value| within(value::size(value)?, FRAME_BYTES));
        section.set("body_bytes", &mut self.body_bytes, |value| within(value::size(value)?, BODY_BYTES));
        section.set("bodies_bytes", &mut self.bodies_bytes, |value| within(value::size(value)?, BODIES_BYTES));
        if self.bodies_bytes < self.body_bytes {
            section.complain_at(
                "bodies_bytes",
                "`bodies_bytes` is less than `body_bytes`: the largest body would never fit",
            );
        }
        section.set("connections", &mut self.connections, value::number(1..=1_000_000));
        let subscriptions = &mut self.subscriptions_per_connection;
        section.set("subscriptions_per_connection", subscriptions, value::number(1..=100_000));
        section.set("subscriptions_per_subject", &mut self.subscriptions_per_subject, cap);
        section.set("topics_per_subject", &mut self.topics_per_subject, cap);
        section.set("groups_per_subject", &mut self.groups_per_subject, cap);
        section.set("topics", &mut self.topics, cap);
        section.set("groups", &mut self.groups, cap);
        section.set("auth_deadline", &mut self.auth_deadline, not_zero);
        section.set("write_deadline", &mut self.write_deadline, not_zero);
        section.set("ping_interval", &mut self.ping_interval, not_zero);
        section.set("silence_limit", &mut self.silence_limit, not_zero);
        if self.silence_limit <= self.ping_interval {
            section.complain_at(
                "silence_limit",
                "`silence_limit` is not longer than `ping_interval`; live clients would count as gone",
            );
        }
        let with_auto = [("auto", RateLimit::Auto), ("off", RateLimit::Off)];
        read_rate(section, "per_connection", "[limits] per_connection", &mut self.per_connection, &with_auto);
        read_rate(section, "per_topic", "[limits] per_topic", &mut self.per_topic, &with_auto[1..]);
        read_rate(section, "per_subject", "[limits] per_subject", &mut self.per_subject, &with_auto[1..]);
    }
}

fn read_rate(
    section: &mut ConfigSection<'_>,
    key: &'static str,
    title: &'static str,
    target: &mut RateLimit,
    words: &[(&str, RateLimit)],
) {
    if !section.is_table(key) {
        section.set(key, target, |value| {
            if value.is_str() {
                value::one_of(words)(value)
            } else {
                Err(format!("expected {{ rate = 200, burst = 200 }} or \"off\", found {}", value.type_str()))
            }
        });
        return;
    }
    section.table(key, title, |section| {
        let (mut rate, mut burst) = (None, None);
        section.set_some("rate", &mut rate, value::number(1..=u32::MAX));
        section.set_some("burst", &mut burst, value::number(1..=u32::MAX));
        if !section.has("rate") {
            section.complain(format!("`{key}` needs a rate: {{ rate = 200, burst = 200 }}"));
        }
        if let Some(per_second) = rate {
            *target = RateLimit::Limit { per_second, burst: burst.unwrap_or(per_second) };
        }
    });
}

fn within(bytes: u64, range: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
    if range.contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!("{bytes} bytes is outside of {} to {}", range.start(), range.end()))
    }
}

/// A number, or "off".
fn cap(value: &toml::de::DeValue<'_>) -> Result<Option<usize>, String> {
    if value.is_str() { value::one_of(&[("off", None)])(value) } else { value::number(0..=usize::MAX)(value).map(Some) }
}

fn not_zero(value: &toml::de::DeValue<'_>) -> Result<Duration, String> {
    match value::duration(value)? {
        Duration::ZERO => Err("it is zero; no client could ever connect".to_owned()),
        duration => Ok(duration),
    }
}

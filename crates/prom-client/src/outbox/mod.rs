//! Writing an event into the outbox of a service's own database, within the service's own transaction.
//!
//! The hub publishes it once the transaction is committed, and not at all if it is rolled back; no connection to a hub is
//! needed here. The guide in `docs/guide/outbox.md` has the tables, and whole examples.
//!
//! ```no_run
//! # #[cfg(feature = "outbox-sql")]
//! # async fn example(pool: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
//! use prom_client::json;
//! use prom_client::outbox::OutboxEvent;
//!
//! let mut transaction = pool.begin().await?;
//! sqlx::query("INSERT INTO orders (id) VALUES (7)").execute(&mut *transaction).await?;
//! OutboxEvent::new("orders.placed", json!({"id": 7}))?.key("7").add_to_postgres(&mut transaction, "outbox").await?;
//! transaction.commit().await?;
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "outbox-mongo")]
mod mongo;
#[cfg(feature = "outbox-sql")]
mod sql;

use std::sync::LazyLock;

use prom_types::{Clock as _, EpochMs, EventId, Headers, IdMaker, Invalid, Json, NewEvent, SystemClock, TopicName};

/// Ids and times of one process only grow, so its rows of one key are published in the order in which they were made.
static MAKER: LazyLock<(SystemClock, IdMaker)> = LazyLock::new(|| (SystemClock::new(), IdMaker::new()));

/// An event for an outbox.
#[derive(Debug, Clone)]
pub struct OutboxEvent {
    event: NewEvent,
    id: EventId,
    ts: EpochMs,
}

impl OutboxEvent {
    /// Checked like a publication: what a hub would refuse for its form is refused here.
    pub fn new(topic: &str, payload: impl Into<Json>) -> Result<Self, Invalid> {
        let event = NewEvent::new(TopicName::parse(topic)?, payload);
        event.check()?;
        let (clock, maker) = &*MAKER;
        let id = maker.make(clock.now_ms());
        Ok(Self { event, id, ts: id.made_ms().unwrap_or_default() })
    }

    /// Rows of one key keep their order.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.event.key = Some(key.into());
        self
    }

    /// Adds a header: `x-…`, `content-type`, `traceparent` or `tracestate`.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Result<Self, Invalid> {
        self.event.headers.insert(name, value)?;
        Ok(self)
    }

    /// The id that the event will have.
    pub fn id(&self) -> EventId {
        self.id
    }

    #[cfg(any(feature = "outbox-mongo", feature = "outbox-sql"))]
    fn headers(&self) -> Option<&Headers> {
        Some(&self.event.headers).filter(|headers| !headers.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn ids_and_times_grow_and_forms_are_checked() {
        let events: Vec<OutboxEvent> =
            (0..1000).map(|n| OutboxEvent::new("orders.placed", json!(n)).unwrap()).collect();
        assert!(events.windows(2).all(|pair| (pair[0].ts, pair[0].id) < (pair[1].ts, pair[1].id)));
        assert!(OutboxEvent::new("No Topic", json!(1)).is_err());
        assert!(OutboxEvent::new("a", json!(1)).unwrap().header("no header", "x").is_err());
    }
}

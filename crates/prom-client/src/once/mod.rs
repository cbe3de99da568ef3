//! Effects that happen exactly once, although deliveries may come again: what was handled is marked in the transaction that makes
//! the effect, so both are there or neither is.
//!
//! ```no_run
//! # #[cfg(feature = "once-sql")]
//! # async fn example(orders: prom_client::Delivery, pool: sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error>> {
//! use prom_client::once::{Once, SqlMarks, once};
//!
//! let marks = SqlMarks::new("handled")?;
//! let mut transaction = pool.begin().await?;
//! let invoiced = once(&marks, &mut *transaction, "billing", &orders, async |transaction| {
//!     sqlx::query("INSERT INTO invoices (id) VALUES (?)").bind("7").execute(transaction).await
//! })
//! .await?;
//! transaction.commit().await?;
//! orders.ack().await?;
//! assert!(matches!(invoiced, Once::First(_)));
//! # Ok(())
//! # }
//! ```
//!
//! Where the effect is a publish, no store is needed: [`Publish::once`] gives it an id that follows from the delivery, and the hub
//! stores it once. Promises: a mark is made only with the effect; the effect is not made where the mark is there; marks expire
//! after [`ONCE_TTL`], unless said otherwise. After a failed effect the caller rolls back, and the event may come again.

#[cfg(feature = "once-mongo")]
mod mongo;
#[cfg(feature = "once-sql")]
mod sql;

use std::time::Duration;

use prom_types::EventId;

use crate::{Publish, StoredEvent};

#[cfg(feature = "once-mongo")]
pub use mongo::MongoMarks;
#[cfg(feature = "once-sql")]
pub use sql::{SqlMarks, UnfitTable};

/// How long a mark is kept: an event comes again later than that only by hand.
pub const ONCE_TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Where marks are kept. `Tx` is the transaction that they share with the effect.
pub trait OnceMarks<Tx: ?Sized> {
    /// What the database fails with.
    type Error;

    /// Marks it within the transaction; `false` if it was marked before.
    fn mark(&self, transaction: &mut Tx, mark: &str) -> impl Future<Output = Result<bool, Self::Error>> + Send;
}

/// What became of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Once<T> {
    /// It was made.
    First(T),
    /// The group handled the event before.
    Again,
}

/// Makes the effect unless the group handled the event before. The caller commits, or rolls back where this fails.
pub async fn once<Tx: ?Sized, M: OnceMarks<Tx>, T, E: From<M::Error>>(
    marks: &M,
    transaction: &mut Tx,
    group: &str,
    event: &StoredEvent,
    effect: impl AsyncFnOnce(&mut Tx) -> Result<T, E>,
) -> Result<Once<T>, E> {
    if !marks.mark(transaction, &once_mark(group, event)).await? {
        return Ok(Once::Again);
    }
    effect(transaction).await.map(Once::First)
}

/// The text under which a group's handling of an event is marked. The same in every client.
pub fn once_mark(group: &str, event: &StoredEvent) -> String {
    format!("{group}/{}/{}/{}", event.topic(), event.partition(), event.id())
}

impl Publish<'_> {
    /// This publish is the effect of an event: publishing again stores nothing, for as long as the first is retained. `name`
    /// tells several effects of one event apart.
    pub fn once(self, group: &str, event: &StoredEvent, name: &str) -> Self {
        let id = EventId::derived(&format!("once:{}/{name}", once_mark(group, event)));
        self.exact_id(id).caused_by(event.id())
    }
}

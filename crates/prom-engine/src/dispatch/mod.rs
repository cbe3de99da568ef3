//! Handing a group the events of one partition: who gets which event, until when, and what then.
//!
//! ```text
//!            ┌──────────────▶ waiting ─────▶ due ──┐   nack, expiry: a failed attempt
//!            │                                     ▼
//!  scan ──▶ ready ──lease──▶ leased ──ack──▶ settled ──▶ the floor moves
//!    │        ▲                 │               ▲
//!    └▶ blocked (its key)       └──▶ dead ──────┘        at the limit: written, then settled
//! ```
//!
//! Two things lie beside it: events that are given back are leased once more below the floor (`given_back`), and with
//! parking a key that fails stops while the others go on (`park`).
//!
//! [`Dispatcher`] is a plain state machine. It knows offsets and hashes of keys, never events; time
//! is handed in; the same inputs give the same outputs. One verb, one file.
//!
//! Promises: an event has at most one live lease; the floor never passes an unsettled event; what
//! was not acked comes again until it is settled or its dead letter is written; memory is bounded
//! by the limits and the windows of the subscribers, whatever the backlog.

mod machine;
mod options;
pub(crate) mod task;

mod ack;
mod bounds;
mod change;
mod changes;
mod dead;
mod expire;
mod given_back;
mod lanes;
mod lease;
mod leave;
mod look;
mod modack;
mod nack;
mod park;
mod release;
mod reset;
mod scan;
mod skip;
mod status;
mod subscriber;
mod take;
mod vanish;
mod wake;
mod withdraw;

mod backoff;
mod deadlines;
mod key_order;
mod progress;
mod unsettled;

#[cfg(test)]
mod promises;

pub use ack::{NotLeased, Settled};
pub use changes::Changes;
pub use dead::Dead;
pub use given_back::{GiveAnswer, GivenEvent, GivenStep};
pub use lanes::LaneStatus;
pub use lease::{LeaseId, Leased};
pub use leave::Leaving;
pub use look::{EventAt, EventLook};
pub use machine::Dispatcher;
pub use options::{DispatchLimits, DispatchOptions};
pub use park::{FirstParked, LetterFate, Parking};
pub use scan::{ScanRequest, ScannedEvent};
pub use status::{DispatchStatus, HeldEvent, Holdup, Limit, Oldest};
pub use subscriber::SubscriberId;
pub(crate) use wake::DispatcherWake;

pub use prom_types::{Backoff, Order};

//! Serving a group through the hub that owns it.
//!
//! ```text
//!   client ◀─▶ this hub ── one link per connection and group ──▶ the owner
//!              frames about the group go there as they are, and so do the answers and events that come back
//! ```
//!
//! Promises: answers come in the order of the frames, as everywhere; nothing is read from the owner
//! beyond what the client takes; the owner hears from a member only when its client was heard; an owner
//! that is silent for the time to live of hubs is given up, and the subscription looks for the next one.

mod link;
mod links;
mod open;
mod take;
mod task;

pub use link::{RelayLink, Relayed, Subscribing};
pub use links::Links;

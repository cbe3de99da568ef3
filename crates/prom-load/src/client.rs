//! The jobs of one connection with `prom-client`, used as its guide says for many events: publishes under way in a
//! window, deliveries taken and acked in batches.

mod consume;
mod publish;
mod publish_paced;
mod tail;

pub use consume::{ConsumeWindow, consume};
pub use publish::{event, publish};
pub use publish_paced::publish_paced;
pub use tail::tail;

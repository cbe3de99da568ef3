//! How fast clients may publish: token buckets per connection, per topic and per subject.

mod bucket;
mod refused;
mod shared;

pub use bucket::{Bucket, Rate, RetryAfter};
pub use refused::{RefusedEvents, Resends};
pub use shared::{Loopback, RateOptions, Rates};

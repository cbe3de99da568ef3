//! How fast clients may publish: token buckets per connection, per topic and per subject.

mod bucket;
mod shared;

pub use bucket::{Bucket, Rate, RetryAfter};
pub use shared::{Loopback, RateOptions, Rates};

//! Load, the same for every server: what is published, what is asked of publishers and consumers, and how their
//! work is timed and checked.

pub mod both;
pub mod catch_up;
pub mod consume;
pub mod consume_job;
pub mod contender;
pub mod crew;
pub mod fan_out;
pub mod fill;
pub mod latency;
pub mod payload;
pub mod publish;
pub mod publish_job;
pub mod rate;
pub mod tail_job;
pub mod topics;

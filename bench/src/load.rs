//! Measurements, the same for every server: how publishers and consumers are put to work, timed and checked. What they
//! do is a job of `prom-load`.

pub mod both;
pub mod catch_up;
pub mod consume;
pub mod contender;
pub mod crew;
pub mod fan_out;
pub mod fill;
pub mod latency;
pub mod publish;
pub mod rate;
pub mod server;
pub mod topics;

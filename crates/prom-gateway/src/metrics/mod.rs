//! What the hub counts, for people and for Prometheus.

mod exposition;
mod family;
mod flows;
mod rates;
mod report;
mod sampler;

pub(crate) use exposition::{Omitted, exposition};
pub(crate) use rates::{MeasuredRates, TopicRates, totals};
pub(crate) use sampler::Sampler;

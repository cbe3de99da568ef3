//! What the hub counts, for people and for Prometheus.

mod exposition;
mod family;
mod flows;
mod rates;
mod sampler;

pub(crate) use exposition::{Omitted, exposition};
pub(crate) use rates::{TopicRates, totals};
pub(crate) use sampler::Sampler;

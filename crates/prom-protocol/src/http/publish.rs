//! `POST /publish`: one event, or many.
//!
//! The body is [`Publish`](crate::frame::publish::Publish), as in a PUBLISH frame: it is read field by field there, so
//! that the payload is carried as it came.

use prom_types::{Receipt, TopicName};
use serde::{Deserialize, Serialize};

use super::flag;
use super::problem::ProblemDocument;

/// The query of `POST /publish`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct PublishQuery {
    /// `1`: all of a batch is stored or nothing. The answer is then all receipts or one problem.
    #[serde(default, with = "flag", skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<u8>, minimum = 0, maximum = 1))]
    pub atomic: bool,
    /// The topic of CloudEvents whose `type` is not one.
    pub topic: Option<TopicName>,
}

/// One receipt for one event, else one result per item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum PublishAnswer {
    One(Receipt),
    Many(Vec<PublishResult>),
}

/// The result of one item of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum PublishResult {
    Stored(Receipt),
    Refused(Box<ProblemDocument>),
}

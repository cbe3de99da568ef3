//! Long work over the bus. Each job goes step by step, so that its caller can show progress and stop it; what must survive
//! a crash is committed with the work itself.
//!
//! | job | what it does |
//! | --- | --- |
//! | [`Prove`] | runs stored events through upcasters and a candidate schema, and counts what would break |
//! | [`Cutover`] | brings a topic's history to its latest version, in another topic or as documents, once and only once |

#![warn(missing_docs)]

mod cutover;
mod prove;

mod error;
mod limits;
mod source;

pub use cutover::{CollectionName, Cutover, CutoverPlace, CutoverPlan, CutoverProgress, CutoverTarget, UnfitEvent};
pub use error::JobError;
pub use prove::{Prove, ProveFailure, ProveProgress};

//! The schema registry: versions of each topic, in memory for the publish path, durable as documents.
//!
//! ```text
//!   register ─▶ checked, compiled, compared ─▶ one commit ─▶ the topic's slot ─▶ compiled when used ─▶ admit judges, stamps
//!                                                  │
//!   other hubs ◀───────────── news ◀───────────────┘
//! ```
//!
//! | collection | key | what |
//! | --- | --- | --- |
//! | `schemas` | topic | its versions, settings and upcasters |
//! | `schema_texts` | id | a schema with its references; several topics may have the same |
//! | `schema_digests` | digest | the id of the schema with this digest |
//! | `schema_registry` | `next_id`, `settings` | the next id; settings of the whole registry |
//!
//! Promises: versions of a topic are numbered 1, 2, 3… and no number is given twice; the same schema has the same id
//! everywhere; of several that register at the same moment each sees what the other stored. A hub starts however many schemas there
//! are and whatever is wrong with one of them: nothing is compiled before it is needed, what is compiled has a bound over all topics,
//! and a version that cannot be used accepts nothing and says why. Schemas are compiled, compared
//! and run by programs of untrusted authors: never on a thread that serves others, unless their cost is known to be small.

mod admit;
mod cache;
mod compare;
mod compiled;
mod defer;
mod delete;
mod diff;
mod judge;
mod learn;
mod list;
mod normalize;
mod record;
mod referrers;
mod register;
mod set;
mod slot;
mod trial;
mod version;

pub use self::compare::SchemaComparison;
pub use self::delete::Deletion;
pub use self::diff::{Difference, DifferenceKind};
pub use self::judge::JudgedEvent;
pub use self::list::{SchemaById, SchemaChoice, SchemaVersion};
pub use self::normalize::{Normalized, NotNormalized, UPCAST_ERROR};
pub use self::referrers::SchemaReferrer;
pub use self::register::{Registered, RegistrationVerdict, SchemaCandidate};
pub use self::trial::SchemaTrial;
pub use self::version::{UPCASTED_FROM, VERSION_HEADER};

pub(crate) use self::admit::{Judgement, stamp_here};
pub(crate) use self::defer::{deferred, deferred_each};
pub(crate) use self::learn::{SchemaLoader, SchemaNews, follow_others};
pub(crate) use self::record::SchemaRegistry;
pub(crate) use self::slot::SchemaSlot;

/// One document per topic.
pub(crate) const COLLECTION: &str = "schemas";
const TEXTS: &str = "schema_texts";
const DIGESTS: &str = "schema_digests";
const REGISTRY: &str = "schema_registry";
const NEXT_ID: &str = "next_id";
const SETTINGS: &str = "settings";

//! Documents in a MongoDB of the user's.
//!
//! Promises: every answer of the database is looked at, statement by statement; nothing counts before a majority has it; no message
//! shows the connection string.

mod answer;
mod changelog;
mod connect;
mod transactional;

pub(super) use changelog::MongoChangelog;
pub(super) use transactional::MongoTransactional;

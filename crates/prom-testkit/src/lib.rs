//! What the tests of every crate need: a real hub (in the test's process or as the binary), disks that lose power or fail, seeded randomness,
//! the judge of crash tests, and programs of others to test against. The clock that tests move by hand is the contract suite's.
//!
//! Nothing here depends on time or chance beyond the seed it is given: a failing run is repeated by
//! its seed.

pub mod faulty;
pub mod history;
mod hub;
mod hub_in_process;
#[cfg(feature = "mongo")]
pub mod mongo;
pub mod power_loss;
pub mod process_example;
mod random;
pub mod tools;

pub use prom_store::contract::TestClock;

pub use faulty::{Faults, FaultyDisk, Place, Which};
pub use hub::{HubProcess, prom_binary};
pub use hub_in_process::Hub;
pub use power_loss::{PowerLossDisk, Survival};
pub use process_example::ProcessExample;
pub use random::Random;

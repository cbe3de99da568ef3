//! What the tests of every crate need: a real hub (in the test's runtime, in its process or as the binary), disks that
//! lose power or fail, seeded randomness, the judge of crash tests, and third-party programs to test against. One clock
//! follows tokio's time; the contract suite has the one that tests move by hand.
//!
//! Nothing here depends on time or chance beyond its seed: the seed reproduces a failing run.

pub mod faulty;
pub mod history;
mod hub;
mod hub_in_memory;
mod hub_in_process;
#[cfg(feature = "mongo")]
pub mod mongo;
pub mod postgres;
pub mod power_loss;
pub mod process_example;
mod random;
mod tokio_clock;
pub mod tools;

pub use prom_store::contract::TestClock;

pub use faulty::{FailsOn, FaultScope, Faults, FaultyDisk};
pub use hub::{HubProcess, prom_binary};
pub use hub_in_memory::{Cable, HubInMemory};
pub use hub_in_process::HubInProcess;
pub use power_loss::{PowerLossDisk, Survival};
pub use process_example::ProcessExample;
pub use random::Random;
pub use tokio_clock::TokioClock;

//! What the tests of every crate need: disks that lose power or fail, seeded randomness, and the
//! judge of crash tests. The clock that tests move by hand is the contract suite's.
//!
//! Nothing here depends on time or chance beyond the seed it is given: a failing run is repeated by
//! its seed.

pub mod faulty;
pub mod history;
pub mod power_loss;
mod random;

pub use prom_store::contract::TestClock;

pub use faulty::{Faults, FaultyDisk, Place, Which};
pub use power_loss::{PowerLossDisk, Survival};
pub use random::Random;

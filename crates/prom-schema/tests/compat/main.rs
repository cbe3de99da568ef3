//! What the comparison of schemas promises, through its public face.

#![allow(clippy::print_stdout, reason = "what a run did is for the person who looks at it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod corners;
mod everyday;
mod guided;
mod hostile;
mod matrix;
mod modes;
mod names;
mod pairs;
mod random;
mod random_schema;
mod second;
mod undeclared;

use std::time::Duration;

use prom_schema::CompatPolicy;
use prom_schema::compat::{Budget, Settings};

/// Steps decide and not the clock, so that a busy machine gives the same answers.
fn settings(policy: CompatPolicy) -> Settings {
    let budget = Budget { time: Duration::from_secs(60), ..Budget::default() };
    Settings { policy, budget, ..Settings::default() }
}

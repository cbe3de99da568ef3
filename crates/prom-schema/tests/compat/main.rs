//! What the comparison of schemas promises, through its public face.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod corners;
mod hostile;
mod matrix;
mod modes;
mod pairs;
mod random;
mod random_schema;
mod undeclared;

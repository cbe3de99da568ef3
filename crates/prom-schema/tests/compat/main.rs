//! What the comparison of schemas promises, through its public face.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on stops, and seeds are printed")]

mod corners;
mod everyday;
mod hostile;
mod matrix;
mod modes;
mod names;
mod pairs;
mod random;
mod random_schema;
mod undeclared;

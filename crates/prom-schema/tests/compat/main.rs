//! What the comparison of schemas promises, through its public face.

mod corners;
mod hostile;
mod matrix;
mod modes;
mod pairs;
mod random;
mod random_schema;
mod undeclared;

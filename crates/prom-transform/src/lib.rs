//! jq programs: compiled once, run many times, under limits that hold whatever the program does.
//!
//! Filters, keys, maps and transforms in configuration are jq programs by untrusted authors. Promises:
//!
//! - A program ends: endless loops, runaway recursion and exploding values are stopped with [`RunError::Limit`], on the
//!   caller's thread, without leaving anything running behind.
//! - A program touches nothing: no files, no environment, no other inputs, no logging, no exit. `now` is the only thing
//!   it can see besides its input.
//! - Its outputs are JSON. `nan` and infinities, which JSON lacks, are written as `null`.
//!
//! How that is done, and what stays outside the limits, is in `docs/decisions/0001-jq-by-jaq.md`.
//!
//! ```
//! use prom_transform::{Program, ProgramLimits};
//!
//! let program = Program::compile(".payload.cpu_pct > 90", ProgramLimits::default()).unwrap();
//! assert!(program.test(br#"{"payload":{"cpu_pct":97.5}}"#).unwrap());
//! ```

mod program;

mod compile;
mod recursion;

mod interpreter;
mod meter;
mod natives;
mod regex;
mod text;
mod value;

mod error;
mod limits;

pub use error::{CompileError, Exceeded, RunError};
pub use limits::{PROGRAM_BYTES, ProgramLimits};
pub use program::Program;

//! Schemas of topics.
//!
//! - [`codegen`]: types and validators for other programs, made from JSON Schemas.

pub mod codegen;

//! Types and validators from schemas: what is written, that it compiles, and that it says what the schemas say.
//!
//! `corpus/` is a folder of schemas as `prom codegen` reads it. `verdicts.json` holds documents with the verdict of an
//! independent implementation of JSON Schema; the validators in TypeScript are held against it by `sdk/ts/test/codegen`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod corpus;
mod documents;
mod generate;
mod round_trip;
mod verdicts;

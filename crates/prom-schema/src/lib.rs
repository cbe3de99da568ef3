//! JSON Schemas of topics: whether one version accepts what another accepts, decided by meaning.
//!
//! Knows no engine, no store and no network. A schema comes from untrusted authors, so everything here is bounded by
//! [`limits`], and references to other documents are refused instead of fetched.

pub mod compat;
pub mod limits;

//! What is made from `protocol/codes.json`: the enums of `prom-protocol`, the tables of the TypeScript client, and the page
//! for people.

mod page;
mod rust;
mod typescript;

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::generate::Made;

#[derive(Deserialize)]
pub struct Codes {
    pub errors: Vec<ErrorCode>,
    pub closes: Vec<CloseCode>,
}

#[derive(Deserialize)]
pub struct ErrorCode {
    pub code: String,
    pub http: u16,
    pub retry: String,
    pub meaning: String,
    pub fix: String,
}

#[derive(Deserialize)]
pub struct CloseCode {
    pub code: u16,
    pub name: String,
    pub reconnect: String,
    pub meaning: String,
}

pub fn make(root: &Path) -> Result<Vec<Made>> {
    let source = std::fs::read_to_string(root.join("protocol/codes.json")).context("protocol/codes.json")?;
    let codes: Codes = serde_json::from_str(&source).context("protocol/codes.json")?;
    Ok(vec![
        ("crates/prom-protocol/src/codes.rs", rust::text(&codes)?),
        ("sdk/ts/src/codes.ts", typescript::text(&codes)?),
        ("docs/guide/codes.md", page::text(&codes)?),
    ])
}

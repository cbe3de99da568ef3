//! The enums of `prom-protocol`.

use std::fmt::Write as _;

use anyhow::Result;

use super::{Codes, ErrorCode};

const RUST_HEAD: &str = "\
//! Error and close codes. Made from `protocol/codes.json` by `cargo xtask gen`; not edited by hand.

use serde::{Deserialize, Serialize};

/// Whether sending the same again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    No,
    Yes,
    /// After `retry_after_ms`.
    After,
    /// With the same event id, so that it is stored once.
    SameId,
    WithNewToken,
}

/// Whether connecting again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconnect {
    No,
    Yes,
    /// With a token that is valid.
    WithToken,
}

/// Why a frame or a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = \"snake_case\")]
pub enum ErrorCode {
";

const CLOSE_HEAD: &str = "\
/// Why the hub ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CloseCode {
";

const PARSE: &str = "    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.as_str() == code)
    }
";

const DISPLAY: &str = "\
impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
";

const RECONNECT: &str = "    /// What a client does after it. Our own codes go by their range.
    pub fn reconnect(code: u16) -> Reconnect {
        match code {
";

const RECONNECT_BY_RANGE: &str = "            4100..=4199 => Reconnect::WithToken,
            4200..=4299 => Reconnect::No,
            _ => Reconnect::Yes,
        }
    }
}
";

pub fn text(codes: &Codes) -> Result<String> {
    let mut text = String::from(RUST_HEAD);
    for error in &codes.errors {
        writeln!(text, "    /// {}\n    {},", error.meaning, camel(&error.code))?;
    }
    text.push_str("}\n\nimpl ErrorCode {\n    pub const ALL: &'static [Self] = &[\n");
    for error in &codes.errors {
        writeln!(text, "        Self::{},", camel(&error.code))?;
    }
    text.push_str("    ];\n\n");
    let quoted = |value: &str| format!("{value:?}");
    let errors = &codes.errors;
    lookup(&mut text, "as_str", "", "&'static str", errors.iter().map(|e| (&e.code, quoted(&e.code))))?;
    text.push_str(PARSE);
    text.push('\n');
    let status = "The status of the same refusal over HTTP.";
    lookup(&mut text, "http_status", status, "u16", errors.iter().map(|e| (&e.code, e.http.to_string())))?;
    let retry = |e: &ErrorCode| format!("Retry::{}", camel(&e.retry));
    lookup(&mut text, "retry", "", "Retry", errors.iter().map(|e| (&e.code, retry(e))))?;
    lookup(
        &mut text,
        "meaning",
        "What it means.",
        "&'static str",
        errors.iter().map(|e| (&e.code, quoted(&e.meaning))),
    )?;
    lookup(&mut text, "fix", "What to do about it.", "&'static str", errors.iter().map(|e| (&e.code, quoted(&e.fix))))?;
    close_block(&mut text);
    text.push_str(DISPLAY);
    text.push('\n');
    text.push_str(CLOSE_HEAD);
    let closes = &codes.closes;
    for close in closes {
        writeln!(text, "    /// {}\n    {},", close.meaning, camel(&close.name))?;
    }
    text.push_str("}\n\nimpl CloseCode {\n");
    lookup(&mut text, "code", "", "u16", closes.iter().map(|c| (&c.name, c.code.to_string())))?;
    lookup(&mut text, "name", "", "&'static str", closes.iter().map(|c| (&c.name, quoted(&c.name))))?;
    text.push_str(RECONNECT);
    for close in closes.iter().filter(|close| close.code < 4000) {
        writeln!(text, "            {} => Reconnect::{},", close.code, camel(&close.reconnect))?;
    }
    text.push_str(RECONNECT_BY_RANGE);
    Ok(text)
}

/// A method that gives each variant its value.
fn lookup<'a>(
    text: &mut String,
    name: &str,
    about: &str,
    gives: &str,
    values: impl Iterator<Item = (&'a String, String)>,
) -> Result<()> {
    if !about.is_empty() {
        writeln!(text, "    /// {about}")?;
    }
    writeln!(text, "    pub fn {name}(self) -> {gives} {{\n        match self {{")?;
    for (variant, value) in values {
        writeln!(text, "            Self::{} => {value},", camel(variant))?;
    }
    text.push_str("        }\n    }\n\n");
    Ok(())
}

/// An empty line before the closing bracket would be one too many.
fn close_block(text: &mut String) {
    text.truncate(text.trim_end().len());
    text.push_str("\n}\n\n");
}

fn camel(name: &str) -> String {
    let mut camel = String::new();
    for word in name.split('_') {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

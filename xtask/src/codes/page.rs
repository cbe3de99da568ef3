//! The page for people.

use std::fmt::Write as _;

use anyhow::Result;

use super::{CloseCode, Codes, ErrorCode};

const PAGE_HEAD: &str = "\
# Error and close codes

Made from `protocol/codes.json` by `cargo xtask gen`.

## Errors

The `code` of an `ERR` frame and of a problem document over HTTP.

| code | HTTP | meaning | what to do | send again? |
| --- | --- | --- | --- | --- |
";

const PAGE_CLOSES: &str = "
## Closes

The code with which the hub ends a WebSocket. Our own codes go by range: 4000–4099 connect again after a wait, 4100–4199 get
a token first, 4200–4299 do not connect again without changing something.

| code | name | meaning | connect again? |
| --- | --- | --- | --- |
";

pub fn text(codes: &Codes) -> Result<String> {
    let mut text = String::from(PAGE_HEAD);
    for ErrorCode { code, http, retry, meaning, fix } in &codes.errors {
        writeln!(text, "| `{code}` | {http} | {meaning} | {fix} | {} |", retry.replace('_', " "))?;
    }
    text.push_str(PAGE_CLOSES);
    for CloseCode { code, name, reconnect, meaning } in &codes.closes {
        writeln!(text, "| {code} | `{name}` | {meaning} | {} |", reconnect.replace('_', " "))?;
    }
    Ok(text)
}

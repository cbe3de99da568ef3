//! `prom feeds seek`: moves a feed to a time or a token.

use clap::Args;
use prom_protocol::http::flows::{FlowKindView, SeekFeed};

use super::change::change;
use crate::cli::Context;
use crate::exit::CommandResult;
use crate::moment;

/// Resume tokens are longer than any way to write a time.
const SHORTEST_TOKEN: usize = 32;

#[derive(Debug, Args)]
pub struct SeekCommand {
    /// Its name, as in prom.toml
    name: String,
    /// A time (epoch milliseconds, 2030-01-31T12:00:00Z, -15m), or a resume token
    #[arg(long, value_name = "TIME|TOKEN", value_parser = place, allow_hyphen_values = true)]
    at: SeekFeed,
}

fn place(text: &str) -> Result<SeekFeed, String> {
    match moment::parse(text) {
        Ok(at) => Ok(SeekFeed { at: Some(at), token: None }),
        Err(_) if is_token(text) => Ok(SeekFeed { at: None, token: Some(text.to_owned()) }),
        Err(wrong) => Err(format!("{wrong}; or give a resume token")),
    }
}

/// As MongoDB makes them: hexadecimal, alone or in their document. Also a moment of its log, as events have it in
/// `x-change-cluster-time`.
fn is_token(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if text.split_once('.').is_some_and(|(seconds, increment)| is_number(seconds) && is_number(increment)) {
        return true;
    }
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex && text.len() >= SHORTEST_TOKEN) || (text.starts_with('{') && text.contains("_data"))
}

impl SeekCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        change(context, FlowKindView::Feed, &self.name, "seek", &self.at).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_from_a_token() {
        assert_eq!(place("1709251200123"), Ok(SeekFeed { at: Some(1_709_251_200_123), token: None }));
        for token in ["8265E6F2A1000000012B022C0100296E5A10", "1700000000.3", r#"{"_data": "8265E6"}"#] {
            assert_eq!(place(token), Ok(SeekFeed { at: None, token: Some(token.to_owned()) }));
        }
        for wrong in ["", "yesterday", "2024-13-01", "82AB"] {
            assert!(place(wrong).unwrap_err().contains("resume token"), "{wrong:?} passed");
        }
    }
}

//! The tables of the TypeScript client: types from which the compiler knows every code, and what to do after each.

use std::fmt::Write as _;

use anyhow::Result;

use super::{CloseCode, Codes, ErrorCode};

const HEAD: &str = "\
/** Error and close codes. Made from `protocol/codes.json` by `cargo xtask gen`; not edited by hand. */

/** Whether sending the same again can help: `after` means after `retry_after_ms`, `same_id` with the same event id. */
export type Retry = \"no\" | \"yes\" | \"after\" | \"same_id\" | \"with_new_token\";

/** Whether connecting again can help. */
export type Reconnect = \"no\" | \"yes\" | \"with_token\";

/** What is known of an error code. */
export interface ErrorCodeFacts {
  /** The status of the same refusal over HTTP. */
  readonly httpStatus: number;
  readonly retry: Retry;
  readonly meaning: string;
  /** What to do about it. */
  readonly fix: string;
}

/** What is known of a close code. */
export interface CloseCodeFacts {
  readonly name: string;
  readonly reconnect: Reconnect;
  readonly meaning: string;
}

/** Why a frame or a request was refused. */
export const ERROR_CODES = {
";

const CLOSES: &str = "\
} as const satisfies Readonly<Record<string, ErrorCodeFacts>>;

/** The code of an `ERR` frame. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** Whether this client knows the code; a newer hub may have more. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

/** Why the hub ended a connection, by the number of the WebSocket close. */
export const CLOSE_CODES: Readonly<Record<number, CloseCodeFacts>> = {
";

const TAIL: &str = "\
};

/** What a client does after a connection was closed with this code. Our own codes go by their range. */
export function reconnectAfter(closeCode: number): Reconnect {
  if (closeCode >= 4100 && closeCode <= 4199) return \"with_token\";
  if (closeCode >= 4200 && closeCode <= 4299) return \"no\";
  return closeCode < 4000 ? (CLOSE_CODES[closeCode]?.reconnect ?? \"yes\") : \"yes\";
}
";

pub fn text(codes: &Codes) -> Result<String> {
    let mut text = String::from(HEAD);
    for ErrorCode { code, http, retry, meaning, fix } in &codes.errors {
        writeln!(text, "  /** {meaning} */\n  {code}: {{")?;
        writeln!(text, "    httpStatus: {http},\n    retry: {},", quoted(retry)?)?;
        writeln!(text, "    meaning: {},\n    fix: {},\n  }},", quoted(meaning)?, quoted(fix)?)?;
    }
    text.push_str(CLOSES);
    for CloseCode { code, name, reconnect, meaning } in &codes.closes {
        let (name, reconnect, meaning) = (quoted(name)?, quoted(reconnect)?, quoted(meaning)?);
        writeln!(text, "  {code}: {{ name: {name}, reconnect: {reconnect}, meaning: {meaning} }},")?;
    }
    text.push_str(TAIL);
    Ok(text)
}

/// A literal of JSON is one of TypeScript.
fn quoted(text: &str) -> Result<String> {
    Ok(serde_json::to_string(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_an_entry_with_its_facts() {
        let errors = vec![ErrorCode {
            code: "too_large".into(),
            http: 413,
            retry: "no".into(),
            meaning: "A \"frame\" is above its limit.".into(),
            fix: "Send less.".into(),
        }];
        let closes = vec![CloseCode {
            code: 4001,
            name: "silent".into(),
            reconnect: "yes".into(),
            meaning: "Nothing came.".into(),
        }];
        let text = text(&Codes { errors, closes }).unwrap();
        assert!(text.contains("  too_large: {\n    httpStatus: 413,\n    retry: \"no\",\n"), "{text}");
        assert!(text.contains(r#"meaning: "A \"frame\" is above its limit.","#), "{text}");
        assert!(
            text.contains("  4001: { name: \"silent\", reconnect: \"yes\", meaning: \"Nothing came.\" },"),
            "{text}"
        );
    }
}

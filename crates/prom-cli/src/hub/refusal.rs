//! Answers that say no: RFC 9457 problem documents, and what to tell people about them.

use prom_client::{Error, ErrorCode, SchemaMisfit};
use prom_engine::VERSION_HEADER;
use prom_protocol::http::problem::ProblemDocument;
use reqwest::{Response, StatusCode, Url};

use crate::exit::Failure;
use crate::violations;

pub async fn read(base: &Url, response: Response) -> Failure {
    let status = response.status();
    // A body that cannot be read counts as empty: the status says enough.
    let text = response.text().await.unwrap_or_default();
    match serde_json::from_str::<ProblemDocument>(&text) {
        Ok(problem) => of_status(status, &problem),
        Err(_) => Failure::unreachable(format!("{base} answered {status}, which is not a hub's answer"))
            .fix("give the address of a hub with --url or PROM_URL"),
    }
}

/// A problem in the middle of an answer that began well.
pub fn of_problem(problem: &ProblemDocument) -> Failure {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    of_status(status, problem)
}

fn of_status(status: StatusCode, problem: &ProblemDocument) -> Failure {
    if problem.violations.is_empty() {
        return judge(status, &problem.detail, &problem.code, problem.retry_after_ms);
    }
    let why = violations::in_words(&problem.violations);
    Failure::no(format!("{} ({})\n{why}", problem.detail, problem.code))
}

fn judge(status: StatusCode, detail: &str, code: &str, retry_after_ms: Option<u64>) -> Failure {
    let what = format!("{detail} ({code})");
    let failure = match status {
        StatusCode::BAD_REQUEST => Failure::usage(what),
        StatusCode::NOT_FOUND => Failure::no(what),
        status if status.is_server_error() => Failure::unreachable(what),
        _ => Failure::refused(what),
    };
    match advice(code, retry_after_ms) {
        Some(advice) => failure.fix(advice),
        None => failure,
    }
}

/// The same for what the WebSocket client says.
pub fn of_client(error: Error) -> Failure {
    let what = error.to_string();
    match error {
        Error::Refused { message, misfit: Some(misfit), .. } => {
            Failure::refused(format!("{message} ({})", ErrorCode::SchemaInvalid.as_str())).fix(how_to_fit(&misfit))
        }
        Error::Refused { code: ErrorCode::Conflict, message, .. } => {
            Failure::no(format!("{message} ({})", ErrorCode::Conflict.as_str()))
                .fix("publish again with the value that was found, if that is still right")
        }
        Error::Refused { code, message, retry_after, .. } => {
            let retry_after_ms = retry_after.and_then(|wait| u64::try_from(wait.as_millis()).ok());
            let status = StatusCode::from_u16(code.http_status()).unwrap_or(StatusCode::FORBIDDEN);
            judge(status, &message, code.as_str(), retry_after_ms)
        }
        Error::Invalid(_) | Error::Url { .. } | Error::TooLarge { .. } => Failure::usage(what),
        Error::Unreachable { reason, .. } => Failure::unreachable(what).fix(how_to_reach(&reason)),
        Error::GaveUp { .. } | Error::Closed { .. } => {
            Failure::unreachable(what).fix("check that the hub is still running, then try again")
        }
        Error::Token { .. } => Failure::refused(what),
        Error::Tls { .. } | Error::LeaseLost { .. } | Error::Unsupported { .. } | Error::Payload { .. } => {
            Failure::no(what)
        }
    }
}

/// How to make a payload fit its schema.
fn how_to_fit(misfit: &SchemaMisfit) -> String {
    let SchemaMisfit { version, pointer, rule, value } = misfit;
    if rule == VERSION_HEADER {
        return format!("name a registered version in the header {VERSION_HEADER}, or leave the header out");
    }
    let place = if pointer.is_empty() { "the payload" } else { pointer };
    let now = if value.is_empty() { String::new() } else { format!(", now {value},") };
    format!("change {place}{now} to satisfy the rule `{rule}`; `prom schema show TOPIC {version}` prints the schema")
}

/// How to go on where no connection was made.
pub fn how_to_reach(cause: &str) -> &'static str {
    if cause.contains("CaUsedAsEndEntity") {
        return "the hub's certificate is marked as a CA; create one with `-addext basicConstraints=critical,CA:FALSE`";
    }
    if cause.contains("certificate") {
        return "give the certificate of the authority that signed the hub's with --ca or PROM_CA";
    }
    "start one with `prom serve`, or name another with --url or PROM_URL"
}

/// How to go on, by the code of the problem.
fn advice(code: &str, retry_after_ms: Option<u64>) -> Option<String> {
    let advice = match code {
        "unauthorized" | "no_token" => "give a token with --token or PROM_TOKEN; `prom token` creates one",
        "jwt_expired" => "get a fresh token; `prom token` creates one",
        "jwt_invalid" => "give a token that this hub accepts: same secret or keys, `aud` and `iss`",
        "forbidden" => "use a token whose scopes or policy allow it",
        "history_gone" => {
            "ask for a later time; `compaction = { min_age = … }` and a longer retention keep more of the past"
        }
        "unknown_topic" => "`prom topics` and `prom groups` list what there is",
        "overloaded" => "try again in a moment",
        "rate_limited" => match retry_after_ms {
            Some(ms) => return Some(format!("try again in {ms} ms")),
            None => "try again in a moment",
        },
        _ => return None,
    };
    Some(advice.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::exit_code;

    fn told(status: u16, code: &str) -> (String, String) {
        let failure = judge(StatusCode::from_u16(status).unwrap(), "d", code, Some(12));
        let text = failure.text().unwrap();
        (format!("{:?}", exit_code(&Err(failure))), text)
    }

    #[test]
    fn every_status_has_its_exit_code_and_known_codes_have_advice() {
        for (status, code, exit) in [(400, "bad_request", 2), (404, "unknown_topic", 1), (401, "no_token", 4)]
            .into_iter()
            .chain([(403, "forbidden", 4), (429, "rate_limited", 4), (413, "too_large", 4), (503, "overloaded", 3)])
        {
            let (exited, text) = told(status, code);
            assert_eq!(exited, format!("{:?}", std::process::ExitCode::from(exit)), "{code}");
            assert!(text.starts_with(&format!("d ({code})")), "{text}");
        }
        assert!(told(429, "rate_limited").1.ends_with("try again in 12 ms"));
    }

    #[test]
    fn a_payload_that_does_not_fit_is_told_with_place_value_and_rule() {
        let misfit = |pointer: &str, rule: &str, value: &str| {
            let (pointer, rule, value) = (pointer.to_owned(), rule.to_owned(), value.to_owned());
            how_to_fit(&SchemaMisfit { version: 2, pointer, rule, value })
        };
        let told = misfit("/pid", "type", "\"one\"");
        assert!(told.starts_with("change /pid, now \"one\", to satisfy the rule `type`;"), "{told}");
        assert!(told.contains("`prom schema show TOPIC 2`"), "{told}");
        assert!(misfit("", "readable", "").starts_with("change the payload to satisfy"));
        assert!(misfit("", VERSION_HEADER, "9").contains("leave the header out"));
    }
}

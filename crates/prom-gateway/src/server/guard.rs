//! What a hub without auth refuses: every process on this machine may use it, but not a web page that its
//! user happens to look at.
//!
//! A page can make a browser connect to loopback. Browsers say where the page is from (`Origin`), and
//! which host it believes to talk to (`Host`): both have to be this machine, unless the origin is
//! allowed by configuration. What a page merely embeds comes without an origin; there `Sec-Fetch-Site` says that
//! it is another's page. People may still follow a link.

use http::HeaderMap;
use http::header::{HOST, ORIGIN};

use crate::{Cors, Hub};

/// The reason for a refusal.
pub fn check(hub: &Hub, headers: &HeaderMap) -> Result<(), &'static str> {
    if !hub.auth.is_open() {
        return Ok(());
    }
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    if let Some(host) = text(HOST)
        && !is_this_machine(host)
    {
        return Err("a hub without auth answers only to the name localhost or a loopback address");
    }
    let is = |name, value| headers.get(name).is_some_and(|found| found == value);
    match text(ORIGIN) {
        None if is("sec-fetch-site", "cross-site") && !is("sec-fetch-dest", "document") => {
            Err("a hub without auth is not embedded by pages of other machines; configure auth")
        }
        Some(origin) if !is_allowed(&hub.options.cors, origin) => {
            Err("a hub without auth serves no pages of other machines; allow the origin, or configure auth")
        }
        _ => Ok(()),
    }
}

fn is_allowed(cors: &Cors, origin: &str) -> bool {
    let ours = origin.split_once("://").is_some_and(|(_, authority)| is_this_machine(authority));
    ours || match cors {
        Cors::None => false,
        Cors::Any => true,
        Cors::Origins(origins) => origins.iter().any(|allowed| allowed == origin),
    }
}

fn is_this_machine(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<http::uri::Authority>() else {
        return false;
    };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let address: Option<std::net::IpAddr> = host.parse().ok();
    host.eq_ignore_ascii_case("localhost") || address.is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        for ours in ["localhost", "LOCALHOST:8090", "127.0.0.1:1", "127.9.9.9", "[::1]:8090"] {
            assert!(is_this_machine(ours), "{ours}");
        }
        for foreign in ["example.com", "127.0.0.1.example.com", "localhost.example.com:8090", "10.0.0.1", "", "a b"] {
            assert!(!is_this_machine(foreign), "{foreign}");
        }
    }

    #[test]
    fn foreign_pages_need_to_be_allowed() {
        let page = "https://ops.example.com";
        assert!(!is_allowed(&Cors::None, page));
        assert!(!is_allowed(&Cors::None, "null"));
        assert!(is_allowed(&Cors::None, "http://localhost:5173"));
        assert!(is_allowed(&Cors::Origins(vec![page.to_owned()]), page));
        assert!(is_allowed(&Cors::Any, page));
    }
}

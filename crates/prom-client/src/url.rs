//! The address of a hub: `http://host:port`, or `https`, `ws`, `wss`; the path is `/ws` unless said.

use http::Uri;

use crate::Error;

/// A checked address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HubUrl {
    pub transport: Transport,
    /// Without the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
    /// As the `Host` header has it.
    pub authority: String,
    pub path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Plain,
    Tls,
}

impl HubUrl {
    pub fn parse(url: &str) -> Result<Self, Error> {
        let refuse = |reason| Error::Url { url: url.chars().take(200).collect(), reason };
        let uri: Uri = url.parse().map_err(|_| refuse("it is not a URL"))?;
        let transport = match uri.scheme_str() {
            Some("http" | "ws") => Transport::Plain,
            Some("https" | "wss") => Transport::Tls,
            Some(_) => return Err(refuse("the scheme is none of http, https, ws, wss")),
            None => return Err(refuse("it has no scheme")),
        };
        let authority = uri.authority().ok_or_else(|| refuse("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(refuse("it carries a user; give the token as an option instead"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(refuse("it names no host"));
        }
        let default_port = match transport {
            Transport::Plain => 80,
            Transport::Tls => 443,
        };
        let port = authority.port_u16().unwrap_or(default_port);
        let path = match uri.path_and_query().map_or("/", |path| path.as_str()) {
            "" | "/" => "/ws",
            other => other,
        };
        Ok(Self {
            transport,
            host: host.to_owned(),
            port,
            authority: authority.as_str().to_owned(),
            path: path.to_owned(),
        })
    }
}

impl std::fmt::Display for HubUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = match self.transport {
            Transport::Plain => "ws",
            Transport::Tls => "wss",
        };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_people_write_them_are_read() {
        let check = |url: &str, expected: &str, port: u16, host: &str| {
            let parsed = HubUrl::parse(url).unwrap();
            assert_eq!(
                (parsed.to_string().as_str(), parsed.port, parsed.host.as_str()),
                (expected, port, host),
                "{url}"
            );
        };
        check("http://127.0.0.1:8090", "ws://127.0.0.1:8090/ws", 8090, "127.0.0.1");
        check("http://127.0.0.1:8090/", "ws://127.0.0.1:8090/ws", 8090, "127.0.0.1");
        check("wss://hub.example", "wss://hub.example/ws", 443, "hub.example");
        check("https://[::1]:9000/bus/ws", "wss://[::1]:9000/bus/ws", 9000, "::1");
        check("ws://localhost", "ws://localhost/ws", 80, "localhost");
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        for (url, reason) in [
            ("127.0.0.1:8090", "scheme"),
            ("ftp://hub.example", "none of http"),
            ("http://me:secret@hub.example", "user"),
            ("", "not a URL"),
        ] {
            let told = HubUrl::parse(url).unwrap_err().to_string();
            assert!(told.contains(reason), "{url}: {told}");
        }
    }
}

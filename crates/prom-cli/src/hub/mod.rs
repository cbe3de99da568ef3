//! Talking to a hub over HTTP. Every refusal and every broken connection becomes a failure that says what to do.

mod lines;
mod refusal;

use std::path::{Path, PathBuf};
use std::time::Duration;

use prom_client::{Client, ClientOptions};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::exit::Failure;
pub use lines::JsonLines;
pub use refusal::{of_client, of_problem};

/// Reaching a hub takes no longer than this.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A hub that has not answered by then will not. Streams have no limit.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Where a hub is, and who we are.
#[derive(Clone)]
pub struct HubClient {
    http: reqwest::Client,
    base: Url,
    token: Option<String>,
    ca: Option<PathBuf>,
}

/// An answer as the hub wrote it.
pub struct Answer {
    pub text: String,
}

impl HubClient {
    /// `ca` is a file of certificates that are trusted besides those of the machine.
    pub fn new(url: &str, token: Option<String>, ca: Option<PathBuf>) -> Result<Self, Failure> {
        let base = parse_url(url)?;
        // A hub does not redirect. Anything else that does must not get the token.
        let mut http = reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT).redirect(Policy::none());
        if is_this_machine(&base) {
            http = http.no_proxy();
        }
        http = match (base.scheme(), &ca) {
            // Nothing to verify: machines without certificates of their own can talk to a hub too.
            ("http", _) => http.tls_certs_only([]),
            (_, Some(file)) => http.tls_certs_merge(read_certificates(file)?),
            (_, None) => http,
        };
        let http = http.build().map_err(|error| Failure::no(format!("no HTTP client: {}", causes(&error))))?;
        Ok(Self { http, base, token: token.filter(|token| !token.is_empty()), ca })
    }

    /// As people write it.
    pub fn address(&self) -> String {
        self.base.as_str().trim_end_matches('/').to_owned()
    }

    /// The same hub over WebSocket.
    pub async fn connect(&self) -> Result<Client, Failure> {
        self.connect_with(ClientOptions::default()).await
    }

    /// As [`HubClient::connect`], with options of the caller's.
    pub async fn connect_with(&self, mut options: ClientOptions) -> Result<Client, Failure> {
        if let Some(token) = &self.token {
            options = options.token(token);
        }
        if let Some(ca) = &self.ca {
            options = options.extra_ca(ca);
        }
        Client::connect(self.base.as_str(), options).await.map_err(of_client)
    }

    pub async fn get(&self, path: &[&str], query: &impl Serialize) -> Result<Answer, Failure> {
        self.answer(self.request(Method::GET, path)?.query(query)).await
    }

    /// An answer that is read while it comes.
    pub async fn get_stream(&self, path: &[&str], query: &impl Serialize) -> Result<Response, Failure> {
        self.send(self.request(Method::GET, path)?.query(query)).await
    }

    pub async fn put(&self, path: &[&str], body: &impl Serialize) -> Result<Answer, Failure> {
        self.answer(self.request(Method::PUT, path)?.json(body)).await
    }

    pub async fn patch(&self, path: &[&str], body: &impl Serialize) -> Result<Answer, Failure> {
        self.answer(self.request(Method::PATCH, path)?.json(body)).await
    }

    pub async fn post(&self, path: &[&str], body: &impl Serialize) -> Result<Answer, Failure> {
        self.answer(self.request(Method::POST, path)?.json(body)).await
    }

    /// An answer in lines of JSON, read while they come.
    pub async fn post_for_lines(&self, path: &[&str], body: &impl Serialize) -> Result<JsonLines, Failure> {
        let response = self.send(self.request(Method::POST, path)?.json(body)).await?;
        Ok(JsonLines::new(self.clone(), response))
    }

    /// Lines of JSON in, lines of JSON out.
    pub async fn post_lines(
        &self,
        path: &[&str],
        query: &impl Serialize,
        lines: reqwest::Body,
    ) -> Result<Response, Failure> {
        let request = self.request(Method::POST, path)?.query(query);
        self.send(request.header("content-type", "application/x-ndjson").body(lines)).await
    }

    pub async fn delete(&self, path: &[&str]) -> Result<Answer, Failure> {
        self.delete_with(path, &()).await
    }

    pub async fn delete_with(&self, path: &[&str], query: &impl Serialize) -> Result<Answer, Failure> {
        self.answer(self.request(Method::DELETE, path)?.query(query)).await
    }

    fn request(&self, method: Method, path: &[&str]) -> Result<RequestBuilder, Failure> {
        let mut url = self.base.clone();
        for segment in path {
            // Addresses cannot hold these as names, not even escaped.
            if matches!(*segment, "." | "..") {
                return Err(Failure::usage(format!("`{segment}` cannot be part of an address")));
            }
        }
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let request = self.http.request(method, url);
        Ok(match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Answer, Failure> {
        let response = self.send(request.timeout(ANSWER_TIMEOUT)).await?;
        let text = response.text().await.map_err(|error| self.broken(&error))?;
        Ok(Answer { text })
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let response = request.send().await.map_err(|error| self.broken(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refusal::read(&self.base, response).await)
    }

    /// The hub was not reached, or fell silent in the middle.
    pub fn broken(&self, error: &reqwest::Error) -> Failure {
        let base = self.base.as_str().trim_end_matches('/');
        let cause = causes(error);
        if error.is_connect() {
            return Failure::unreachable(format!("no hub at {base}: {cause}")).fix(refusal::how_to_reach(&cause));
        }
        Failure::unreachable(format!("the connection to {base} broke: {cause}"))
            .fix("check that the hub is still running and whether it expects https, then try again")
    }
}

impl Answer {
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(&self.text).map_err(|error| {
            Failure::unreachable(format!("cannot read the hub's answer: {error}"))
                .fix("the hub may have another version; compare `prom --version` here and on its machine")
        })
    }
}

fn parse_url(text: &str) -> Result<Url, Failure> {
    // People copy the WebSocket address too.
    let text = match text.strip_prefix("ws") {
        Some(rest) if rest.starts_with("://") || rest.starts_with("s://") => format!("http{rest}"),
        _ => text.to_owned(),
    };
    match Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        _ => {
            Err(Failure::usage(format!("`{text}` is not the address of a hub"))
                .fix("example: --url http://127.0.0.1:8090"))
        }
    }
}

fn read_certificates(file: &Path) -> Result<Vec<Certificate>, Failure> {
    let wrong = |reason: String| {
        Failure::usage(format!("{} cannot be used: {reason}", file.display()))
            .fix("name a file of certificates in PEM form with --ca or PROM_CA")
    };
    let text = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
    match Certificate::from_pem_bundle(&text) {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(wrong("it holds no certificate".to_owned())),
        Err(error) => Err(wrong(causes(&error))),
    }
}

fn is_this_machine(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

/// The innermost reason says more than "error sending request".
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_hubs_are_told_from_others() {
        for (given, meant) in [
            ("http://127.0.0.1:8090", "http://127.0.0.1:8090/"),
            ("ws://localhost:1", "http://localhost:1/"),
            ("wss://hub.example.com/ws", "https://hub.example.com/ws"),
        ] {
            assert_eq!(parse_url(given).unwrap().as_str(), meant);
        }
        for bad in ["", "localhost:8090", "ftp://host", "http://", "wsx://host"] {
            assert!(parse_url(bad).is_err(), "{bad:?} passed");
        }
    }

    #[test]
    fn names_cannot_leave_their_path() {
        let hub = HubClient::new("http://127.0.0.1:1/below/", None, None).unwrap();
        let url = |path: &[&str]| hub.request(Method::GET, path).unwrap().build().unwrap().url().to_string();
        assert_eq!(url(&["topics", "a.b"]), "http://127.0.0.1:1/below/topics/a.b");
        assert_eq!(url(&["groups", "a/../b?c"]), "http://127.0.0.1:1/below/groups/a%2F..%2Fb%3Fc");
        assert!(hub.request(Method::DELETE, &["groups", ".."]).is_err());
    }

    #[test]
    fn an_empty_token_is_none() {
        assert_eq!(HubClient::new("http://127.0.0.1:1", Some(String::new()), None).unwrap().token, None);
    }
}

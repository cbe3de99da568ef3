//! One request to the endpoint, bounded in time and size. Errors leave out the address: they reach callers who are not
//! yet authenticated.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Url};

use super::key_set::KeySet;
use crate::{AuthError, limits};

const REDIRECTED: &str = "the endpoint redirects to a forbidden target";

pub struct KeyEndpoint {
    url: Url,
    client: Client,
    timeout: Duration,
}

impl KeyEndpoint {
    pub fn new(url: &str, timeout: Duration) -> Result<Self, AuthError> {
        let wrong = |reason: String| AuthError::misconfigured(format!("jwks_url {reason}"));
        let url = Url::parse(url).map_err(|error| wrong(format!("is not a URL: {error}")))?;
        if !["http", "https"].contains(&url.scheme()) {
            return Err(wrong(format!("has the scheme {:?}; use https, or http on a trusted network", url.scheme())));
        }
        if url.scheme() == "http" && !is_loopback(&url) {
            tracing::warn!("jwks_url is plain http: anyone who can alter the answer can sign tokens; use https");
        }
        let scheme = url.scheme().to_owned();
        let mut client = Client::builder().redirect(Policy::custom(move |attempt| follow(attempt, &scheme)));
        if is_loopback(&url) {
            // A proxy has another loopback.
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| wrong(format!("cannot be fetched: {error}")))?;
        Ok(Self { url, client, timeout })
    }

    /// The keys that are published now, or why they could not be fetched.
    pub async fn fetch(&self) -> Result<KeySet, String> {
        match tokio::time::timeout(self.timeout, self.read_body()).await {
            Ok(body) => KeySet::read(&body?),
            Err(_) => Err(format!("the endpoint did not answer within {:?}", self.timeout)),
        }
    }

    async fn read_body(&self) -> Result<Vec<u8>, String> {
        let too_large = || format!("the answer is larger than {} bytes", limits::JWKS_BYTES);
        let request = self.client.get(self.url.clone()).header("accept", "application/jwk-set+json, application/json");
        let mut response = request.send().await.map_err(describe)?;
        if response.status().is_redirection() {
            return Err(REDIRECTED.to_owned());
        }
        if !response.status().is_success() {
            return Err(format!("the endpoint answered {}", response.status()));
        }
        if response.content_length().is_some_and(|length| length > limits::JWKS_BYTES as u64) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(describe)? {
            if body.len() + chunk.len() > limits::JWKS_BYTES {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// Follows redirects to equally safe targets: never from https to http, nor to a non-web scheme.
fn follow(attempt: Attempt<'_>, scheme: &str) -> reqwest::redirect::Action {
    if attempt.url().scheme() != scheme {
        return attempt.error("the endpoint redirects to another scheme");
    }
    if attempt.previous().len() > limits::JWKS_REDIRECTS {
        return attempt.error("the endpoint redirects too often");
    }
    attempt.follow()
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn describe(error: reqwest::Error) -> String {
    let kind = match &error {
        error if error.is_connect() => "the endpoint cannot be reached",
        error if error.is_redirect() => REDIRECTED,
        _ => "the endpoint's answer broke off",
    };
    // The cause may name addresses; it is for the operator.
    tracing::debug!(error = ?error.without_url(), "fetching signing keys failed");
    kind.to_owned()
}

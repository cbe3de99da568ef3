//! Makes HS256 tokens for development (`prom token`). Production tokens come from an issuer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::{EncodingKey, Header};
use serde::Serialize;

use crate::{AuthError, Policy, Rule};

/// The contents of the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRequest {
    pub subject: String,
    pub scopes: Vec<String>,
    /// Takes precedence over the scopes, which are then left out.
    pub policy: Option<Vec<Rule>>,
    pub audience: Option<String>,
    pub issuer: Option<String>,
    pub lifetime: Duration,
    pub now: SystemTime,
}

impl Default for TokenRequest {
    /// One day, for a client that sends heartbeats and watches processes.
    fn default() -> Self {
        Self {
            subject: "dev".to_owned(),
            scopes: vec!["publish:heartbeat.received".to_owned(), "subscribe:process.state".to_owned()],
            policy: None,
            audience: None,
            issuer: None,
            lifetime: Duration::from_secs(24 * 60 * 60),
            now: SystemTime::now(),
        }
    }
}

#[derive(Serialize)]
struct MintedClaims<'r> {
    sub: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iss: Option<&'r str>,
    iat: i64,
    exp: i64,
    jti: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<&'r [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<MintedPolicy<'r>>,
}

#[derive(Serialize)]
struct MintedPolicy<'r> {
    rules: &'r [Rule],
}

/// A secret that cannot be guessed, as text.
pub fn fresh_secret() -> String {
    // Each has 122 random bits.
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

/// Signs a token that a hub with this secret accepts. Rights that the hub would refuse are refused here.
pub fn mint(request: &TokenRequest, secret: &str) -> Result<String, AuthError> {
    crate::token::use_our_cryptography();
    if secret.is_empty() {
        return Err(AuthError::misconfigured("there is no secret to sign with; set JWT_SECRET to the hub's secret"));
    }
    let checked = match &request.policy {
        Some(rules) => Policy::from_rules(rules.clone()),
        None => Policy::from_scopes(&request.scopes),
    };
    checked.map_err(|error| AuthError::invalid(error.to_string()))?;
    let since_epoch = request.now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let issued_at = i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX);
    let lifetime = i64::try_from(request.lifetime.as_secs()).unwrap_or(i64::MAX);
    let claims = MintedClaims {
        sub: &request.subject,
        aud: request.audience.as_deref(),
        iss: request.issuer.as_deref(),
        iat: issued_at,
        exp: issued_at.saturating_add(lifetime),
        jti: uuid::Uuid::new_v4().to_string(),
        scopes: request.policy.is_none().then_some(&request.scopes),
        policy: request.policy.as_deref().map(|rules| MintedPolicy { rules }),
    };
    jsonwebtoken::encode(&Header::default(), &claims, &EncodingKey::from_secret(secret.as_bytes()))
        .map_err(|error| AuthError::misconfigured(format!("the token cannot be signed: {error}")))
}

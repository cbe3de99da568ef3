//! Authentication: a token goes in, an identity or a reason comes out.

use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use jsonwebtoken::DecodingKey;

use crate::jwks::Jwks;
use crate::token::{Algorithm, Claims, Expectations, SignedToken};
use prom_types::{Clock, SystemClock};

use crate::{AuthError, AuthOptions, Identity, limits};

/// Turns tokens into identities. Cloning is cheap; clones share the fetched keys.
#[derive(Clone)]
pub struct Authenticator(Arc<Inner>);

struct Inner {
    static_token: Option<String>,
    secret: Option<DecodingKey>,
    jwks: Option<Jwks>,
    expectations: Expectations,
    clock: Arc<dyn Clock>,
}

impl Authenticator {
    /// Fails if the options are contradictory or unsafe. Nothing is fetched yet.
    pub fn new(options: AuthOptions) -> Result<Self, AuthError> {
        Self::with_clock(options, Arc::new(SystemClock::new()))
    }

    /// As `new`, with a given clock.
    pub fn with_clock(options: AuthOptions, clock: Arc<dyn Clock>) -> Result<Self, AuthError> {
        crate::token::use_our_cryptography();
        refuse_empty("jwt_secret", &options.jwt_secret)?;
        refuse_empty("static_token", &options.static_token)?;
        refuse_empty("audience", &options.audience)?;
        refuse_empty("issuer", &options.issuer)?;
        if options.jwt_secret.as_ref().is_some_and(|secret| secret.len() < limits::SECRET_BYTES_ADVISED) {
            tracing::warn!(
                "jwt_secret has fewer than {} bytes and can be guessed; make one with `openssl rand -hex 32`",
                limits::SECRET_BYTES_ADVISED
            );
        }
        let jwks = options.jwks_url.as_ref().map(|url| Jwks::new(url, options.jwks.clone(), clock.clone()));
        let expectations = Expectations::of(&options);
        Ok(Self(Arc::new(Inner {
            static_token: options.static_token,
            secret: options.jwt_secret.map(|secret| DecodingKey::from_secret(secret.as_bytes())),
            jwks: jwks.transpose()?,
            expectations,
            clock,
        })))
    }

    /// Nothing is configured: every caller is let in with every right.
    pub fn is_open(&self) -> bool {
        self.0.static_token.is_none() && !self.0.takes_jwts()
    }

    /// The identity of a caller with this token. Waits for signing keys if they must be fetched first, at most for the
    /// fetch's timeout. Cancel-safe.
    pub async fn authenticate(&self, token: Option<&str>) -> Result<Identity, AuthError> {
        if self.is_open() {
            return Ok(Identity::open());
        }
        let token = token.filter(|token| !token.is_empty()).ok_or(AuthError::NoToken)?;
        if self.0.is_static_token(token) {
            return Ok(Identity::development());
        }
        if !self.0.takes_jwts() {
            return Err(AuthError::invalid("it is not the static token of this hub"));
        }
        let token = SignedToken::parse(token)?;
        let keys = self.0.keys_for(&token).await?;
        if !keys.iter().any(|key| token.is_signed_by(key)) {
            return Err(AuthError::invalid(
                "its signature does not fit the key; is it from another issuer, or altered?",
            ));
        }
        let claims = Claims::parse(token.payload()?)?;
        self.0.expectations.identify(claims, self.0.clock.now_ms())
    }
}

impl Inner {
    fn takes_jwts(&self) -> bool {
        self.secret.is_some() || self.jwks.is_some()
    }

    fn is_static_token(&self, token: &str) -> bool {
        let equal = |expected: &String| verify_slices_are_equal(expected.as_bytes(), token.as_bytes()).is_ok();
        self.static_token.as_ref().is_some_and(equal)
    }

    /// The keys that may verify this token: the secret for HS256 only, published keys of the token's own algorithm for the
    /// others.
    async fn keys_for(&self, token: &SignedToken<'_>) -> Result<Vec<DecodingKey>, AuthError> {
        let not_taken = || {
            let (algorithm, setting) = (token.algorithm(), token.algorithm().setting());
            AuthError::invalid(format!(
                "it is signed with {algorithm}, which this hub accepts only if `{setting}` is set"
            ))
        };
        match token.algorithm() {
            Algorithm::Hs256 => self.secret.clone().map(|secret| vec![secret]).ok_or_else(not_taken),
            published => {
                let jwks = self.jwks.as_ref().ok_or_else(not_taken)?;
                jwks.keys(published, token.key_id()).await
            }
        }
    }
}

fn refuse_empty(setting: &str, value: &Option<String>) -> Result<(), AuthError> {
    match value.as_deref() {
        Some("") => Err(AuthError::misconfigured(format!("{setting} is empty; give it a value or leave it out"))),
        _ => Ok(()),
    }
}

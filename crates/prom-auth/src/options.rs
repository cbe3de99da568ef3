//! How the hub authenticates callers.

use std::fmt;
use std::time::Duration;

use crate::limits;

/// If nothing is set, the hub is open.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthOptions {
    /// HS256 tokens are signed with this.
    pub jwt_secret: Option<String>,
    /// RS256, ES256 and EdDSA tokens are signed with a key that is published here.
    pub jwks_url: Option<String>,
    /// Tokens must be meant for this audience. `None`: their `aud` is not checked.
    pub audience: Option<String>,
    /// Tokens must come from this issuer. `None`: their `iss` is not checked.
    pub issuer: Option<String>,
    /// How far clocks may differ when `exp` and `nbf` are checked.
    pub clock_tolerance: Duration,
    /// Tokens must have an `exp`: one without could be revoked only by withdrawing its key.
    pub require_exp: bool,
    /// A caller that sends exactly this has every right.
    pub static_token: Option<String>,
    pub jwks: JwksOptions,
}

impl Default for AuthOptions {
    fn default() -> Self {
        Self {
            jwt_secret: None,
            jwks_url: None,
            audience: None,
            issuer: None,
            clock_tolerance: limits::CLOCK_TOLERANCE,
            require_exp: false,
            static_token: None,
            jwks: JwksOptions::default(),
        }
    }
}

/// Options end up in logs; secrets do not.
impl fmt::Debug for AuthOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = |secret: &Option<String>| secret.as_ref().map(|_| "[hidden]");
        f.debug_struct("AuthOptions")
            .field("jwt_secret", &hidden(&self.jwt_secret))
            .field("jwks_url", &hidden(&self.jwks_url))
            .field("audience", &self.audience)
            .field("issuer", &self.issuer)
            .field("clock_tolerance", &self.clock_tolerance)
            .field("require_exp", &self.require_exp)
            .field("static_token", &hidden(&self.static_token))
            .field("jwks", &self.jwks)
            .finish()
    }
}

/// How published keys are fetched and kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwksOptions {
    /// The minimum time between two fetches, successful or not.
    pub min_fetch_interval: Duration,
    /// Keys older than this are refreshed in the background.
    pub refresh_after: Duration,
    /// For one whole fetch.
    pub timeout: Duration,
}

impl Default for JwksOptions {
    fn default() -> Self {
        Self {
            min_fetch_interval: limits::JWKS_MIN_FETCH_INTERVAL,
            refresh_after: limits::JWKS_REFRESH_AFTER,
            timeout: limits::JWKS_TIMEOUT,
        }
    }
}

//! `[auth]`: who is let in. With nothing set the hub is open, and only listens on this machine.

use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"[auth]
# The secret of HS256 tokens. JWT_SECRET replaces it. Unset by default.
#jwt_secret = "change me"
# Where the public keys of RS256, ES256 and EdDSA tokens are. JWT_JWKS_URL replaces it. Unset by default.
#jwks_url = "https://login.example.com/.well-known/jwks.json"
# The audience that `aud` of a token must name. JWT_AUD replaces it. Unset by default.
#audience = "prom"
# The issuer that `iss` of a token must be. JWT_ISS replaces it. Unset by default.
#issuer = "https://login.example.com/"
# Allowed clock difference when `exp` and `nbf` are checked, in seconds.
#clock_tolerance_s = 5
# Whether tokens without `exp`, which never expire, are refused.
#require_exp = false
# A token for development with every right. Unset by default.
#static_token = "dev"
"#;

#[derive(Clone, PartialEq, Eq)]
pub struct AuthConfig {
    pub jwt_secret: Option<String>,
    pub jwks_url: Option<String>,
    pub audience: Option<String>,
    pub issuer: Option<String>,
    pub clock_tolerance_s: u64,
    pub require_exp: bool,
    pub static_token: Option<String>,
}

impl Default for AuthConfig {
    fn default() -> Self {
        Self {
            jwt_secret: None,
            jwks_url: None,
            audience: None,
            issuer: None,
            clock_tolerance_s: 5,
            require_exp: false,
            static_token: None,
        }
    }
}

/// More is no longer a difference of clocks.
const LARGEST_TOLERANCE_S: u64 = 3600;

impl AuthConfig {
    pub fn read(&mut self, section: &mut ConfigSection<'_>) {
        section.set_some("jwt_secret", &mut self.jwt_secret, value::text);
        section.set_some("jwks_url", &mut self.jwks_url, value::web_address);
        section.set_some("audience", &mut self.audience, value::text);
        section.set_some("issuer", &mut self.issuer, value::text);
        section.set("clock_tolerance_s", &mut self.clock_tolerance_s, value::number(0..=LARGEST_TOLERANCE_S));
        section.set("require_exp", &mut self.require_exp, value::flag);
        section.set_some("static_token", &mut self.static_token, value::text);
    }

    /// No way to authenticate is configured: every caller is let in.
    pub fn is_open(&self) -> bool {
        self.jwt_secret.is_none() && self.jwks_url.is_none() && self.static_token.is_none()
    }
}

/// Secrets stay out of whatever is printed.
impl std::fmt::Debug for AuthConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthConfig")
            .field("jwt_secret", &self.jwt_secret.as_ref().map(|_| "…"))
            .field("jwks_url", &self.jwks_url)
            .field("audience", &self.audience)
            .field("issuer", &self.issuer)
            .field("clock_tolerance_s", &self.clock_tolerance_s)
            .field("require_exp", &self.require_exp)
            .field("static_token", &self.static_token.as_ref().map(|_| "…"))
            .finish()
    }
}

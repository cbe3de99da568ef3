//! What the hub expects of the claims: its audience, its issuer, valid now.

use std::sync::Arc;

use prom_types::EpochMs;
use serde_json::Number;

use super::{Claims, rights};
use crate::{AuthError, AuthOptions, Identity};

pub struct Expectations {
    audience: Option<String>,
    issuer: Option<String>,
    tolerance_ms: EpochMs,
    require_exp: bool,
}

impl Expectations {
    pub fn of(options: &AuthOptions) -> Self {
        Self {
            audience: options.audience.clone(),
            issuer: options.issuer.clone(),
            tolerance_ms: EpochMs::try_from(options.clock_tolerance.as_millis()).unwrap_or(EpochMs::MAX),
            require_exp: options.require_exp,
        }
    }

    /// The identity in the claims, if they are as expected at this moment. A token without `exp` never expires.
    pub fn identify(&self, claims: Claims, now_ms: EpochMs) -> Result<Identity, AuthError> {
        if self.require_exp && claims.exp.is_none() {
            return Err(AuthError::invalid(
                "it has no `exp`, and this hub takes only tokens that expire (require_exp)",
            ));
        }
        let expires_at_ms = claims.exp.as_ref().map(|exp| epoch_ms(exp).saturating_add(self.tolerance_ms));
        if expires_at_ms.is_some_and(|expires_at_ms| now_ms >= expires_at_ms) {
            return Err(AuthError::Expired);
        }
        let begins_at_ms = claims.nbf.as_ref().map(|nbf| epoch_ms(nbf).saturating_sub(self.tolerance_ms));
        if begins_at_ms.is_some_and(|begins_at_ms| now_ms < begins_at_ms) {
            return Err(AuthError::invalid("it is not valid yet (`nbf`); do the clocks agree?"));
        }
        self.check_audience(&claims)?;
        self.check_issuer(&claims)?;
        Ok(Identity { policy: Arc::new(rights::policy(&claims)?), subject: claims.sub.map(Into::into), expires_at_ms })
    }

    fn check_audience(&self, claims: &Claims) -> Result<(), AuthError> {
        let Some(expected) = &self.audience else { return Ok(()) };
        match &claims.aud {
            Some(audience) if audience.contains(expected) => Ok(()),
            Some(_) => Err(AuthError::invalid(format!("its `aud` does not name {expected:?}"))),
            None => Err(AuthError::invalid(format!("it has no `aud`, and this hub expects {expected:?}"))),
        }
    }

    fn check_issuer(&self, claims: &Claims) -> Result<(), AuthError> {
        let Some(expected) = &self.issuer else { return Ok(()) };
        match &claims.iss {
            Some(issuer) if issuer == expected => Ok(()),
            Some(_) => Err(AuthError::invalid(format!("its `iss` is not {expected:?}"))),
            None => Err(AuthError::invalid(format!("it has no `iss`, and this hub expects {expected:?}"))),
        }
    }
}

/// A time out of range becomes the nearest representable one.
fn epoch_ms(seconds: &Number) -> EpochMs {
    match seconds.as_i64() {
        Some(whole) => whole.saturating_mul(1000),
        None => (seconds.as_f64().unwrap_or(f64::MAX) * 1000.0) as EpochMs,
    }
}

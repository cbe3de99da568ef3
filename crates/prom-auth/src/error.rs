//! What can be wrong with a token, with the configuration, or with written rights.

/// Why a caller is not let in. [`AuthError::code`] is the protocol's code for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// Ask the caller for a token.
    #[error("a token is required; none was sent")]
    NoToken,
    /// A retry does not make the token valid: the caller needs another one.
    #[error("the token is not accepted: {reason}")]
    Invalid { reason: String },
    /// The caller needs a fresh token.
    #[error("the token has expired; get a fresh one")]
    Expired,
    /// The token cannot be checked now. The same token may be accepted later.
    #[error("tokens cannot be checked at the moment: {reason}; try again later")]
    Unavailable { reason: String },
    /// The operator must change the configuration.
    #[error("authentication is misconfigured: {reason}")]
    Misconfigured { reason: String },
}

impl AuthError {
    /// The protocol's error code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoToken => "no_token",
            Self::Invalid { .. } => "jwt_invalid",
            Self::Expired => "jwt_expired",
            Self::Unavailable { .. } => "overloaded",
            Self::Misconfigured { .. } => "internal",
        }
    }

    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid { reason: reason.into() }
    }

    pub(crate) fn misconfigured(reason: impl Into<String>) -> Self {
        Self::Misconfigured { reason: reason.into() }
    }
}

/// Rights that cannot be understood. Their author must correct them; until then they grant nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("action {action:?} is unknown; use publish, subscribe, ops, admin or *")]
    UnknownAction { action: String },
    #[error(
        "scope {scope:?} is invalid: {reason}; write action:pattern, e.g. publish:orders.**, or action:pattern@group"
    )]
    Scope { scope: String, reason: String },
    /// `rule` counts from 1.
    #[error("rule {rule} of the policy is invalid: {reason}")]
    Rule { rule: usize, reason: &'static str },
    #[error("`{claim}` is neither a string nor a list of strings")]
    Claim { claim: &'static str },
    #[error("the policy is invalid: {reason}; expected {{\"rules\": [{{\"effect\", \"action\", \"topics\"}}]}}")]
    PatternShape { reason: String },
}

/// Shortens foreign text before it goes into a message.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

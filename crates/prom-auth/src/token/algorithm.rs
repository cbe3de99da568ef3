//! The supported signature algorithms. Everything else, `none` above all, has no name here and cannot be used.

use std::fmt;

use jsonwebtoken::crypto::aws_lc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Hs256,
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Self::Hs256, Self::Rs256, Self::Es256, Self::EdDsa];
        all.into_iter().find(|algorithm| algorithm.as_str() == name)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The setting that enables it.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Hs256 => "jwt_secret",
            Self::Rs256 | Self::Es256 | Self::EdDsa => "jwks_url",
        }
    }

    pub fn of_library(self) -> jsonwebtoken::Algorithm {
        match self {
            Self::Hs256 => jsonwebtoken::Algorithm::HS256,
            Self::Rs256 => jsonwebtoken::Algorithm::RS256,
            Self::Es256 => jsonwebtoken::Algorithm::ES256,
            Self::EdDsa => jsonwebtoken::Algorithm::EdDSA,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Without a choice the library panics if another crate in the build enables its second backend.
pub fn use_our_cryptography() {
    // An earlier choice by another crate stays; it verifies the same signatures.
    let _ = aws_lc::DEFAULT_PROVIDER.install_default();
}

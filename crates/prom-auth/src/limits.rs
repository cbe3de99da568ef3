//! Every limit of authentication in one place, each with its reason.

use std::time::Duration;

/// Longer tokens do not fit into the headers that proxies let through, and each must be parsed.
pub const TOKEN_BYTES: usize = 64 * 1024;
/// An HS256 secret shorter than the hash's output is easier to guess than the signature is to forge.
pub const SECRET_BYTES_ADVISED: usize = 32;
/// A key set of thousands of keys fits; an endless page does not.
pub const JWKS_BYTES: usize = 1024 * 1024;
/// A moved endpoint takes one or two redirects.
pub const JWKS_REDIRECTS: usize = 3;
/// RSA keys below this can be factored.
pub const RSA_MODULUS_BYTES_LEAST: usize = 256;
/// Verifying with larger keys costs more than an unauthenticated caller may cost.
pub const RSA_MODULUS_BYTES_MOST: usize = 1024;

/// Synchronised clocks differ by less.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(5);
/// Each forged token can name a new key. This is how often they can make the hub fetch.
pub const JWKS_MIN_FETCH_INTERVAL: Duration = Duration::from_secs(30);
/// How long a withdrawn key stays in use at most, while its tokens are used.
pub const JWKS_REFRESH_AFTER: Duration = Duration::from_secs(10 * 60);
/// Callers wait for a fetch that they need.
pub const JWKS_TIMEOUT: Duration = Duration::from_secs(5);

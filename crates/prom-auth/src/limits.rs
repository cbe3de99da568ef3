//! Every limit of authentication in one place, each with its reason.

use std::time::Duration;

/// Longer tokens do not fit the headers that proxies let through, and each costs its parsing.
pub const TOKEN_BYTES: usize = 64 * 1024;
/// Below the output of the hash an HS256 secret can be guessed faster than the signature be forged.
pub const SECRET_BYTES_ADVISED: usize = 32;
/// A key set of thousands of keys fits; a page that never ends does not.
pub const JWKS_BYTES: usize = 1024 * 1024;
/// A moved endpoint takes one or two hops.
pub const JWKS_REDIRECTS: usize = 3;
/// RSA keys below this can be factored.
pub const RSA_MODULUS_BYTES_LEAST: usize = 256;
/// Verifying with larger ones costs more than a caller that is not yet known may cost.
pub const RSA_MODULUS_BYTES_MOST: usize = 1024;

/// Clocks of servers that keep time differ by less.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(5);
/// Forged tokens can name a new key each; this is how often they can make the hub ask for one.
pub const JWKS_MIN_FETCH_INTERVAL: Duration = Duration::from_secs(30);
/// How long a withdrawn key lives on at most while its tokens are used.
pub const JWKS_REFRESH_AFTER: Duration = Duration::from_secs(10 * 60);
/// Callers wait for a fetch that they need.
pub const JWKS_TIMEOUT: Duration = Duration::from_secs(5);

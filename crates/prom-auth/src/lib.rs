//! Who may do what: tokens become identities, and an identity carries a policy that answers questions about topics.
//!
//! Promises: a token grants nothing before its signature, times, audience and issuer are checked. What cannot be read
//! grants nothing. A key of one algorithm never verifies another. The only network access is fetching signing keys,
//! bounded in rate, time and size.

mod action;
mod authenticator;
mod error;
mod identity;
mod jwks;
pub mod limits;
mod mint;
mod options;
mod policy;
mod token;

pub use action::{Action, Actions};
pub use authenticator::Authenticator;
pub use error::{AuthError, PolicyError};
pub use identity::Identity;
pub use mint::{TokenRequest, fresh_secret, mint};
pub use options::{AuthOptions, JwksOptions};
pub use policy::{Effect, GroupMatch, Policy, Rule};

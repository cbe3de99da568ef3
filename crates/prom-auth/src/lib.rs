//! Who may do what: tokens are turned into identities, and identities carry a policy that answers questions about topics.
//!
//! Promises: a token grants nothing before its signature, its times, its audience and its issuer hold; what cannot be
//! read grants nothing either. Keys that belong to one algorithm never verify another. No socket but the one that
//! fetches signing keys, and that one is bounded in rate, time and size.

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

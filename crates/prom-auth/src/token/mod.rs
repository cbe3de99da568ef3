//! A token as text, and its contents once the signature is verified.

mod algorithm;
mod claims;
mod expectations;
mod rights;
mod signed;

pub use algorithm::{Algorithm, use_our_cryptography};
pub use claims::Claims;
pub use expectations::Expectations;
pub use signed::SignedToken;

//! A token as text, and what it says once its signature holds.

mod algorithm;
mod claims;
mod expectations;
mod rights;
mod signed;

pub use algorithm::{Algorithm, use_our_cryptography};
pub use claims::Claims;
pub use expectations::Expectations;
pub use signed::SignedToken;

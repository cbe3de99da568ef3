//! (placeholder)
pub mod dispatch;

//! How long seeded tests run: short by default, longer if the environment says so.

/// The number in the environment variable, or the default.
pub fn rounds(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

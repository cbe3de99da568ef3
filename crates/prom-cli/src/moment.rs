//! Moments as people write them: epoch milliseconds, RFC 3339, or so long ago (`-15m`).

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;
use prom_types::EpochMs;

use crate::units::parse_duration;

pub fn now_ms() -> EpochMs {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    EpochMs::try_from(since_epoch.as_millis()).unwrap_or(EpochMs::MAX)
}

/// For clap: relative moments are taken from now.
pub fn parse(text: &str) -> Result<EpochMs, String> {
    parse_from(text, now_ms())
}

/// As RFC 3339, or as the number where no calendar has it.
pub fn show(at: EpochMs) -> String {
    jiff::Timestamp::from_millisecond(at).map_or_else(|_| at.to_string(), |at| at.to_string())
}

fn parse_from(text: &str, now: EpochMs) -> Result<EpochMs, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map_err(|_| format!("`{text}` is too far away"));
    }
    if let Some(ago) = text.strip_prefix('-').and_then(|duration| parse_duration(duration).ok()) {
        let ago_ms = EpochMs::try_from(ago.as_millis()).unwrap_or(EpochMs::MAX);
        return Ok(now.saturating_sub(ago_ms));
    }
    let expected = || {
        format!(
            "`{text}` is not a time; write epoch milliseconds, 2030-01-31T12:00:00Z, or -15m for a quarter of an hour ago"
        )
    };
    let pieces = Pieces::parse(text).map_err(|_| expected())?;
    let time = pieces.date().to_datetime(pieces.time().unwrap_or_default());
    let utc = time.to_zoned(TimeZone::UTC).map_err(|_| expected())?.timestamp().as_millisecond();
    Ok(utc - pieces.to_numeric_offset().map_or(0, |zone| EpochMs::from(zone.seconds()) * 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_ways_to_write_a_moment_agree() {
        for (text, ms) in [
            ("0", 0),
            ("1709251200123", 1_709_251_200_123),
            ("1970-01-01T00:00:00Z", 0),
            ("2024-02-29T23:59:59.500Z", 1_709_251_199_500),
            ("2024-03-01T01:00:00+01:00", 1_709_251_200_000),
            ("2024-03-01", 1_709_251_200_000),
            ("1999-12-31T23:59:59Z", 946_684_799_000),
            ("-1s", 9_000),
        ] {
            assert_eq!(parse_from(text, 10_000), Ok(ms), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in ["", "-", "yesterday", "12:00:00", "2024-13-01", "99999999999999999999", "-5"] {
            assert!(parse_from(text, 0).is_err(), "{text:?} passed");
        }
    }
}

//! Times as CloudEvents write them (RFC 3339), to and from epoch milliseconds.

use jiff::SignedDuration;
use jiff::civil::{DateTime, datetime};
use jiff::fmt::temporal::Pieces;
use prom_types::EpochMs;

const EPOCH: DateTime = datetime(1970, 1, 1, 0, 0, 0, 0);

/// Reads `2024-05-06T07:08:09.123Z` and the like; finer than a millisecond is cut off.
pub(super) fn parse(text: &str) -> Option<EpochMs> {
    let pieces = Pieces::parse(text.trim()).ok()?;
    let local = pieces.date().to_datetime(pieces.time()?);
    let zone_ms = EpochMs::from(pieces.to_numeric_offset()?.seconds()) * 1000;
    let local_ms = local.duration_since(EPOCH).as_nanos().div_euclid(1_000_000);
    Some(EpochMs::try_from(local_ms).ok()? - zone_ms)
}

/// In UTC with milliseconds. Years beyond four digits, which RFC 3339 cannot write, stop at its ends.
pub(super) fn format(ts: EpochMs) -> String {
    let time = EPOCH.saturating_add(SignedDuration::from_millis(ts)).max(datetime(0, 1, 1, 0, 0, 0, 0));
    format!("{time:.3}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_zone_and_precision() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2018-04-05T17:31:00Z", 1_522_949_460_000),
            ("2018-04-05T17:31:00.5Z", 1_522_949_460_500),
            ("2018-04-05T17:31:00.123456789Z", 1_522_949_460_123),
            ("2018-04-05T19:31:00+02:00", 1_522_949_460_000),
            ("2018-04-05t12:01:00-05:30", 1_522_949_460_000),
            ("2000-02-29T00:00:00Z", 951_782_400_000),
            ("1969-12-31T23:59:59.999Z", -1),
        ] {
            assert_eq!(parse(text), Some(millis), "{text}");
        }
        for bad in ["", "now", "2018-04-05", "2018-13-05T00:00:00Z", "2019-02-29T00:00:00Z", "2018-04-05T24:00:00Z"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        for bad in ["2018-04-05T17:31:00", "2018-04-05T17:31:00.Z", "2018-04-05T17:31:00+2", "2018-4-5T17:31:00Z", "ä"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_written_is_read_as_the_same() {
        for millis in (-3_000_000_000_000..4_000_000_000_000).step_by(86_400_000 * 13 + 12_345_678) {
            assert_eq!(parse(&format(millis)), Some(millis));
        }
        assert_eq!(format(i64::MAX), "9999-12-31T23:59:59.999Z");
        assert_eq!(format(i64::MIN), "0000-01-01T00:00:00.000Z");
    }
}

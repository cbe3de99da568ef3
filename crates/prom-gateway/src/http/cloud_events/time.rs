//! Times as CloudEvents write them (RFC 3339), to and from epoch milliseconds.

use prom_types::EpochMs;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Reads `2024-05-06T07:08:09.123Z` and the like; finer than a millisecond is cut off.
pub(super) fn parse(text: &str) -> Option<EpochMs> {
    let text = text.trim();
    let (date, clock) = text.split_at_checked(10)?;
    let clock = clock.strip_prefix(['T', 't', ' '])?;
    let (year, month, day) = match date.split('-').collect::<Vec<_>>()[..] {
        [year, month, day] => (digits(year, 4)?, digits(month, 2)?, digits(day, 2)?),
        _ => return None,
    };
    let zone_at = clock.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = clock.split_at(zone_at);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let (hour, minute, second) = match clock.split(':').collect::<Vec<_>>()[..] {
        [hour, minute, second] => (digits(hour, 2)?, digits(minute, 2)?, digits(second, 2)?),
        _ => return None,
    };
    let valid = (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !valid || fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let millis: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let within_day = ((hour * 60 + minute) * 60 + second) * 1000 + millis;
    Some(days_from_civil(year, month, day) * DAY_MS + within_day - zone_ms(zone)?)
}

fn zone_ms(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, offset) = zone.split_at_checked(1)?;
    let (hours, minutes) = offset.split_once(':')?;
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let millis = (hours * 60 + minutes) * 60_000;
    Some(if sign == "-" { -millis } else { millis })
}

fn digits(text: &str, count: usize) -> Option<i64> {
    if text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// In UTC with milliseconds. Years beyond four digits, which RFC 3339 cannot write, stop at its ends.
pub(super) fn format(ts: EpochMs) -> String {
    let last = days_from_civil(10_000, 1, 1) * DAY_MS - 1;
    let ts = ts.clamp(days_from_civil(0, 1, 1) * DAY_MS, last);
    let (year, month, day) = civil_from_days(ts.div_euclid(DAY_MS));
    let within = ts.rem_euclid(DAY_MS);
    let (hour, minute, second) = (within / 3_600_000, within / 60_000 % 60, within / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", within % 1000)
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01. Years are counted from March, so that a leap day comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
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

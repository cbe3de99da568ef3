//! Durations and sizes as people write them: `3d`, `30s`, `250ms`, `10GB`, `512MiB`. The file, the
//! flags and the output share them.

use std::time::Duration;

/// Largest first, so that showing takes the first that divides.
const DURATIONS: [(&str, u64); 6] =
    [("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

const SIZES: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

/// A whole number and a unit. The error says what is expected.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let expected = || format!("`{text}` is not a duration; write a number and ms, s, m, h, d or w, such as \"30s\"");
    let (number, unit) = split(text).ok_or_else(expected)?;
    let (_, unit_ms) = DURATIONS.iter().find(|(name, _)| *name == unit).ok_or_else(expected)?;
    let ms = number.checked_mul(*unit_ms).ok_or_else(|| format!("`{text}` is longer than can be counted"))?;
    Ok(Duration::from_millis(ms))
}

/// A whole number and a unit; `KB` is 1000 bytes, `KiB` 1024.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let expected = || {
        format!("`{text}` is not a size; write a number and B, KB, MB, GB, TB, KiB, MiB, GiB or TiB, such as \"10GB\"")
    };
    let (number, unit) = split(text).ok_or_else(expected)?;
    let (_, bytes) = SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or_else(expected)?;
    number.checked_mul(*bytes).ok_or_else(|| format!("`{text}` is more than can be counted"))
}

/// Whole milliseconds, as the hub counts.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Exact, in the largest unit that divides it.
pub fn show_duration(duration: Duration) -> String {
    let ms = millis(duration);
    match DURATIONS.iter().find(|(_, unit_ms)| ms >= *unit_ms && ms.is_multiple_of(*unit_ms)) {
        Some((unit, unit_ms)) => format!("{}{unit}", ms / unit_ms),
        None => "0s".to_owned(),
    }
}

/// Rounded, for tables.
pub fn show_age(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..120_000 => format!("{:.1} s", ms as f64 / 1e3),
        120_000..7_200_000 => format!("{} min", ms / 60_000),
        7_200_000..172_800_000 => format!("{} h", ms / 3_600_000),
        _ => format!("{} d", ms / 86_400_000),
    }
}

/// Rounded, for tables.
pub fn show_size(bytes: u64) -> String {
    match SIZES[4..8].iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} B"),
    }
}

fn split(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_shown_exactly() {
        for (text, ms) in [("250ms", 250), ("30s", 30_000), ("5m", 300_000), ("3d", 259_200_000), ("0s", 0)] {
            let duration = parse_duration(text).unwrap();
            assert_eq!(duration.as_millis(), ms, "{text}");
            assert_eq!(show_duration(duration), text);
        }
        assert_eq!(show_duration(Duration::from_millis(1500)), "1500ms");
        for bad in ["", "3", "d", "3 days", "-3d", "1.5h", "99999999999999999999d", "999999999999999w"] {
            assert!(parse_duration(bad).is_err(), "{bad:?} passed");
        }
    }

    #[test]
    fn sizes_tell_thousands_from_powers_of_two() {
        assert_eq!(parse_size("10GB").unwrap(), 10_000_000_000);
        assert_eq!(parse_size("512MiB").unwrap(), 512 << 20);
        assert_eq!(parse_size("1 kb").unwrap(), 1_000);
        for bad in ["", "10", "GB", "10 gigabytes", "-1B", "99999999TiB"] {
            assert!(parse_size(bad).is_err(), "{bad:?} passed");
        }
        assert_eq!(show_size(1_500_000), "1.5 MB");
        assert_eq!(show_size(999), "999 B");
    }
}

//! Numbers as people read them.

use std::time::Duration;

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Per second; nothing in no time is nothing.
pub fn rate(events: u64, span: Duration) -> f64 {
    if span.is_zero() { 0.0 } else { events as f64 / span.as_secs_f64() }
}

/// Three digits of it, in the unit that suits.
pub fn span(time: Duration) -> String {
    let nanos = time.as_nanos() as f64;
    let (value, unit) = match nanos {
        _ if nanos < 999.5 => (nanos, "ns"),
        _ if nanos < 999.5e3 => (nanos / 1e3, "µs"),
        _ if nanos < 999.5e6 => (nanos / 1e6, "ms"),
        _ => (nanos / 1e9, "s"),
    };
    let decimals = match value {
        _ if value >= 99.95 || value.fract() == 0.0 => 0,
        _ if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// 1234567 as `1.23 M`, 45678 as `45.7 k`.
pub fn count(number: f64) -> String {
    match number {
        n if n >= 1e6 => format!("{:.2} M", n / 1e6),
        n if n >= 1e3 => format!("{:.1} k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

/// From microseconds.
pub fn micros(us: f64) -> String {
    span(Duration::from_nanos((us * 1e3).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_spans_have_three_digits() {
        for (number, shown) in [(0, "0"), (999, "999"), (1000, "1 000"), (1_234_567, "1 234 567")] {
            assert_eq!(grouped(number), shown);
        }
        for (micros_given, shown) in [(0.5, "500 ns"), (207.3, "207 µs"), (12.34, "12.3 µs"), (1234.0, "1.23 ms")] {
            assert_eq!(micros(micros_given), shown);
        }
        assert_eq!([12.0, 45_678.0, 1_234_567.0].map(count), ["12", "45.7 k", "1.23 M"]);
        assert_eq!(span(Duration::from_secs(5)), "5 s");
        assert_eq!(span(Duration::from_millis(61_250)), "61.2 s");
        assert_eq!(rate(10, Duration::ZERO), 0.0);
        assert_eq!(rate(10, Duration::from_millis(500)), 20.0);
    }
}

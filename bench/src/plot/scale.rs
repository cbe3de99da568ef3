//! From numbers to positions on an axis, with ticks at round numbers.

use prom_load::figures::count;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// From zero.
    Linear,
    Log,
}

/// Maps numbers between `low` and `high` to `begin..end`.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
    begin: f64,
    end: f64,
}

/// Ticks that a linear axis has about.
const TICKS: f64 = 5.0;

impl Scale {
    /// Wide enough for all of these, and a little more.
    pub fn around(kind: Kind, values: impl Iterator<Item = f64>, begin: f64, end: f64) -> Self {
        let finite: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let most = finite.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let least = finite.iter().copied().filter(|value| *value > 0.0).fold(most, f64::min);
        let (low, high) = match kind {
            Kind::Linear => (0.0, (most / step(most)).ceil() * step(most)),
            Kind::Log => (round_log(least, f64::floor), round_log(most, f64::ceil)),
        };
        let high = if high > low { high } else { low * 10.0 };
        Self { kind, low, high, begin, end }
    }

    /// From exactly the least to exactly the most of these, for the axis along which something grows.
    pub fn fitting(values: impl Iterator<Item = f64> + Clone, begin: f64, end: f64) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE);
        let high = values.fold(low, f64::max);
        let high = if high > low { high } else { low * 10.0 };
        Self { kind: Kind::Log, low, high, begin, end }
    }

    pub fn position(&self, value: f64) -> f64 {
        let part = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        self.begin + part * (self.end - self.begin)
    }

    pub fn ticks(&self) -> Vec<f64> {
        match self.kind {
            Kind::Linear => {
                let step = step(self.high);
                let steps = (self.high / step).round() as u32;
                (0..=steps).map(|number| f64::from(number) * step).collect()
            }
            Kind::Log => {
                let decades = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
                let all = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(decade)));
                let inside: Vec<f64> =
                    all.filter(|tick| *tick >= self.low * 0.999 && *tick <= self.high * 1.001).collect();
                let whole: Vec<f64> = inside.iter().copied().filter(|tick| is_decade(*tick)).collect();
                // Many decades need no ticks between them.
                if whole.len() > 3 { whole } else { inside }
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten.
fn step(most: f64) -> f64 {
    let rough = most / TICKS;
    let decade = 10f64.powf(rough.log10().floor());
    let digit = match rough / decade {
        part if part <= 1.0 => 1.0,
        part if part <= 2.0 => 2.0,
        part if part <= 5.0 => 5.0,
        _ => 10.0,
    };
    digit * decade
}

/// To the next 1, 2 or 5 times a power of ten.
fn round_log(value: f64, way: fn(f64) -> f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let digits = [1.0, 2.0, 5.0, 10.0];
    let part = value / decade;
    let digit = match way(0.5) {
        0.0 => digits.into_iter().rev().find(|digit| *digit <= part * 1.000_001),
        _ => digits.into_iter().find(|digit| *digit >= part * 0.999_999),
    };
    digit.unwrap_or(1.0) * decade
}

fn is_decade(tick: f64) -> bool {
    (tick.log10() - tick.log10().round()).abs() < 1e-6
}

/// A number on an axis: short, without needless zeros.
pub fn tick_text(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let trimmed = |text: String| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    };
    if value >= 1e3 {
        let text = count(value);
        let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
        return format!("{} {unit}", trimmed(number.to_owned())).trim_end().to_owned();
    }
    trimmed(format!("{value:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_begins_at_zero_and_holds_the_most() {
        let scale = Scale::around(Kind::Linear, [180.0, 730.0].into_iter(), 0.0, 100.0);
        assert_eq!(scale.position(0.0), 0.0);
        assert!(scale.position(730.0) <= 100.0);
        assert_eq!(scale.ticks(), [0.0, 200.0, 400.0, 600.0, 800.0]);
    }

    #[test]
    fn a_log_axis_has_equal_distances_for_equal_factors() {
        let scale = Scale::around(Kind::Log, [1.0, 100.0].into_iter(), 0.0, 100.0);
        assert!((scale.position(10.0) - 50.0).abs() < 1e-9);
        let wide = Scale::around(Kind::Log, [0.15, 7_000.0].into_iter(), 0.0, 100.0);
        assert!(wide.position(0.15) >= 0.0 && wide.position(7_000.0) <= 100.0);
        assert!(wide.ticks().iter().all(|tick| is_decade(*tick)));
    }

    #[test]
    fn one_value_is_enough() {
        for kind in [Kind::Linear, Kind::Log] {
            let position = Scale::around(kind, [5.0].into_iter(), 0.0, 100.0).position(5.0);
            assert!((0.0..=100.0).contains(&position), "{kind:?} {position}");
        }
        assert!(Scale::fitting([1.0].into_iter(), 0.0, 10.0).position(1.0).is_finite());
    }

    #[test]
    fn ticks_are_short() {
        let texts: Vec<String> = [0.0, 0.05, 1.5, 200.0, 10_000.0, 1_500_000.0].map(tick_text).to_vec();
        assert_eq!(texts, ["0", "0.05", "1.5", "200", "10 k", "1.5 M"]);
    }
}

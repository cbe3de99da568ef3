//! Plots made of characters: rates over time, and how spans are spread.

use std::time::Duration;

use prom_load::figures::{grouped, rate, span};
use prom_load::{Latencies, LatencyStep};

use super::live::RateSample;

const COLUMNS: usize = 60;
/// Less than this shows nothing.
const FEWEST_COLUMNS: usize = 10;
const ROWS: usize = 5;
const BAR_COLUMNS: usize = 40;
/// From nothing to a whole character, in eighths.
const UPWARDS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const SIDEWAYS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Events per second over the time of the samples. Nothing where there is nothing to see.
pub fn rates(samples: &[RateSample], count: impl Fn(&RateSample) -> u64) -> Option<String> {
    let (first, last) = (samples.first()?, samples.last()?);
    let whole = last.at.saturating_sub(first.at);
    let columns = COLUMNS.min(samples.len().checked_sub(1)?);
    if columns < FEWEST_COLUMNS || whole.is_zero() || count(last) == count(first) {
        return None;
    }
    let edges: Vec<f64> = (0..=columns)
        .map(|edge| counted_at(samples, &count, first.at + whole.mul_f64(edge as f64 / columns as f64)))
        .collect();
    let column = whole / columns as u32;
    let rates: Vec<f64> =
        edges.windows(2).map(|pair| rate((pair[1] - pair[0]).max(0.0).round() as u64, column)).collect();
    let top = rates.iter().copied().fold(1.0, f64::max);
    let label = grouped(top.round() as u64);
    let mut text = String::new();
    for row in (0..ROWS).rev() {
        let margin = if row == ROWS - 1 { label.as_str() } else { "" };
        let line: String = rates.iter().map(|rate| block(rate / top, row)).collect();
        text.push_str(&format!("  {margin:>width$} │{}\n", line.trim_end(), width = label.len()));
    }
    text.push_str(&format!("  {:>width$} └{}\n", 0, "─".repeat(columns), width = label.len()));
    let end = span(whole);
    let gap = columns.saturating_sub(end.chars().count() + 1);
    text.push_str(&format!("  {:width$}  0{}{end}\n", "", " ".repeat(gap), width = label.len()));
    Some(text)
}

/// Between two samples the count grew evenly.
fn counted_at(samples: &[RateSample], count: &impl Fn(&RateSample) -> u64, at: Duration) -> f64 {
    let after = samples.partition_point(|sample| sample.at < at);
    let (Some(next), Some(before)) = (samples.get(after), after.checked_sub(1).and_then(|one| samples.get(one))) else {
        return samples.get(after.min(samples.len() - 1)).map_or(0.0, |sample| count(sample) as f64);
    };
    let part = (at - before.at).as_secs_f64() / (next.at - before.at).as_secs_f64().max(f64::MIN_POSITIVE);
    count(before) as f64 + part * (count(next) as f64 - count(before) as f64)
}

/// The character of one row for a column that is `height` of the whole high.
fn block(height: f64, row: usize) -> char {
    let eighths = (height * (ROWS * 8) as f64).round() as usize;
    UPWARDS[eighths.saturating_sub(row * 8).min(8)]
}

/// How many spans were how long, a line for each step.
pub fn spread(latencies: &Latencies) -> String {
    let steps = latencies.steps();
    let all: u64 = steps.iter().map(|step| step.count).sum();
    let most = steps.iter().map(|step| step.count).max().unwrap_or(1).max(1);
    let mut text = String::new();
    for LatencyStep { up_to, count } in steps {
        let eighths = (count as f64 / most as f64 * (BAR_COLUMNS * 8) as f64).ceil() as usize;
        let mut bar: String = std::iter::repeat_n(SIDEWAYS[8], eighths / 8).collect();
        bar.extend((!eighths.is_multiple_of(8)).then(|| SIDEWAYS[eighths % 8]));
        let percent = count as f64 / all as f64 * 100.0;
        let share = if count > 0 && percent < 0.01 { "<0.01".to_owned() } else { format!("{percent:.2}") };
        text.push_str(format!("  up to {:>7} {share:>7} % {bar}", span(up_to)).trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_drawn_over_time_up_to_the_highest() {
        let mut published = 0;
        let samples: Vec<RateSample> = (0..=20)
            .map(|tenth| {
                published += if tenth < 10 { 1000 } else { 250 };
                RateSample { at: Duration::from_millis(tenth * 100), published, consumed: 0 }
            })
            .collect();
        insta::assert_snapshot!(rates(&samples, |sample| sample.published).unwrap(), @r"
        10 000 │█████████
               │█████████
               │█████████
               │█████████▂▂▂▂▂▂▂▂▂▂▂
               │████████████████████
             0 └────────────────────
                0                2 s
        ");
        assert_eq!(rates(&samples, |sample| sample.consumed), None, "nothing to see");
        assert_eq!(rates(&samples[..1], |sample| sample.published), None);
        assert_eq!(rates(&[], |sample| sample.published), None);
    }

    #[test]
    fn the_spread_of_spans_has_a_line_for_each_step() {
        let mut latencies = Latencies::default();
        latencies.record_many(Duration::from_micros(150), 800);
        latencies.record_many(Duration::from_micros(300), 195);
        latencies.record_many(Duration::from_millis(3), 5);
        insta::assert_snapshot!(spread(&latencies), @r"
        up to  200 µs   80.00 % ████████████████████████████████████████
        up to  500 µs   19.50 % █████████▊
        up to    1 ms    0.00 %
        up to    2 ms    0.00 %
        up to    5 ms    0.50 % ▎
        ");
        assert_eq!(spread(&Latencies::default()), "");
    }
}

//! Latencies: for each contender a line from p50 to p99, on an axis on which equal distances are equal factors.

use super::rows::{self, LABELS};
use super::scale::Kind;
use super::svg::{BACKGROUND, LABEL, LABEL_BEFORE, TICK};
use crate::summary::Summary;

pub struct Row {
    pub label: String,
    pub colour: &'static str,
    pub p50: Summary,
    pub p99: Summary,
}

const TOP: f64 = 76.0;
const ROW: f64 = 34.0;

/// Values in microseconds.
pub fn chart(title: &str, rows: &[Row]) -> String {
    let values = rows.iter().flat_map(|row| [row.p50.median, row.p99.median]);
    let scale = rows::scale(Kind::Log, values);
    let axis = "microseconds after the event should have been sent (logarithmic)";
    let mut canvas = rows::canvas(title, axis, &scale, TOP..TOP + rows.len() as f64 * ROW);
    canvas.text((LABELS, 56.0), "● p50   ○ p99, medians of the rounds", LABEL);
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5) + 4.0;
        let (p50, p99) = (scale.position(row.p50.median), scale.position(row.p99.median));
        canvas.text((LABELS - 10.0, y + 4.0), &row.label, LABEL_BEFORE);
        canvas.line((p50, y), (p99, y), row.colour, 3.0);
        canvas.dot((p50, y), 6.0, row.colour, row.colour);
        canvas.dot((p99, y), 6.0, BACKGROUND, row.colour);
        canvas.text((p50, y - 11.0), &format!("{:.0}", row.p50.median), TICK);
        // Close together, the second number would cover the first.
        let apart = if p99 - p50 < 34.0 { p50 + 34.0 } else { p99 };
        canvas.text((apart, y - 11.0), &format!("{:.0}", row.p99.median), TICK);
    }
    canvas.finish()
}

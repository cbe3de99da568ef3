//! Latencies: for each contender a line from p50 to p99, on an axis on which equal distances are equal factors.

use super::scale::{Kind, Scale, tick_text};
use super::svg::{Anchor, Canvas, FAINT, GRID, LABEL, TICK, TITLE};
use crate::summary::Summary;

pub struct Row {
    pub label: String,
    pub colour: &'static str,
    pub p50: Summary,
    pub p99: Summary,
}

const WIDTH: f64 = 860.0;
const LABELS: f64 = 210.0;
const NUMBERS: f64 = 60.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = 52.0;
const ROW: f64 = 34.0;
const BACKGROUND: &str = "#ffffff";

/// Values in microseconds.
pub fn chart(title: &str, rows: &[Row]) -> String {
    let height = TOP + rows.len() as f64 * ROW + BOTTOM;
    let mut canvas = Canvas::new(WIDTH, height);
    canvas.text((20.0, 32.0), title, TITLE);
    canvas.text((LABELS, 56.0), "● p50   ○ p99, medians of the rounds", LABEL);
    let values = rows.iter().flat_map(|row| [row.p50.median, row.p99.median]);
    let scale = Scale::around(Kind::Log, values, LABELS, WIDTH - NUMBERS);
    let bottom = height - BOTTOM;
    for tick in scale.ticks() {
        let x = scale.position(tick);
        canvas.line((x, TOP), (x, bottom), GRID, 1.0);
        canvas.text((x, bottom + 18.0), &tick_text(tick), TICK);
    }
    let axis = "microseconds after the event should have been sent (logarithmic)";
    canvas.text(((LABELS + WIDTH - NUMBERS) / 2.0, bottom + 38.0), axis, TICK);
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5) + 4.0;
        let (p50, p99) = (scale.position(row.p50.median), scale.position(row.p99.median));
        canvas.text((LABELS - 10.0, y + 4.0), &row.label, LABEL.anchored(Anchor::End));
        canvas.line((p50, y), (p99, y), row.colour, 3.0);
        canvas.dot((p50, y), 6.0, row.colour, row.colour);
        canvas.dot((p99, y), 6.0, BACKGROUND, row.colour);
        let number = super::svg::Style { colour: FAINT, ..TICK };
        canvas.text((p50, y - 11.0), &format!("{:.0}", row.p50.median), number);
        // Close together, the second number would cover the first.
        let apart = if p99 - p50 < 34.0 { p50 + 34.0 } else { p99 };
        canvas.text((apart, y - 11.0), &format!("{:.0}", row.p99.median), number);
    }
    canvas.finish()
}

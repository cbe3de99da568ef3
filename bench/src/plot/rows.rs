//! What charts with a row for each contender have in common: names at the left, and an axis below.

use std::ops::Range;

use super::scale::{Kind, Scale, tick_text};
use super::svg::{Canvas, GRID, TICK, TITLE};

const WIDTH: f64 = 860.0;
/// Where labels end and the axis begins.
pub const LABELS: f64 = 210.0;
/// Room for the number behind the longest row.
const NUMBERS: f64 = 90.0;
const BOTTOM: f64 = 52.0;

pub fn scale(kind: Kind, values: impl Iterator<Item = f64>) -> Scale {
    Scale::around(kind, values, LABELS, WIDTH - NUMBERS)
}

/// With its title, and a grid from top to bottom of the rows; `unit` is written below the axis.
pub fn canvas(title: &str, unit: &str, scale: &Scale, rows: Range<f64>) -> Canvas {
    let mut canvas = Canvas::new(WIDTH, rows.end + BOTTOM);
    canvas.text((20.0, 32.0), title, TITLE);
    for tick in scale.ticks() {
        let x = scale.position(tick);
        canvas.line((x, rows.start), (x, rows.end), GRID, 1.0);
        canvas.text((x, rows.end + 18.0), &tick_text(tick), TICK);
    }
    canvas.text(((LABELS + WIDTH - NUMBERS) / 2.0, rows.end + 38.0), unit, TICK);
    canvas
}

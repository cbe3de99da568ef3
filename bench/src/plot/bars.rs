//! Horizontal bars in groups, each with a line from its least to its most round.

use super::scale::{Kind, Scale, tick_text};
use super::svg::{Anchor, Canvas, GRID, HEADING, INK, LABEL, TICK, TITLE};
use crate::summary::Summary;

pub struct Bar {
    pub label: String,
    pub colour: &'static str,
    pub value: Summary,
}

pub struct Group {
    pub title: String,
    pub bars: Vec<Bar>,
}

const WIDTH: f64 = 860.0;
const LABELS: f64 = 210.0;
/// Room for the number behind the longest bar.
const NUMBERS: f64 = 90.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 52.0;
const BAR: f64 = 20.0;
const GAP: f64 = 6.0;
const GROUP_TITLE: f64 = 30.0;

/// `unit` is written below the axis; `shown` writes a bar's number.
pub fn chart(title: &str, unit: &str, groups: &[Group], shown: impl Fn(f64) -> String) -> String {
    let heights = groups.iter().map(|group| GROUP_TITLE + group.bars.len() as f64 * (BAR + GAP) + GAP);
    let height = TOP + heights.sum::<f64>() + BOTTOM;
    let mut canvas = Canvas::new(WIDTH, height);
    canvas.text((20.0, 32.0), title, TITLE);
    let values = groups.iter().flat_map(|group| group.bars.iter().map(|bar| bar.value.most));
    let scale = Scale::around(Kind::Linear, values, LABELS, WIDTH - NUMBERS);
    let bottom = height - BOTTOM;
    for tick in scale.ticks() {
        let x = scale.position(tick);
        canvas.line((x, TOP), (x, bottom), GRID, 1.0);
        canvas.text((x, bottom + 18.0), &tick_text(tick), TICK);
    }
    canvas.text(((LABELS + WIDTH - NUMBERS) / 2.0, bottom + 38.0), unit, TICK);
    let mut y = TOP;
    for group in groups {
        canvas.text((20.0, y + 20.0), &group.title, HEADING);
        y += GROUP_TITLE;
        for bar in &group.bars {
            draw(&mut canvas, bar, &scale, y, &shown(bar.value.median));
            y += BAR + GAP;
        }
        y += GAP;
    }
    canvas.finish()
}

fn draw(canvas: &mut Canvas, bar: &Bar, scale: &Scale, y: f64, number: &str) {
    let (begin, end) = (scale.position(0.0), scale.position(bar.value.median));
    let middle = y + BAR / 2.0;
    canvas.text((LABELS - 10.0, middle + 4.0), &bar.label, LABEL.anchored(Anchor::End));
    canvas.rectangle((begin, y), ((end - begin).max(1.0), BAR), bar.colour);
    let (least, most) = (scale.position(bar.value.least), scale.position(bar.value.most));
    canvas.line((least, middle), (most, middle), INK, 1.5);
    for x in [least, most] {
        canvas.line((x, middle - 4.0), (x, middle + 4.0), INK, 1.5);
    }
    canvas.text((end.max(most) + 8.0, middle + 4.0), number, LABEL);
}

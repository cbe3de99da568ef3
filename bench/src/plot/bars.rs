//! Horizontal bars in groups, each with a line from its least to its most round.

use super::rows::{self, LABELS};
use super::scale::{Kind, Scale};
use super::svg::{Canvas, HEADING, INK, LABEL, LABEL_BEFORE};
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

const TOP: f64 = 56.0;
const BAR: f64 = 20.0;
const GAP: f64 = 6.0;
const GROUP_TITLE: f64 = 30.0;

/// `unit` is written below the axis; `shown` writes a bar's number.
pub fn chart(title: &str, unit: &str, groups: &[Group], shown: impl Fn(f64) -> String) -> String {
    let heights = groups.iter().map(|group| GROUP_TITLE + group.bars.len() as f64 * (BAR + GAP) + GAP);
    let values = groups.iter().flat_map(|group| group.bars.iter().map(|bar| bar.value.most));
    let scale = rows::scale(Kind::Linear, values);
    let mut canvas = rows::canvas(title, unit, &scale, TOP..TOP + heights.sum::<f64>());
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
    canvas.text((LABELS - 10.0, middle + 4.0), &bar.label, LABEL_BEFORE);
    canvas.rectangle((begin, y), ((end - begin).max(1.0), BAR), bar.colour);
    let (least, most) = (scale.position(bar.value.least), scale.position(bar.value.most));
    canvas.line((least, middle), (most, middle), INK, 1.5);
    for x in [least, most] {
        canvas.line((x, middle - 4.0), (x, middle + 4.0), INK, 1.5);
    }
    canvas.text((end.max(most) + 8.0, middle + 4.0), number, LABEL);
}

//! Lines over something that grows, one or several panels on a page.

use super::scale::{Kind, Scale, tick_text};
use super::svg::{BACKGROUND, Canvas, FAINT, GRID, HEADING, LABEL, TICK, TICK_BEFORE, TITLE};

#[derive(Clone)]
pub struct Series {
    pub name: String,
    pub colour: &'static str,
    pub points: Vec<(f64, f64)>,
}

pub struct Panel {
    /// What is shown, with its unit.
    pub title: String,
    pub y: Kind,
    pub series: Vec<Series>,
}

/// Where the names of the lines stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Legend {
    /// Once: every panel shows the same.
    AboveAll,
    /// In each panel that has several.
    InEach,
}

pub struct Page {
    pub title: String,
    pub legend: Legend,
    /// What grows along all panels.
    pub x_label: String,
    pub columns: usize,
    pub panels: Vec<Panel>,
}

const PANEL_WIDTH: f64 = 420.0;
const PANEL_HEIGHT: f64 = 264.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 24.0;
const ABOVE: f64 = 50.0;
const BELOW: f64 = 48.0;
const TOP: f64 = 56.0;
const LEGEND: f64 = 22.0;

pub fn page(page: &Page) -> String {
    let names = legend_of(page);
    let rows = page.panels.len().div_ceil(page.columns);
    let legend_rows = match page.legend {
        Legend::AboveAll => names.len().div_ceil(page.columns * 2),
        Legend::InEach => 0,
    };
    let top = TOP + LEGEND * legend_rows as f64;
    let width = PANEL_WIDTH * page.columns as f64;
    let mut canvas = Canvas::new(width, top + PANEL_HEIGHT * rows as f64 + 8.0);
    canvas.text((20.0, 32.0), &page.title, TITLE);
    if page.legend == Legend::AboveAll {
        let per_row = page.columns * 2;
        for (index, (name, colour)) in names.iter().enumerate() {
            let x = 24.0 + (index % per_row) as f64 * (PANEL_WIDTH / 2.0);
            entry(&mut canvas, name, colour, (x, 54.0 + LEGEND * (index / per_row) as f64));
        }
    }
    for (index, panel) in page.panels.iter().enumerate() {
        let corner = ((index % page.columns) as f64 * PANEL_WIDTH, top + (index / page.columns) as f64 * PANEL_HEIGHT);
        draw(&mut canvas, panel, &page.x_label, corner);
        if page.legend == Legend::InEach && panel.series.len() > 1 {
            for (index, series) in panel.series.iter().enumerate() {
                let x = corner.0 + 20.0 + index as f64 * (PANEL_WIDTH / 2.0);
                entry(&mut canvas, &series.name, series.colour, (x, corner.1 + 34.0));
            }
        }
    }
    canvas.finish()
}

fn entry(canvas: &mut Canvas, name: &str, colour: &str, (x, y): (f64, f64)) {
    canvas.line((x, y), (x + 18.0, y), colour, 3.0);
    canvas.text((x + 24.0, y + 4.0), name, LABEL);
}

/// Each name once, in the order in which they come.
fn legend_of(page: &Page) -> Vec<(&str, &'static str)> {
    let mut names: Vec<(&str, &'static str)> = Vec::new();
    for series in page.panels.iter().flat_map(|panel| &panel.series) {
        if !names.iter().any(|(name, _)| *name == series.name) {
            names.push((&series.name, series.colour));
        }
    }
    names
}

fn draw(canvas: &mut Canvas, panel: &Panel, x_label: &str, (left, top): (f64, f64)) {
    let (begin, end) = (left + LEFT, left + PANEL_WIDTH - RIGHT);
    let (above, below) = (top + ABOVE, top + PANEL_HEIGHT - BELOW);
    let points = || panel.series.iter().flat_map(|series| series.points.iter().copied());
    let across = Scale::fitting(points().map(|(x, _)| x), begin + 8.0, end - 8.0);
    let up = Scale::around(panel.y, points().map(|(_, y)| y), below, above);
    canvas.text((left + 20.0, top + 18.0), &panel.title, HEADING);
    for tick in up.ticks() {
        let y = up.position(tick);
        canvas.line((begin, y), (end, y), GRID, 1.0);
        canvas.text((begin - 8.0, y + 4.0), &tick_text(tick), TICK_BEFORE);
    }
    let mut marks: Vec<f64> = points().map(|(x, _)| x).collect();
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    for mark in marks {
        let x = across.position(mark);
        canvas.line((x, below), (x, below + 4.0), FAINT, 1.0);
        canvas.text((x, below + 18.0), &tick_text(mark), TICK);
    }
    canvas.text(((begin + end) / 2.0, below + 36.0), x_label, TICK);
    for series in &panel.series {
        let positions: Vec<(f64, f64)> =
            series.points.iter().map(|(x, y)| (across.position(*x), up.position(*y))).collect();
        canvas.path(&positions, series.colour);
        for position in positions {
            canvas.dot(position, 3.5, BACKGROUND, series.colour);
        }
    }
}

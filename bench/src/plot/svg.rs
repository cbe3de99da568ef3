//! The few shapes that plots are made of.

use std::fmt::Write as _;

const FONT: &str = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
pub const BACKGROUND: &str = "#ffffff";
pub const INK: &str = "#1f2937";
pub const FAINT: &str = "#6b7280";
pub const GRID: &str = "#e5e7eb";

/// How a text looks, in the words of SVG.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    size: f64,
    colour: &'static str,
    /// Which part of it is at its point.
    anchor: &'static str,
    weight: u32,
}

pub const TITLE: Style = Style { size: 17.0, colour: INK, anchor: "start", weight: 600 };
pub const HEADING: Style = Style { size: 13.0, ..TITLE };
pub const LABEL: Style = Style { size: 12.0, weight: 400, ..TITLE };
pub const LABEL_BEFORE: Style = Style { anchor: "end", ..LABEL };
pub const TICK: Style = Style { size: 11.0, colour: FAINT, anchor: "middle", weight: 400 };
pub const TICK_BEFORE: Style = Style { anchor: "end", ..TICK };

pub struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

impl Canvas {
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), fill: &str) {
        self.put(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"2\" fill=\"{fill}\"/>"
        ));
    }

    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), stroke: &str, width: f64) {
        self.put(&format!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{stroke}\" stroke-width=\"{width}\"/>"
        ));
    }

    pub fn path(&mut self, points: &[(f64, f64)], stroke: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.put(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"2\" stroke-linejoin=\"round\"/>",
            points.join(" ")
        ));
    }

    pub fn dot(&mut self, (x, y): (f64, f64), radius: f64, fill: &str, stroke: &str) {
        self.put(&format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"2\"/>"
        ));
    }

    pub fn text(&mut self, (x, y): (f64, f64), text: &str, style: Style) {
        let Style { size, colour, anchor, weight } = style;
        let text = escape(text);
        self.put(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" fill=\"{colour}\" text-anchor=\"{anchor}\" font-weight=\"{weight}\">{text}</text>"
        ));
    }

    pub fn finish(self) -> String {
        let Self { width, height, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" font-family=\"{FONT}\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"{BACKGROUND}\"/>\n{body}</svg>\n"
        )
    }

    fn put(&mut self, element: &str) {
        let _infallible = writeln!(self.body, "{element}");
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_the_picture() {
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.text((1.0, 2.0), "a < b & c", LABEL);
        let svg = canvas.finish();
        assert!(svg.contains("a &lt; b &amp; c") && svg.ends_with("</svg>\n"));
    }
}

//! Tables for people, JSON for machines.

use std::fmt;

use serde_json::{Value, json};

/// A titled table; every cell is text.
pub struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(title: &str, columns: &[&str]) -> Self {
        Self { title: title.to_owned(), columns: columns.iter().map(|it| (*it).to_owned()).collect(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn to_json(&self) -> Value {
        let row = |cells: &Vec<String>| {
            let named = self.columns.iter().cloned().zip(cells.iter().map(|cell| json!(cell)));
            Value::Object(named.collect())
        };
        json!({ "title": self.title, "rows": self.rows.iter().map(row).collect::<Vec<_>>() })
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.chain(self.columns.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.columns.len()).map(widest).collect();
        let line = |f: &mut fmt::Formatter<'_>, cells: &[String]| {
            for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                match column {
                    0 => write!(f, "| {cell:<width$} |")?,
                    _ => write!(f, " {cell:>width$} |")?,
                }
            }
            writeln!(f)
        };
        writeln!(f, "{}\n", self.title)?;
        line(f, &self.columns)?;
        let rule = |(column, width): (usize, &usize)| match column {
            0 => "-".repeat(*width),
            _ => format!("{}:", "-".repeat(width.saturating_sub(1))),
        };
        line(f, &widths.iter().enumerate().map(rule).collect::<Vec<_>>())?;
        self.rows.iter().try_for_each(|row| line(f, row))
    }
}

/// 1234567 as `1.23 M`, 45678 as `45.7 k`.
pub fn count(number: f64) -> String {
    match number {
        n if n >= 1e6 => format!("{:.2} M", n / 1e6),
        n if n >= 1e3 => format!("{:.1} k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

pub fn milliseconds(ms: f64) -> String {
    format!("{ms:.3} ms")
}

pub fn ratio(of: f64, to: f64) -> String {
    format!("{:.2} ×", of / to)
}

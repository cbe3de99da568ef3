//! Tables for people, in Markdown; JSON for machines.

use std::fmt;

use comfy_table::{CellAlignment, ContentArrangement, presets};
use serde_json::{Value, json};

/// A titled table: text in the first column, numbers in the others.
pub struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<C: ToString>(title: &str, columns: &[C]) -> Self {
        Self { title: title.to_owned(), columns: columns.iter().map(C::to_string).collect(), rows: Vec::new() }
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
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled).force_no_tty();
        table.set_header(&self.columns).add_rows(&self.rows);
        table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        writeln!(f, "{}\n", self.title)?;
        for (index, line) in table.lines().enumerate() {
            if index == 1 {
                writeln!(f, "{}", aligned(&line))?;
            } else {
                writeln!(f, "{line}")?;
            }
        }
        Ok(())
    }
}

/// The rule below the head, which says that all columns but the first are aligned to the right.
fn aligned(rule: &str) -> String {
    let columns = rule.trim_matches('|').split('|');
    let aligned = columns.enumerate().map(|(index, dashes)| {
        if index == 0 { dashes.to_owned() } else { format!("{}:", &dashes[..dashes.len().saturating_sub(1)]) }
    });
    format!("|{}|", aligned.collect::<Vec<_>>().join("|"))
}

pub fn milliseconds(ms: f64) -> String {
    format!("{ms:.3} ms")
}

pub fn ratio(of: f64, to: f64) -> String {
    format!("{:.2} ×", of / to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_markdown_with_numbers_to_the_right() {
        let mut table = Table::new("Rates", &["who", "events/s"]);
        table.row(vec!["a".to_owned(), "1.23 M".to_owned()]);
        table.row(vec!["longer".to_owned(), "5".to_owned()]);
        let expected = "\
Rates

| who    | events/s |
|--------|---------:|
| a      |   1.23 M |
| longer |        5 |
";
        assert_eq!(table.to_string(), expected);
        assert_eq!(table.to_json()["rows"][1]["events/s"], "5");
    }
}

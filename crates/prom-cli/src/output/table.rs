//! Tables for people: aligned columns, a bold head, no lines.

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, presets};

use super::{Style, printable};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    /// Numbers.
    Right,
}

pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<const N: usize>(columns: [(&'static str, Align); N]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.iter().map(|cell| printable(cell)).collect());
    }

    /// Leaves a column out that has nothing to say.
    pub fn without_if_empty(mut self, column: &str) -> Self {
        let at = self.columns.iter().position(|(name, _)| *name == column);
        if let Some(at) = at.filter(|at| self.rows.iter().all(|row| row[*at].is_empty())) {
            self.columns.remove(at);
            self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
        self
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Ends with a line break.
    pub fn render(&self, style: Style) -> String {
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        match style {
            Style::Plain => table.force_no_tty(),
            Style::Coloured => table.enforce_styling(),
        };
        table.set_header(self.columns.iter().map(|(name, _)| Cell::new(name).add_attribute(Attribute::Bold)));
        for row in &self.rows {
            table.add_row(row);
        }
        for (index, (_, align)) in self.columns.iter().enumerate() {
            if let Some(column) = table.column_mut(index) {
                column.set_padding((0, 2));
                column.set_cell_alignment(match align {
                    Align::Left => CellAlignment::Left,
                    Align::Right => CellAlignment::Right,
                });
            }
        }
        format!("{}\n", table.trim_fmt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_control_characters_are_blank() {
        let mut table = Table::new([("TOPIC", Align::Left), ("EVENTS", Align::Right)]);
        table.row(["a".into(), "12".into()]);
        table.row(["orders\u{1b}[31m\nplaced".into(), "3".into()]);
        insta::assert_snapshot!(table.render(Style::Plain), @r"
        TOPIC               EVENTS
        a                       12
        orders [31m placed       3
        ");
        assert!(table.render(Style::Coloured).contains("\u{1b}[1m"));
    }
}

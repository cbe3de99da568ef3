//! The comparison for people and for machines: goals first, then every case with every contender.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::case::{Case, Load, Shape};
use super::results::{Figure, Results};
use super::{goals, plots};
use crate::load::contender::About;
use crate::table::{Table, ratio};

/// The contender that every other is compared with in the tables.
const YARDSTICK: &str = "nats-default";

pub struct Report {
    pub machine: String,
    pub versions: Vec<(About, String)>,
    pub cases: Vec<Case>,
    pub results: Results,
    pub failures: Vec<String>,
}

impl Report {
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.machine);
        for table in self.tables() {
            let _infallible = writeln!(text, "{table}");
        }
        for failure in &self.failures {
            let _infallible = writeln!(text, "FAILED {failure}");
        }
        text
    }

    pub fn json(&self) -> Value {
        let contender = |(about, version): &(About, String)| {
            json!({
                "id": about.id,
                "name": about.name,
                "server": about.server,
                "version": version,
                "promise": about.promise,
            })
        };
        json!({
            "machine": self.machine,
            "contenders": self.versions.iter().map(contender).collect::<Vec<_>>(),
            "cases": self.cases.iter().map(|case| json!({"id": case.id, "title": case.title})).collect::<Vec<_>>(),
            "rounds": self.results,
            "failures": self.failures,
        })
    }

    /// `results.md`, the plots, and every round as JSON.
    pub fn write(&self, dir: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(dir)?;
        let plots = plots::draw(self);
        for (name, svg) in &plots {
            fs::write(dir.join(name), svg)?;
        }
        fs::write(dir.join("compare.json"), format!("{:#}\n", self.json()))?;
        fs::write(dir.join("results.md"), self.page(&plots))?;
        eprintln!("written: results.md, compare.json and {} plots in {}", plots.len(), dir.display());
        Ok(())
    }

    fn page(&self, plots: &[(String, String)]) -> String {
        let mut page = String::from(
            "# The comparison\n\nWritten by `prom-bench compare --write`; [how to repeat it](README.md). Medians of the \
             rounds, in brackets the least and the most. Ratios are taken within each round.\n\n",
        );
        let _infallible = writeln!(page, "{}.\n", self.machine);
        for table in self.tables() {
            let _infallible = writeln!(page, "## {table}");
        }
        for (name, _) in plots {
            let alt = name.trim_end_matches(".svg").replace('-', " ");
            let _infallible = writeln!(page, "![{alt}]({name})\n");
        }
        if !self.failures.is_empty() {
            page.push_str("## What failed\n\n");
            for failure in &self.failures {
                let _infallible = writeln!(page, "- {}", failure.lines().next().unwrap_or_default());
            }
        }
        format!("{}\n", page.trim_end())
    }

    fn tables(&self) -> Vec<Table> {
        let goals = goals::table(&self.results, |id| self.name_of(id));
        let shapes = Shape::value_variants().iter().filter_map(|shape| self.shape_table(*shape));
        [self.contenders_table(), goals].into_iter().chain(shapes).filter(|table| !table.is_empty()).collect()
    }

    fn contenders_table(&self) -> Table {
        let mut table = Table::new("Who was measured", &["who", "version", "what a receipt means"]);
        for (about, version) in &self.versions {
            table.row(vec![about.name.to_owned(), version.clone(), about.promise.to_owned()]);
        }
        table
    }

    /// A column for each case of the shape, a row for each contender.
    fn shape_table(&self, shape: Shape) -> Option<Table> {
        let cases: Vec<&Case> = self.cases.iter().filter(|case| case.shape == shape).collect();
        let mut columns = vec!["who".to_owned()];
        let mut measured: Vec<(&str, Figure)> = Vec::new();
        for case in &cases {
            let figures: &[(Figure, &str)] = match case.load {
                Load::Latency => &[(Figure::P50, "p50, µs"), (Figure::P99, "p99, µs")],
                _ => &[(Figure::Rate, "events/s")],
            };
            for (figure, unit) in figures {
                measured.push((&case.id, *figure));
                columns.push(match cases.len() {
                    1 => (*unit).to_owned(),
                    _ => format!("{}, {unit}", case.title),
                });
                columns.push("×".to_owned());
            }
        }
        let first = cases.first()?;
        let title = match cases.len() {
            1 => first.title.clone(),
            _ => title_of(shape).to_owned(),
        };
        let mut table = Table::new(&capital(&title), &columns);
        for (about, _) in &self.versions {
            let cells = measured.iter().flat_map(|(case, figure)| self.cells(case, *figure, about.id));
            let cells: Vec<String> = std::iter::once(about.name.to_owned()).chain(cells).collect();
            if cells.iter().skip(1).any(|cell| cell != ABSENT) {
                table.row(cells);
            }
        }
        Some(table)
    }

    /// The figure with its spread, and its ratio to the yardstick's.
    fn cells(&self, case: &str, figure: Figure, contender: &str) -> [String; 2] {
        let value = self.results.summary(case, figure, contender);
        let between = self.results.ratio(case, figure, contender, YARDSTICK);
        [
            value.map_or_else(|| ABSENT.to_owned(), |it| it.shown(|number| figure.number(number))),
            between.map_or_else(|| ABSENT.to_owned(), |it| ratio(it.median, 1.0)),
        ]
    }

    pub fn name_of(&self, id: &str) -> &'static str {
        self.versions.iter().find(|(about, _)| about.id == id).map_or("?", |(about, _)| about.name)
    }
}

const ABSENT: &str = "–";

fn title_of(shape: Shape) -> &'static str {
    match shape {
        Shape::Payload => "larger payloads",
        Shape::Publishers => "1 to 64 publishers, 4096 events in flight together",
        Shape::Topics => "1 to 10 000 topics",
        _ => "",
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

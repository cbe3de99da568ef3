//! The figures of growth as tables, plots and JSON.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use prom_load::figures::count;
use serde_json::{Map, Value, json};

use super::axis::Axis;
use super::point::{COLUMNS, Point, What};
use crate::plot::lines::{self, Legend, Page, Panel, Series};
use crate::plot::{Kind, colour};
use crate::table::Table;

pub struct Report {
    pub machine: String,
    pub measured: Vec<(Axis, Vec<Point>)>,
}

/// A figure with the name and colour of its line.
type Line = (What, &'static str, &'static str);

/// What is drawn, and which two share a panel.
const PANELS: [(&str, &[Line]); 6] = [
    ("publish, events/s", &[(What::Publish, "publish", colour::OURS)]),
    (
        "consume, events/s",
        &[
            (What::Both, "publish and consume at once", colour::OURS),
            (What::Consume, "consume the backlog", colour::ALSO),
        ],
    ),
    ("deliveries to all groups, events/s", &[(What::Deliveries, "deliveries", colour::OURS)]),
    ("publish to handler, µs", &[(What::P50, "p50", colour::OURS), (What::P99, "p99", colour::ALSO)]),
    ("ready after a restart, ms", &[(What::Open, "ready", colour::OURS)]),
    (
        "memory, MB",
        &[(What::Resident, "after the load", colour::OURS), (What::ResidentAtRest, "after a restart", colour::ALSO)],
    ),
];

impl Report {
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.machine);
        for (axis, points) in &self.measured {
            let _infallible = writeln!(text, "{}", table(*axis, points));
        }
        text
    }

    pub fn json(&self) -> Value {
        let point = |point: &Point| {
            let mut object = Map::new();
            object.insert("size".to_owned(), json!(point.size));
            let named = |(what, _, name): &(What, &str, &str)| Some(((*name).to_owned(), json!(point.of(*what)?)));
            object.extend(COLUMNS.iter().filter_map(named));
            Value::Object(object)
        };
        let axis =
            |(axis, points): &(Axis, Vec<Point>)| (axis.name().to_owned(), points.iter().map(point).collect::<Value>());
        json!({ "machine": self.machine, "axes": self.measured.iter().map(axis).collect::<Map<_, _>>() })
    }

    /// `growth.md`, a plot for each axis, and the figures as JSON.
    pub fn write(&self, dir: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(dir)?;
        let mut page = String::from(
            "# Growth\n\nWritten by `prom-bench growth --write`; [how to repeat it](README.md). Our hub, fsync on, 256-byte \
             payloads, by the Rust client.\n\n",
        );
        let _infallible = writeln!(page, "{}.\n", self.machine);
        for (axis, points) in &self.measured {
            let name = format!("growth-{}.svg", axis.name());
            fs::write(dir.join(&name), plot(*axis, points))?;
            let _infallible = writeln!(page, "## {}\n![{}]({name})\n", table(*axis, points), axis.title());
        }
        fs::write(dir.join("growth.md"), format!("{}\n", page.trim_end()))?;
        fs::write(dir.join("growth.json"), format!("{:#}\n", self.json()))?;
        eprintln!("written: growth.md, growth.json and plots in {}", dir.display());
        Ok(())
    }
}

/// A row for each size, with those figures that the axis has.
fn table(axis: Axis, points: &[Point]) -> Table {
    let has = |what: What| points.iter().any(|point| point.of(what).is_some());
    let (told, titles): (Vec<What>, Vec<&str>) =
        COLUMNS.iter().filter(|(what, ..)| has(*what)).map(|(what, title, _)| (*what, *title)).unzip();
    let columns: Vec<&str> = std::iter::once(axis.name()).chain(titles).collect();
    let mut table = Table::new(axis.title(), &columns);
    for point in points {
        let cell = |what: &What| point.of(*what).map_or_else(|| "–".to_owned(), |value| shown(*what, value));
        table.row(std::iter::once(count(point.size as f64)).chain(told.iter().map(cell)).collect());
    }
    table
}

fn shown(what: What, value: f64) -> String {
    match what {
        What::Publish | What::Consume | What::Both | What::Deliveries => count(value),
        What::EachConnection => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn plot(axis: Axis, points: &[Point]) -> String {
    let panel = |(title, series): &(&str, &[Line])| {
        let one = |(what, name, colour): &Line| {
            let points: Vec<(f64, f64)> =
                points.iter().filter_map(|point| Some((point.size as f64, point.of(*what)?))).collect();
            (!points.is_empty()).then(|| Series { name: (*name).to_owned(), colour, points })
        };
        let series: Vec<Series> = series.iter().filter_map(one).collect();
        // p50 and p99 lie far apart.
        let y = if series.iter().any(|one| one.name == "p99") { Kind::Log } else { Kind::Linear };
        (!series.is_empty()).then(|| Panel { title: (*title).to_owned(), y, series })
    };
    lines::page(&Page {
        title: axis.title().to_owned(),
        legend: Legend::InEach,
        x_label: axis.name().to_owned(),
        columns: 2,
        panels: PANELS.iter().filter_map(panel).collect(),
    })
}

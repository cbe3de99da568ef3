//! The plots of the comparison.

use prom_load::figures::count;

use super::case::{Case, Load, Shape};
use super::report::Report;
use super::results::Figure;
use crate::load::publish::PAYLOAD_BYTES;
use crate::plot::bars::{self, Bar, Group};
use crate::plot::lines::{self, Legend, Page, Panel, Series};
use crate::plot::percentiles::{self, Row};
use crate::plot::{Kind, colour};
use crate::summary::Summary;

/// File names and pictures, of what was measured.
pub fn draw(report: &Report) -> Vec<(String, String)> {
    let mut plots = Vec::new();
    let mut add = |name: &str, svg: Option<String>| plots.extend(svg.map(|svg| (format!("{name}.svg"), svg)));
    let main = [Shape::Publish, Shape::Consume, Shape::Both];
    add("throughput", bars(report, "Throughput, 256-byte payloads", "events per second", &main));
    add("latency", latency(report));
    let fan_out = "Fan-out: one publisher, 1000 live readers";
    add("fan-out", bars(report, fan_out, "deliveries per second", &[Shape::FanOut]));
    let catch_up = "Catching up: reading a log from disk after a restart";
    add("catch-up", bars(report, catch_up, "events per second", &[Shape::CatchUp]));
    add("payload", payload(report));
    add("publishers", row(report, Shape::Publishers, "Publish by 1 to 64 connections", "connections"));
    add("topics", row(report, Shape::Topics, "Publish to 1 to 10 000 topics", "topics"));
    plots
}

fn bars(report: &Report, title: &str, unit: &str, shapes: &[Shape]) -> Option<String> {
    let group = |shape: &Shape| {
        let case = report.cases.iter().find(|case| case.shape == *shape)?;
        let bar = |id: &'static str, name: &str| {
            let value = report.results.summary(&case.id, Figure::Rate, id)?;
            Some(Bar { label: name.to_owned(), colour: colour::of(id), value })
        };
        let bars: Vec<Bar> = report.versions.iter().filter_map(|(about, _)| bar(about.id, about.name)).collect();
        (!bars.is_empty()).then(|| Group { title: case.title.clone(), bars })
    };
    let groups: Vec<Group> = shapes.iter().filter_map(group).collect();
    (!groups.is_empty()).then(|| bars::chart(title, unit, &groups, count))
}

fn latency(report: &Report) -> Option<String> {
    let case = report.cases.iter().find(|case| case.shape == Shape::Latency)?;
    let micro = |it: Summary| Summary { median: it.median * 1e3, least: it.least * 1e3, most: it.most * 1e3 };
    let row = |id: &'static str, name: &str| {
        let p50 = micro(report.results.summary(&case.id, Figure::P50, id)?);
        let p99 = micro(report.results.summary(&case.id, Figure::P99, id)?);
        Some(Row { label: name.to_owned(), colour: colour::of(id), p50, p99 })
    };
    let rows: Vec<Row> = report.versions.iter().filter_map(|(about, _)| row(about.id, about.name)).collect();
    (!rows.is_empty()).then(|| percentiles::chart("From publish to handler at 1000 events per second", &rows))
}

/// Publishing and consuming side by side; the usual payload is the first point.
fn payload(report: &Report) -> Option<String> {
    let panel = |title: &str, verb: &str, first: Shape, wanted: fn(&Load) -> bool| {
        let of_verb = |case: &&Case| {
            (case.shape == Shape::Payload && wanted(&case.load)) || (case.shape == first && case.id == verb)
        };
        let cases: Vec<&Case> = report.cases.iter().filter(of_verb).collect();
        let kilobytes = |case: &Case| match case.shape {
            Shape::Payload => case.point / 1_024.0,
            _ => PAYLOAD_BYTES as f64 / 1_024.0,
        };
        let series = series(report, &cases, kilobytes, |kilobytes, rate| rate * kilobytes * 1_024.0 / 1e6);
        (!series.is_empty()).then(|| Panel { title: title.to_owned(), y: Kind::Linear, series })
    };
    let publish = panel("publish, MB/s of payload", "publish", Shape::Publish, |load| matches!(load, Load::Publish(_)));
    let consume =
        panel("consume, MB/s of payload", "consume", Shape::Consume, |load| matches!(load, Load::Consume { .. }));
    let panels: Vec<Panel> = [publish, consume].into_iter().flatten().collect();
    report.cases.iter().any(|case| case.shape == Shape::Payload).then(|| {
        let title = "Payloads of 256 bytes to 10 KB".to_owned();
        let x_label = "kilobytes of payload".to_owned();
        lines::page(&Page { title, legend: Legend::AboveAll, x_label, columns: 2, panels })
    })
}

fn row(report: &Report, shape: Shape, title: &str, x_label: &str) -> Option<String> {
    let cases: Vec<&Case> = report.cases.iter().filter(|case| case.shape == shape).collect();
    let series = series(report, &cases, |case| case.point, |_, rate| rate);
    if series.is_empty() {
        return None;
    }
    let panel = |title: &str, y| Panel { title: title.to_owned(), y, series: series.clone() };
    let panels = vec![panel("events per second", Kind::Linear), panel("the same, logarithmic", Kind::Log)];
    let (title, x_label) = (title.to_owned(), x_label.to_owned());
    Some(lines::page(&Page { title, legend: Legend::AboveAll, x_label, columns: 2, panels }))
}

/// A line for each contender that has at least two points.
fn series(report: &Report, cases: &[&Case], x: impl Fn(&Case) -> f64, y: impl Fn(f64, f64) -> f64) -> Vec<Series> {
    let line = |id: &'static str, name: &str| {
        let point = |case: &&Case| {
            let rate = report.results.summary(&case.id, Figure::Rate, id)?.median;
            Some((x(case), y(x(case), rate)))
        };
        let mut points: Vec<(f64, f64)> = cases.iter().filter_map(point).collect();
        points.sort_by(|left, right| left.0.total_cmp(&right.0));
        (points.len() > 1).then(|| Series { name: name.to_owned(), colour: colour::of(id), points })
    };
    report.versions.iter().filter_map(|(about, _)| line(about.id, about.name)).collect()
}

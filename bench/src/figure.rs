//! A figure with its goal and its bare peer.

use prom_load::figures::count;
use serde_json::{Value, json};

use crate::args::Measure;
use crate::table::Table;

/// What is asked of a figure.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    AtLeast(f64),
    AtMost(f64),
    /// In proportion to the bare peer of the same run.
    OfBareAtLeast(f64),
    OfBareAtMost(f64),
    None,
}

pub struct Figure {
    name: String,
    measured: f64,
    unit: &'static str,
    goal: Goal,
    bare: Option<(f64, &'static str)>,
}

impl Figure {
    pub fn new(name: impl Into<String>, measured: f64, unit: &'static str, goal: Goal) -> Self {
        Self { name: name.into(), measured, unit, goal, bare: None }
    }

    /// What the disk alone gave.
    pub fn beside(mut self, bare: f64, what: &'static str) -> Self {
        self.bare = Some((bare, what));
        self
    }

    fn ratio(&self) -> Option<f64> {
        self.bare.map(|(bare, _)| self.measured / bare)
    }

    fn verdict(&self) -> &'static str {
        let reached = match (self.goal, self.ratio()) {
            (Goal::AtLeast(goal), _) => self.measured >= goal,
            (Goal::AtMost(goal), _) => self.measured <= goal,
            (Goal::OfBareAtLeast(goal), Some(ratio)) => ratio >= goal,
            (Goal::OfBareAtMost(goal), Some(ratio)) => ratio <= goal,
            (Goal::None, _) | (_, None) => return "",
        };
        if reached { "ok" } else { "miss" }
    }

    fn shown(&self, number: f64) -> String {
        match self.unit {
            "events/s" => format!("{}/s", count(number)),
            "ms" => format!("{number:.3} ms"),
            "%" => format!("{number:.2} %"),
            unit => format!("{number:.0} {unit}"),
        }
    }

    fn goal_shown(&self) -> String {
        match self.goal {
            Goal::AtLeast(goal) => format!("≥ {}", self.shown(goal)),
            Goal::AtMost(goal) => format!("≤ {}", self.shown(goal)),
            Goal::OfBareAtLeast(goal) => format!("≥ {goal:.2} × bare"),
            Goal::OfBareAtMost(goal) => format!("≤ {goal:.2} × bare"),
            Goal::None => String::new(),
        }
    }
}

pub fn table(title: &str, figures: &[Figure]) -> Table {
    let mut table = Table::new(title, &["figure", "measured", "goal", "bare peer", "ratio", ""]);
    for figure in figures {
        let bare = figure.bare.map(|(bare, what)| format!("{} ({what})", figure.shown(bare)));
        table.row(vec![
            figure.name.clone(),
            figure.shown(figure.measured),
            figure.goal_shown(),
            bare.unwrap_or_default(),
            figure.ratio().map(|ratio| format!("{ratio:.2} ×")).unwrap_or_default(),
            figure.verdict().to_owned(),
        ]);
    }
    table
}

/// To standard output, for people or for machines.
pub fn print(measure: &Measure, machine: &str, title: &str, figures: &[Figure]) {
    if measure.json {
        println!("{}", json(machine, figures));
    } else {
        println!("{machine}\n\n{}", table(title, figures));
    }
}

pub fn json(machine: &str, figures: &[Figure]) -> Value {
    let one = |figure: &Figure| {
        json!({
            "figure": figure.name,
            "measured": figure.measured,
            "unit": figure.unit,
            "goal": figure.goal_shown(),
            "bare": figure.bare.map(|(bare, _)| bare),
            "ratio": figure.ratio(),
            "verdict": figure.verdict(),
        })
    };
    json!({ "machine": machine, "figures": figures.iter().map(one).collect::<Vec<_>>() })
}

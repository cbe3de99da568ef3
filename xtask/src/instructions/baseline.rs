//! What events took before, and the comparison with what they take now.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::repository;

pub const PATH: &str = "bench/instructions/baseline.json";

/// Two counts of the same program differ by less than one per cent; the rest allows for other machines and C libraries.
const TOLERANCE: f64 = 0.10;

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Counts of different kinds of processors cannot be compared.
    pub architecture: String,
    /// By scenario.
    pub instructions_per_event: BTreeMap<String, u64>,
}

/// One scenario, before and now.
pub struct Comparison {
    pub scenario: String,
    before: Option<u64>,
    now: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Within,
    Above,
    /// Good, but the baseline no longer guards anything.
    FarBelow,
    /// Not in the baseline.
    New,
    /// Only in the baseline.
    Gone,
}

impl Baseline {
    pub fn new(instructions_per_event: BTreeMap<String, u64>) -> Self {
        Self { architecture: std::env::consts::ARCH.to_owned(), instructions_per_event }
    }

    pub fn read() -> Result<Self> {
        let text = std::fs::read_to_string(repository::root().join(PATH));
        let text = text.with_context(|| format!("{PATH}: `cargo xtask instructions --store` makes it"))?;
        serde_json::from_str(&text).with_context(|| format!("{PATH} is not a baseline"))
    }

    pub fn write(&self) -> Result<()> {
        std::fs::write(repository::root().join(PATH), self.text()?).with_context(|| format!("writing {PATH}"))
    }

    fn text(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    pub fn compare(&self, now: &BTreeMap<String, u64>) -> Vec<Comparison> {
        let before = &self.instructions_per_event;
        let all: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let compare = |scenario: &String| Comparison {
            scenario: scenario.clone(),
            before: before.get(scenario).copied(),
            now: now.get(scenario).copied(),
        };
        all.into_iter().map(compare).collect()
    }
}

impl Comparison {
    pub fn verdict(&self) -> Verdict {
        match (self.before, self.now) {
            (None, _) => Verdict::New,
            (_, None) => Verdict::Gone,
            (Some(before), Some(now)) => {
                let (before, now) = (before as f64, now as f64);
                match now {
                    now if now > before * (1.0 + TOLERANCE) => Verdict::Above,
                    now if now < before * (1.0 - TOLERANCE) => Verdict::FarBelow,
                    _ => Verdict::Within,
                }
            }
        }
    }

    fn change(&self) -> String {
        match (self.before, self.now, self.verdict()) {
            (Some(before), Some(now), verdict) => {
                let percent = (now as f64 / before.max(1) as f64 - 1.0) * 100.0;
                let remark = match verdict {
                    Verdict::Above => "  above",
                    Verdict::FarBelow => "  far below",
                    _ => "",
                };
                format!("{percent:>+8.1} %{remark}")
            }
            (None, ..) => "     new".to_owned(),
            (_, None, _) => "    gone".to_owned(),
        }
    }
}

/// For people.
pub fn table(comparisons: &[Comparison]) -> String {
    let mut table = format!("{:<18}{:>10}{:>10}{:>10}\n", "per event", "baseline", "counted", "change");
    let shown = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    for comparison in comparisons {
        let Comparison { scenario, before, now } = comparison;
        let change = comparison.change();
        // Writing into a text cannot fail.
        let _ = writeln!(table, "{scenario:<18}{:>10}{:>10}{change}", shown(*before), shown(*now));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|(scenario, count)| ((*scenario).to_owned(), *count)).collect()
    }

    fn verdict(before: u64, now: u64) -> Verdict {
        Baseline::new(counts(&[("a", before)])).compare(&counts(&[("a", now)]))[0].verdict()
    }

    #[test]
    fn a_tenth_more_is_allowed_and_a_tenth_less_asks_for_a_new_baseline() {
        assert_eq!(verdict(1000, 1000), Verdict::Within);
        assert_eq!(verdict(1000, 1099), Verdict::Within);
        assert_eq!(verdict(1000, 1101), Verdict::Above);
        assert_eq!(verdict(1000, 901), Verdict::Within);
        assert_eq!(verdict(1000, 899), Verdict::FarBelow);
    }

    #[test]
    fn scenarios_on_one_side_only_are_named() {
        let baseline = Baseline::new(counts(&[("both", 10), ("gone", 10)]));
        let compared = baseline.compare(&counts(&[("both", 10), ("new", 10)]));
        let verdicts: Vec<(&str, Verdict)> =
            compared.iter().map(|one| (one.scenario.as_str(), one.verdict())).collect();
        assert_eq!(verdicts, [("both", Verdict::Within), ("gone", Verdict::Gone), ("new", Verdict::New)]);
    }

    #[test]
    fn the_table_shows_the_change() {
        let baseline = Baseline::new(counts(&[("a", 1000), ("b", 1000)]));
        let table = table(&baseline.compare(&counts(&[("a", 1200), ("b", 995)])));
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[1], "a                       1000      1200   +20.0 %  above");
        assert_eq!(lines[2], "b                       1000       995    -0.5 %");
    }

    #[test]
    fn the_stored_baseline_can_be_read_and_is_written_as_it_is() {
        let baseline = Baseline::read().unwrap();
        assert!(!baseline.instructions_per_event.is_empty());
        assert_eq!(baseline.text().unwrap(), std::fs::read_to_string(repository::root().join(PATH)).unwrap());
    }
}

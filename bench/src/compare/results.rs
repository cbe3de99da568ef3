//! What was measured, round by round.

use prom_load::figures::count;
use serde::Serialize;

use crate::summary::Summary;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Figure {
    #[serde(rename = "events_per_second")]
    Rate,
    #[serde(rename = "p50_ms")]
    P50,
    #[serde(rename = "p99_ms")]
    P99,
}

impl Figure {
    pub fn shown(self, value: f64) -> String {
        match self {
            Self::Rate => format!("{}/s", count(value)),
            Self::P50 => format!("p50 {:.0} µs", value * 1e3),
            Self::P99 => format!("p99 {:.0} µs", value * 1e3),
        }
    }

    /// For tables whose heading says what it is.
    pub fn number(self, value: f64) -> String {
        match self {
            Self::Rate => count(value),
            Self::P50 | Self::P99 => format!("{:.0}", value * 1e3),
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    pub case: String,
    pub figure: Figure,
    pub contender: &'static str,
    pub round: usize,
    pub value: f64,
}

/// Every round.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Results {
    samples: Vec<Sample>,
}

impl Results {
    pub fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    fn of(&self, case: &str, figure: Figure, contender: &str) -> impl Iterator<Item = &Sample> {
        let wanted =
            move |sample: &&Sample| sample.case == case && sample.figure == figure && sample.contender == contender;
        self.samples.iter().filter(wanted)
    }

    pub fn summary(&self, case: &str, figure: Figure, contender: &str) -> Option<Summary> {
        Summary::of(&self.of(case, figure, contender).map(|sample| sample.value).collect::<Vec<_>>())
    }

    /// Of one to the other, round by round: what disturbed a round disturbed both.
    pub fn ratio(&self, case: &str, figure: Figure, one: &str, other: &str) -> Option<Summary> {
        let beside = |sample: &Sample| self.of(case, figure, other).find(|it| it.round == sample.round);
        let ratios = self.of(case, figure, one).filter_map(|sample| Some(sample.value / beside(sample)?.value));
        Summary::of(&ratios.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(samples: &[(&'static str, usize, f64)]) -> Results {
        let mut results = Results::default();
        for (contender, round, value) in samples {
            let (contender, round, value) = (*contender, *round, *value);
            results.add(Sample { case: "publish".to_owned(), figure: Figure::Rate, contender, round, value });
        }
        results
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let results = results(&[("a", 0, 10.0), ("b", 0, 5.0), ("a", 1, 100.0), ("b", 1, 10.0)]);
        let ratio = results.ratio("publish", Figure::Rate, "a", "b").unwrap();
        assert_eq!((ratio.least, ratio.median, ratio.most), (2.0, 6.0, 10.0));
    }

    #[test]
    fn a_round_that_failed_for_one_counts_for_none() {
        let results = results(&[("a", 0, 10.0), ("b", 0, 5.0), ("a", 1, 100.0)]);
        let ratio = results.ratio("publish", Figure::Rate, "a", "b").unwrap();
        assert_eq!((ratio.least, ratio.most), (2.0, 2.0));
        assert!(results.ratio("publish", Figure::Rate, "a", "c").is_none());
        assert!(results.summary("consume", Figure::Rate, "a").is_none());
    }
}

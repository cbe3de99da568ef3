//! Progress for people who watch, and samples for the plot of rates: one look serves both.

use std::pin::pin;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use prom_load::figures::{grouped, rate};
use tokio::time::MissedTickBehavior;

use crate::output::OutputFormat;

/// Fine enough for a plot of a run of a second.
const LOOK: Duration = Duration::from_millis(20);
/// Between two lines for people.
const SHOW: Duration = Duration::from_millis(200);

pub struct Live {
    bar: ProgressBar,
}

/// How far a leg was at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSample {
    pub at: Duration,
    pub published: u64,
    pub consumed: u64,
}

impl Live {
    /// Nothing is drawn for machines, nor where standard error is no terminal.
    pub fn for_whom(format: OutputFormat) -> Self {
        let bar = ProgressBar::no_length();
        if format == OutputFormat::Machines {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {msg}") {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// What goes on from here.
    pub fn stage(&self, what: &str) {
        self.bar.set_prefix(what.to_owned());
        self.also("");
    }

    /// More about it, until there is something to count.
    pub fn also(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    /// Takes samples of what has been published and consumed until the work is done.
    pub async fn watch<T>(
        &self,
        counts: impl Fn() -> (u64, u64),
        samples: &mut Vec<RateSample>,
        work: impl Future<Output = T>,
    ) -> T {
        let begun = Instant::now();
        let progress = || {
            let (published, consumed) = counts();
            RateSample { at: begun.elapsed(), published, consumed }
        };
        let mut work = pin!(work);
        let mut pace = tokio::time::interval(LOOK);
        // A look that was missed tells nothing new.
        pace.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (mut shown, mut shown_at) = (progress(), Instant::now());
        loop {
            tokio::select! {
                biased;
                result = &mut work => {
                    samples.push(progress());
                    return result;
                }
                _ = pace.tick() => {}
            }
            let sample = progress();
            samples.push(sample);
            if shown_at.elapsed() >= SHOW {
                self.bar.set_message(line(&shown, &sample));
                self.bar.tick();
                (shown, shown_at) = (sample, Instant::now());
            }
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn line(before: &RateSample, now: &RateSample) -> String {
    let span = now.at.saturating_sub(before.at);
    let mut parts = Vec::new();
    for (what, total, since) in [
        ("published", now.published, now.published - before.published),
        ("consumed", now.consumed, now.consumed - before.consumed),
    ] {
        if total > 0 {
            parts.push(format!("{} {what}, {}/s", grouped(total), grouped(rate(since, span) as u64)));
        }
    }
    parts.join("; ")
}

//! The report as people read it: what was done, how fast, how long it took, and what is left.

use std::fmt::Write as _;

use prom_load::figures::{grouped, micros, span};
use prom_load::{Latencies, Percentiles};

use super::super::clean::Events;
use super::super::plan::{Frames, Shape};
use super::super::plot;
use super::{BenchReport, RateReport};

impl BenchReport {
    pub fn text(&self) -> String {
        let mut text = self.head();
        self.write_figures(&mut text);
        self.write_plots(&mut text);
        self.write_foot(&mut text);
        text
    }

    fn head(&self) -> String {
        let hub = &self.facts.hub;
        let version =
            hub.version.as_deref().map_or_else(|| "version unknown".to_owned(), |version| format!("prom {version}"));
        let store = hub.store.as_deref().map_or_else(String::new, |store| format!(", {store} store"));
        let load = &self.load;
        let connections = match self.shape {
            Shape::Publish => counted(load.publishers, "connection"),
            Shape::FanOut => format!("1 publisher, {}", counted(load.subscribers, "subscriber")),
            _ => format!("{}, {}", counted(load.publishers, "publisher"), counted(load.subscribers, "consumer")),
        };
        let pace = match load.rate_per_s {
            Some(rate) => format!("{} events a second", grouped(rate)),
            None => format!("{} in flight on each", grouped(load.in_flight as u64)),
        };
        let frames = match load.frames {
            Frames::Batched => "",
            Frames::Plain => ", plain frames",
        };
        let batch = match (self.shape, load.batch) {
            (Shape::Publish, many @ 2..) => format!(", atomic batches of {many}"),
            _ => String::new(),
        };
        format!(
            "{}: {} ({version}{store}), from a machine with {}\n{} bytes, {}, {connections}, {pace}{batch}{frames}\n\n",
            self.shape.name(),
            hub.url,
            counted(self.facts.client.processors, "processor"),
            grouped(load.size_bytes as u64),
            counted(load.topics, "topic"),
        )
    }

    fn write_figures(&self, text: &mut String) {
        let published = &self.published;
        let durability: Vec<String> =
            published.durability.iter().map(|(kind, count)| format!("{kind} {}", grouped(*count))).collect();
        let what = if self.shape == Shape::Consume { "backlog" } else { "published" };
        line(text, what, &rate_line(&published.rate));
        line(text, "durable", &durability.join(", "));
        if published.failed > 0 {
            line(text, "failed", &grouped(published.failed));
        }
        if let Some(consumed) = &self.consumed {
            let what = if self.shape == Shape::FanOut { "delivered" } else { "consumed" };
            line(text, what, &rate_line(&consumed.rate));
            let lost = consumed.lost.map_or_else(|| "unknown".to_owned(), grouped);
            let acked = match self.shape {
                Shape::FanOut => String::new(),
                _ => format!("acked {}, ", grouped(consumed.acked)),
            };
            let (again, harmed) = (grouped(consumed.redelivered), grouped(consumed.harmed));
            line(text, "checked", &format!("{acked}lost {lost}, harmed {harmed}, came again {again}"));
        }
        for (what, percentiles) in [
            ("to receipt", &self.latency_us.receipt),
            ("to handler", &self.latency_us.handler),
            ("sent late", &self.latency_us.late),
        ] {
            if let Some(percentiles) = percentiles {
                line(text, what, &percentile_line(percentiles));
            }
        }
    }

    fn write_plots(&self, text: &mut String) {
        let drawn = &self.drawn;
        let published = plot::rates(&drawn.samples, |sample| sample.published);
        let consumed = plot::rates(&drawn.samples, |sample| sample.consumed);
        for (what, plot) in [("published", published), ("consumed", consumed)] {
            if let Some(plot) = plot {
                let _ = write!(text, "\nevents {what} per second\n{plot}");
            }
        }
        let spreads: [(&str, &Latencies); 2] =
            [("publish to receipt", &drawn.receipts), ("publish to handler", &drawn.handlers)];
        for (what, latencies) in spreads {
            if !latencies.is_empty() {
                let _ = write!(text, "\n{what}\n{}", plot::spread(latencies));
            }
        }
    }

    fn write_foot(&self, text: &mut String) {
        text.push('\n');
        if self.interrupted {
            text.push_str("ended early: these are the figures until then\n");
        }
        for failure in &self.errors {
            let _ = writeln!(text, "{} failed ({}): {}", grouped(failure.count), failure.code, failure.message);
        }
        let topics = &self.left.topics;
        let left = match (self.left.events, &self.left.problem) {
            (Events::Kept, _) => format!("topics {topics} are kept"),
            (Events::Deleted, _) => {
                let group = match self.shape {
                    Shape::Publish | Shape::FanOut => "",
                    Shape::Consume | Shape::Both | Shape::Latency => "; the group is gone",
                };
                format!("topics {topics} are deleted{group}")
            }
            (Events::Remaining, problem) => {
                format!("topics {topics} could not be deleted: {}", problem.as_deref().unwrap_or_default())
            }
        };
        let _ = writeln!(text, "{left}");
    }
}

fn line(text: &mut String, what: &str, figures: &str) {
    let _ = writeln!(text, "{what:<11}{figures}");
}

fn rate_line(rate: &RateReport) -> String {
    let RateReport { events, elapsed_ms, per_s, payload_bytes_per_s } = *rate;
    let elapsed = span(std::time::Duration::from_secs_f64(elapsed_ms / 1e3));
    let megabytes = payload_bytes_per_s / 1e6;
    format!(
        "{} events in {elapsed}: {}/s, {megabytes:.1} MB/s of payload",
        grouped(events),
        grouped(per_s.round() as u64)
    )
}

fn percentile_line(percentiles: &Percentiles) -> String {
    let Percentiles { p50, p90, p99, p99_9, max, .. } = *percentiles;
    let [p50, p90, p99, p99_9, max] = [p50, p90, p99, p99_9, max].map(micros);
    format!("p50 {p50}, p90 {p90}, p99 {p99}, p99.9 {p99_9}, max {max}")
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count as u64))
}

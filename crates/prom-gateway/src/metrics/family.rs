//! Metric families as Prometheus wants them, from plain numbers.

use prom_store::HistogramSnapshot;
use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};

pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

pub(super) fn counters<'a>(
    name: &str,
    help: &str,
    values: impl Iterator<Item = (Vec<(&'a str, &'a str)>, u64)>,
) -> Option<MetricFamily> {
    let metric = |(labels, value): (Vec<_>, u64)| {
        let mut metric = labelled(&labels);
        let mut counter = Counter::default();
        counter.set_value(value as f64);
        metric.set_counter(counter);
        metric
    };
    family(name, help, MetricType::COUNTER, values.map(metric).collect())
}

pub(super) fn gauges<'a>(
    name: &str,
    help: &str,
    values: impl Iterator<Item = (Vec<(&'a str, &'a str)>, u64)>,
) -> Option<MetricFamily> {
    let metric = |(labels, value): (Vec<_>, u64)| {
        let mut metric = labelled(&labels);
        let mut gauge = Gauge::default();
        gauge.set_value(value as f64);
        metric.set_gauge(gauge);
        metric
    };
    family(name, help, MetricType::GAUGE, values.map(metric).collect())
}

pub(super) fn histograms<'a>(
    name: &str,
    help: &str,
    values: impl Iterator<Item = (Vec<(&'a str, &'a str)>, &'a HistogramSnapshot)>,
) -> Option<MetricFamily> {
    let metric = |(labels, snapshot): (Vec<_>, &HistogramSnapshot)| {
        let mut metric = labelled(&labels);
        metric.set_histogram(histogram(snapshot));
        metric
    };
    family(name, help, MetricType::HISTOGRAM, values.map(metric).collect())
}

/// `None` without a metric: a family of nothing may not be written.
fn family(name: &str, help: &str, kind: MetricType, metrics: Vec<Metric>) -> Option<MetricFamily> {
    if metrics.is_empty() {
        return None;
    }
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics);
    Some(family)
}

fn labelled(labels: Labels<'_>) -> Metric {
    let pair = |(name, value): &(&str, &str)| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    };
    Metric::from_label(labels.iter().map(pair).collect())
}

/// Ours count each bucket for itself, those of Prometheus add up.
fn histogram(snapshot: &HistogramSnapshot) -> Histogram {
    let mut cumulative = 0;
    let buckets = snapshot.bounds.iter().zip(&snapshot.counts).map(|(bound, count)| {
        cumulative += count;
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(*bound);
        bucket.set_cumulative_count(cumulative);
        bucket
    });
    let mut histogram = Histogram::default();
    histogram.set_bucket(buckets.collect());
    histogram.set_sample_count(snapshot.count);
    histogram.set_sample_sum(snapshot.sum);
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_add_up() {
        let snapshot = HistogramSnapshot { bounds: &[1.0, 5.0], counts: vec![2, 3, 4], sum: 99.0, count: 9 };
        let histogram = histogram(&snapshot);
        let buckets: Vec<_> =
            histogram.get_bucket().iter().map(|bucket| (bucket.upper_bound(), bucket.cumulative_count())).collect();
        assert_eq!(buckets, [(1.0, 2), (5.0, 5)]);
        assert_eq!((histogram.get_sample_count(), histogram.get_sample_sum()), (9, 99.0));
    }
}

//! The text that Prometheus scrapes. Names and labels are a promise: dashboards depend on them.

use std::sync::atomic::Ordering;

use prom_engine::{DispatcherCounts, GroupMeters, LagCount, MetersSnapshot, OwnerMeters};
use prom_store::HistogramSnapshot;
use prometheus::core::Collector;
use prometheus::process_collector::ProcessCollector;
use prometheus::proto::MetricFamily;
use prometheus::{Error, TextEncoder};

use super::family::{counters, gauges, histograms};
use super::flows::flows;
use crate::Hub;

/// What was left out, because there is too much of it.
pub(crate) struct Omitted {
    pub topics: usize,
    pub groups: usize,
    pub lags: usize,
}

/// All families that have something to say.
pub(crate) fn exposition(
    hub: &Hub,
    meters: &MetersSnapshot,
    lags: &[LagCount],
    omitted: &Omitted,
) -> Result<String, Error> {
    let mut families: Vec<MetricFamily> = events(meters).collect();
    families.extend(durations(meters));
    families.extend(hub_state(hub, meters, lags));
    families.extend(company(hub, meters));
    families.extend(owners(meters));
    families.extend(failures(hub));
    families.extend(flows(hub));
    families.extend(left_out(omitted));
    families.extend(ProcessCollector::for_self().collect());
    TextEncoder::new().encode_to_string(&families)
}

fn events(meters: &MetersSnapshot) -> impl Iterator<Item = MetricFamily> + use<> {
    let published = meters.topics.iter().map(|topic| (vec![("topic", topic.topic.as_str())], topic.published));
    let to_tails = meters.topics.iter().filter(|topic| topic.lost_to_tails > 0);
    let to_tails = to_tails.map(|topic| (vec![("topic", topic.topic.as_str())], topic.lost_to_tails));
    let per_group = |name, help, count: fn(&GroupMeters) -> u64| {
        counters(name, help, meters.groups.iter().map(|group| (labels(group), count(group))))
    };
    [
        counters("events_published_total", "Events stored.", published),
        per_group("events_delivered_total", "Deliveries that subscribers took.", |group| group.delivered),
        per_group("events_acked_total", "Events settled by an ack.", |group| group.acked),
        per_group("events_nacked_total", "Deliveries given back as failed.", |group| group.nacked),
        per_group("events_redelivered_total", "Deliveries of events that reached the group before.", |group| {
            group.redelivered
        }),
        per_group("events_dead_lettered_total", "Events that went to the dead letters.", |group| group.dead_lettered),
        per_group(
            "events_lost_total",
            "Offsets that were gone before the group settled them, told as gaps.",
            |group| group.lost,
        ),
        counters(
            "tail_events_lost_total",
            "Offsets that were gone before a reader without a group got them, told as gaps.",
            to_tails,
        ),
    ]
    .into_iter()
    .flatten()
}

fn durations(meters: &MetersSnapshot) -> impl Iterator<Item = MetricFamily> + use<> {
    let per_group = |name, help, look: fn(&GroupMeters) -> &HistogramSnapshot| {
        histograms(name, help, meters.groups.iter().map(|group| (labels(group), look(group))))
    };
    let sync = meters.store.sync_ms.iter().map(|snapshot| (Vec::new(), snapshot));
    [
        per_group("subscribe_poll_duration_ms", "One read of the store by a dispatcher, in milliseconds.", |group| {
            &group.poll_ms
        }),
        per_group("delivery_handler_duration_ms", "From handing an event over to its ack, in milliseconds.", |group| {
            &group.handler_ms
        }),
        per_group("delivery_latency_ms", "From storing an event to handing it over, in milliseconds.", |group| {
            &group.latency_ms
        }),
        histograms("store_fsync_duration_ms", "Making commits durable, one per sync, in milliseconds.", sync),
    ]
    .into_iter()
    .flatten()
}

fn hub_state(hub: &Hub, meters: &MetersSnapshot, lags: &[LagCount]) -> impl Iterator<Item = MetricFamily> + use<> {
    let in_flight = || meters.groups.iter().map(|group| (labels(group), group.in_flight));
    let lag = |lag| -> (Vec<(&str, &str)>, u64) {
        let lag: &LagCount = lag;
        (vec![("topic", &lag.topic), ("group", &lag.group)], lag.lag_events)
    };
    let connections = u64::try_from(hub.ws_connections()).unwrap_or(u64::MAX);
    let DispatcherCounts { working, resting } = meters.dispatchers;
    let dispatchers = [(vec![("state", "working")], working), (vec![("state", "resting")], resting)];
    [
        gauges("events_inflight", "Events leased to subscribers.", in_flight()),
        gauges("consumer_lag_events", "Retained events that a group has not settled.", lags.iter().map(lag)),
        gauges("ws_connections", "Open WebSocket connections.", [(Vec::new(), connections)].into_iter()),
        counters(
            "publishes_rate_limited_total",
            "Publishes that a rate limit refused, to be tried again.",
            [(Vec::new(), hub.rates.refused())].into_iter(),
        ),
        gauges("hub_dispatchers", "One for each partition and group with a subscriber here.", dispatchers.into_iter()),
        gauges(
            "hub_delivery_bytes",
            "Bytes of events in memory that wait for subscribers.",
            [(Vec::new(), meters.delivery_bytes)].into_iter(),
        ),
        gauges("ws_inflight", "Events leased to subscribers that are connected by WebSocket.", in_flight()),
        gauges(
            "store_damaged_places",
            "Places found since the start that no longer hold what was written.",
            [(Vec::new(), meters.store.damaged_places)].into_iter(),
        ),
        gauges(
            "store_cut_frames",
            "Journal frames that were not whole at the start and were cut: by a crash, or by damage to the last one.",
            [(Vec::new(), meters.store.cut_frames)].into_iter(),
        ),
    ]
    .into_iter()
    .flatten()
}

/// Among several hubs on one store.
fn company(hub: &Hub, meters: &MetersSnapshot) -> impl Iterator<Item = MetricFamily> + use<> {
    let links = u64::try_from(hub.links.load(Ordering::Relaxed)).unwrap_or(u64::MAX);
    let links = hub.peers.as_ref().map(|_| (Vec::new(), links));
    let served = meters.groups_served.map(|groups| (Vec::new(), groups));
    [
        gauges("hub_groups_served", "Groups that this hub serves, of all on the store.", served.into_iter()),
        gauges(
            "hub_links",
            "Connections to other hubs that serve groups of clients connected here.",
            links.into_iter(),
        ),
    ]
    .into_iter()
    .flatten()
}

fn left_out(omitted: &Omitted) -> Option<MetricFamily> {
    let Omitted { topics, groups, lags } = *omitted;
    let series = [("topics", topics), ("groups", groups), ("lags", lags)].into_iter().filter(|(_, count)| *count > 0);
    let labelled = series.map(|(what, count)| (vec![("what", what)], count as u64));
    gauges("metrics_omitted", "Series left out here because there are too many; those with most events stay.", labelled)
}

/// Of tasks inside the hub. It should have nothing to say.
fn failures(hub: &Hub) -> Option<MetricFamily> {
    let totals = hub.failures().totals();
    let by_kind = totals.iter().map(|(kind, total)| (vec![("task", *kind)], *total));
    counters("task_failures_total", "Tasks of the hub that panicked and were started again.", by_kind)
}

/// Where partitions have owners.
fn owners(meters: &MetersSnapshot) -> impl Iterator<Item = MetricFamily> + use<> {
    let divided: Vec<&GroupMeters> = meters.groups.iter().filter(|group| group.moves > 0).collect();
    let per_group = |one: &OwnerMeters| {
        vec![("topic".to_owned(), one.topic.to_string()), ("group".to_owned(), one.group.to_string())]
    };
    let mut owned: Vec<(Vec<(String, String)>, u64)> = Vec::new();
    let mut epochs: Vec<(Vec<(String, String)>, u64)> = Vec::new();
    for one in &meters.owners {
        for member in &one.owners.members {
            let mut labels = per_group(one);
            labels.push(("member".to_owned(), member.member.clone()));
            owned.push((labels, member.partitions.len() as u64));
        }
        for partition in &one.owners.partitions {
            let mut labels = per_group(one);
            labels.push(("partition".to_owned(), partition.partition.to_string()));
            epochs.push((labels, partition.epoch));
        }
    }
    let generations = meters
        .owners
        .iter()
        .map(|one| (vec![("topic", one.topic.as_str()), ("group", one.group.as_str())], one.owners.generation));
    [
        gauges("partition_owned", "Partitions that a member owns.", owned.iter().map(borrowed)),
        gauges("partition_epoch", "Raised whenever a partition gets another owner.", epochs.iter().map(borrowed)),
        gauges("group_generation", "Raised whenever members or partitions change.", generations),
        counters(
            "partition_moves_total",
            "Partitions that got an owner, or another one.",
            divided.iter().map(|group| (labels(group), group.moves)),
        ),
        histograms(
            "rebalance_duration_ms",
            "How long a partition was without an owner that takes events, in milliseconds.",
            divided.iter().map(|group| (labels(group), &group.handover_ms)),
        ),
    ]
    .into_iter()
    .flatten()
}

fn borrowed((labels, value): &(Vec<(String, String)>, u64)) -> (Vec<(&str, &str)>, u64) {
    (labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(), *value)
}

fn labels(group: &GroupMeters) -> Vec<(&str, &str)> {
    vec![("topic", group.topic.as_str()), ("group", group.group.as_str())]
}

//! The text that Prometheus scrapes. Names and labels are a promise to whoever has a dashboard.

use prom_engine::{GroupMeters, Lag, MetersSnapshot};
use prom_store::HistogramSnapshot;
use prometheus::core::Collector;
use prometheus::process_collector::ProcessCollector;
use prometheus::proto::MetricFamily;
use prometheus::{Error, TextEncoder};

use super::family::{counters, gauges, histograms};
use crate::Hub;

/// All families that have something to say.
pub(crate) fn exposition(hub: &Hub, lags: &[Lag]) -> Result<String, Error> {
    let meters = hub.bus.meters();
    let mut families: Vec<MetricFamily> = events(&meters).collect();
    families.extend(durations(&meters));
    families.extend(hub_state(hub, &meters, lags));
    families.extend(ProcessCollector::for_self().collect());
    TextEncoder::new().encode_to_string(&families)
}

fn events(meters: &MetersSnapshot) -> impl Iterator<Item = MetricFamily> + use<> {
    let published = meters.topics.iter().map(|topic| (vec![("topic", topic.topic.as_str())], topic.published));
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

fn hub_state(hub: &Hub, meters: &MetersSnapshot, lags: &[Lag]) -> impl Iterator<Item = MetricFamily> + use<> {
    let in_flight = || meters.groups.iter().map(|group| (labels(group), group.in_flight));
    let lag = |lag| -> (Vec<(&str, &str)>, u64) {
        let lag: &Lag = lag;
        (vec![("topic", &lag.topic), ("group", &lag.group)], lag.lag_events)
    };
    let connections = u64::try_from(hub.ws_connections()).unwrap_or(u64::MAX);
    [
        gauges("events_inflight", "Events leased to subscribers.", in_flight()),
        gauges("consumer_lag_events", "Retained events that a group has not settled.", lags.iter().map(lag)),
        gauges("ws_connections", "Open WebSocket connections.", [(Vec::new(), connections)].into_iter()),
        gauges("ws_inflight", "Events leased to subscribers that are connected by WebSocket.", in_flight()),
    ]
    .into_iter()
    .flatten()
}

fn labels(group: &GroupMeters) -> Vec<(&str, &str)> {
    vec![("topic", group.topic.as_str()), ("group", group.group.as_str())]
}

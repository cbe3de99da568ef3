//! Telling a tracer what happened to events that are traced: those that carry a `traceparent`.
//!
//! The header itself travels with the event, untouched. What is told here are the hub's own two spans:
//! from a publish's arrival until it is durable, and from then until it is handed to a subscriber.
//! Without a tracer, headers are not looked at.

use prom_engine::StoredEvent;
use prom_types::{EpochMs, NewEvent};

use crate::Hub;

/// Takes the hub's spans. Must not block: it is called on the path of events.
pub trait Traces: Send + Sync {
    fn published(&self, span: PublishSpan<'_>);

    fn delivered(&self, span: DeliverSpan<'_>);
}

/// From a publish's arrival to its answer.
#[derive(Debug)]
pub struct PublishSpan<'a> {
    pub publish: &'a TracedPublish,
    pub ended_ms: EpochMs,
    /// Why it was not stored, if it was not.
    pub failure: Option<&'a str>,
}

/// From stored to handed over.
#[derive(Debug)]
pub struct DeliverSpan<'a> {
    pub topic: &'a str,
    pub group: Option<&'a str>,
    pub event: &'a StoredEvent,
    pub parent: TraceParent,
    pub attempt: u32,
    pub ended_ms: EpochMs,
}

/// A publish under way that is traced.
#[derive(Debug)]
pub struct TracedPublish {
    pub topic: String,
    pub parent: TraceParent,
    pub begun_ms: EpochMs,
}

/// The headers of a trace, as they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent {
    pub traceparent: String,
    pub tracestate: Option<String>,
}

impl TracedPublish {
    /// Only of events that are traced and sampled.
    pub(crate) fn of(event: &NewEvent, begun_ms: EpochMs) -> Option<Self> {
        let parent = TraceParent::of(|name| event.headers.get(name))?;
        Some(Self { topic: event.topic.to_string(), parent, begun_ms })
    }
}

/// Publishes that are under way together, and those of them that are traced.
pub(crate) struct TracedPublishes<'a> {
    hub: &'a Hub,
    publishes: Vec<TracedPublish>,
}

impl<'a> TracedPublishes<'a> {
    pub fn of<'e>(hub: &'a Hub, events: impl IntoIterator<Item = &'e NewEvent>) -> Self {
        let publishes = match hub.traces {
            Some(_) => {
                let begun_ms = hub.clock.now_ms();
                events.into_iter().filter_map(|event| TracedPublish::of(event, begun_ms)).collect()
            }
            None => Vec::new(),
        };
        Self { hub, publishes }
    }

    pub fn ended(&self, failure: Option<&prom_engine::Error>) {
        self.hub.tell_published(&self.publishes, failure);
    }
}

impl Hub {
    pub(crate) fn tell_published(&self, publishes: &[TracedPublish], failure: Option<&prom_engine::Error>) {
        let (Some(traces), false) = (&self.traces, publishes.is_empty()) else {
            return;
        };
        let failure = failure.map(ToString::to_string);
        let ended_ms = self.clock.now_ms();
        for publish in publishes {
            traces.published(PublishSpan { publish, ended_ms, failure: failure.as_deref() });
        }
    }
}

impl TraceParent {
    pub(crate) fn of_stored(event: &StoredEvent) -> Option<Self> {
        let headers = event.headers();
        Self::of(|name| headers.get(name))
    }

    fn of<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let traceparent = header("traceparent")?;
        // version-trace-parent-flags; the last bit of the flags says that it is recorded.
        let flags = traceparent.rsplit('-').next().and_then(|flags| u8::from_str_radix(flags, 16).ok())?;
        (flags & 1 == 1)
            .then(|| Self { traceparent: traceparent.to_owned(), tracestate: header("tracestate").map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sampled_traces_are_told() {
        let sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parent = |value: &'static str| TraceParent::of(move |name| (name == "traceparent").then_some(value));
        assert_eq!(parent(sampled).unwrap().traceparent, sampled);
        for not in ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "", "junk", "00-a-b-zz"] {
            assert_eq!(parent(not), None, "{not}");
        }
    }
}

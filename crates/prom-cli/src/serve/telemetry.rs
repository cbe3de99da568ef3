//! Sending the spans of traced events to an OpenTelemetry collector, over OTLP and HTTP.
//!
//! Spans wait in the exporter's own bounded queue; when the collector cannot keep up or is away they
//! are dropped there, and the hub goes on.

use std::time::{Duration, SystemTime};

use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{Span, SpanBuilder, SpanKind, Status, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use prom_gateway::trace::{DeliverSpan, PublishSpan, TraceParent, Traces};
use prom_types::EpochMs;

/// Where OTLP over HTTP takes traces, below the collector's address.
const PATH: &str = "/v1/traces";
const TIMEOUT: Duration = Duration::from_secs(5);

/// The hub's connection to a collector.
pub struct Telemetry {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    propagator: TraceContextPropagator,
}

impl Telemetry {
    /// `endpoint` is the collector's address, such as `http://127.0.0.1:4318`.
    pub fn start(endpoint: &str, service_name: &str) -> Result<Self, String> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{}{PATH}", endpoint.trim_end_matches('/')))
            .with_timeout(TIMEOUT)
            .build()
            .map_err(|error| error.to_string())?;
        let resource = Resource::builder().with_service_name(service_name.to_owned()).build();
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
        let tracer = provider.tracer("prom");
        Ok(Self { provider, tracer, propagator: TraceContextPropagator::new() })
    }

    /// Sends what waits.
    pub fn shut_down(&self) {
        if let Err(error) = self.provider.shutdown() {
            tracing::warn!(%error, "the last traces could not be sent");
        }
    }

    fn span(&self, builder: SpanBuilder, parent: &TraceParent, end: EpochMs, failure: Option<&str>) {
        let context = self.propagator.extract_with_context(&Context::new(), &Headers(parent));
        let mut span = self.tracer.build_with_context(builder, &context);
        if let Some(failure) = failure {
            span.set_status(Status::error(failure.to_owned()));
        }
        span.end_with_timestamp(time(end));
    }
}

impl Traces for Telemetry {
    fn published(&self, span: PublishSpan<'_>) {
        let publish = span.publish;
        let builder = SpanBuilder::from_name(format!("publish {}", publish.topic))
            .with_kind(SpanKind::Producer)
            .with_start_time(time(publish.begun_ms))
            .with_attributes(attributes("publish", &publish.topic));
        self.span(builder, &publish.parent, span.ended_ms, span.failure);
    }

    fn delivered(&self, span: DeliverSpan<'_>) {
        let mut about = attributes("deliver", span.topic);
        about.push(KeyValue::new("messaging.message.id", span.event.id().to_string()));
        about.push(KeyValue::new("messaging.prom.attempt", i64::from(span.attempt)));
        if let Some(group) = span.group {
            about.push(KeyValue::new("messaging.consumer.group.name", group.to_owned()));
        }
        let builder = SpanBuilder::from_name(format!("deliver {}", span.topic))
            .with_kind(SpanKind::Consumer)
            .with_start_time(time(span.event.stored_ts()))
            .with_attributes(about);
        self.span(builder, &span.parent, span.ended_ms, None);
    }
}

fn attributes(operation: &'static str, topic: &str) -> Vec<KeyValue> {
    vec![
        KeyValue::new("messaging.system", "prom"),
        KeyValue::new("messaging.operation.name", operation),
        KeyValue::new("messaging.destination.name", topic.to_owned()),
    ]
}

fn time(epoch_ms: EpochMs) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(epoch_ms).unwrap_or_default())
}

/// The headers of a trace, as the propagator asks for them.
struct Headers<'a>(&'a TraceParent);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => Some(&self.0.traceparent),
            "tracestate" => self.0.tracestate.as_deref(),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

//! `[telemetry]`: where traces go, and how often the hub reports on itself.

use std::time::Duration;

use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"[telemetry]
# An OpenTelemetry collector that accepts OTLP over HTTP. Unset: nothing is sent.
#otlp_endpoint = "http://127.0.0.1:4318"
# The name of the hub in traces.
#service_name = "prom"
# How often the hub writes its figures to the topic system.metrics, if anything has changed. "0s": never.
#metrics_every = "1m"
"#;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryConfig {
    pub otlp_endpoint: Option<String>,
    pub service_name: String,
    /// `None`: no reports.
    pub metrics_every: Option<Duration>,
}

/// Each report asks the store for every lag.
const SHORTEST: Duration = Duration::from_secs(1);

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self { otlp_endpoint: None, service_name: "prom".to_owned(), metrics_every: Some(Duration::from_secs(60)) }
    }
}

impl TelemetryConfig {
    pub fn read(&mut self, section: &mut ConfigSection<'_>) {
        section.set_some("otlp_endpoint", &mut self.otlp_endpoint, value::web_address);
        section.set("service_name", &mut self.service_name, value::text);
        section.set("metrics_every", &mut self.metrics_every, |value| {
            let every = value::duration(value)?;
            Ok((!every.is_zero()).then(|| every.max(SHORTEST)))
        });
    }
}

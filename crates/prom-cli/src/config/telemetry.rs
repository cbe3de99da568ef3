//! `[telemetry]`: where traces go.

use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"[telemetry]
# An OpenTelemetry collector that accepts OTLP over HTTP. Unset: nothing is sent.
#otlp_endpoint = "http://127.0.0.1:4318"
# The name of the hub in traces.
#service_name = "prom"
"#;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryConfig {
    pub otlp_endpoint: Option<String>,
    pub service_name: String,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self { otlp_endpoint: None, service_name: "prom".to_owned() }
    }
}

impl TelemetryConfig {
    pub fn read(&mut self, section: &mut ConfigSection<'_>) {
        section.set_some("otlp_endpoint", &mut self.otlp_endpoint, value::web_address);
        section.set("service_name", &mut self.service_name, value::text);
    }
}

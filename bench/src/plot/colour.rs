//! One colour for each contender, the same in every plot: warm for ours, a colour for each server, paler where it syncs.

/// By the contender's id.
pub fn of(contender: &str) -> &'static str {
    match contender {
        "prom-client" => "#ea580c",
        "prom-plain" => "#f59e0b",
        "nats-default" => "#2563eb",
        "nats-durable" => "#93c5fd",
        "redis-everysec" => "#be123c",
        "redis-always" => "#fda4af",
        "rabbitmq-classic" => "#15803d",
        "rabbitmq-quorum" => "#86efac",
        "rabbitmq-stream" => "#4d7c0f",
        _ => "#6b7280",
    }
}

pub const OURS: &str = "#ea580c";
pub const ALSO: &str = "#2563eb";

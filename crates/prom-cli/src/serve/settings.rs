//! The configuration in the words of those who use it: engine, auth, gateway.

use std::time::Duration;

use prom_auth::AuthOptions;
use prom_engine::{Compaction, NewTopics, Retention, TopicSettings};
use prom_gateway::rates::Loopback;
use prom_gateway::{Cors, GatewayOptions, Rate, RateOptions};

use crate::config::{self, Config, RateLimit};

pub fn new_topics(topics: &config::Topics) -> NewTopics {
    match topics.auto_create {
        true => NewTopics::Create { partitions: topics.partitions, retention: retention(&topics.retention) },
        false => NewTopics::Refuse,
    }
}

pub fn topic(declared: &config::Topic) -> Result<TopicSettings, prom_engine::Error> {
    let mut settings = TopicSettings::new(declared.name.as_str())?.partitions(declared.partitions);
    settings.retention = retention(&declared.retention);
    settings.max_attempts = declared.max_attempts;
    settings.key = declared.key.clone();
    match declared.compaction {
        config::Compaction::Off => {}
        config::Compaction::On { tombstone_grace: None } => settings = settings.compacted(),
        config::Compaction::On { tombstone_grace: Some(grace) } => {
            settings.compaction = Some(Compaction { tombstone_grace_ms: millis(grace) });
        }
    }
    Ok(settings)
}

pub fn auth(auth: &config::Auth) -> AuthOptions {
    AuthOptions {
        jwt_secret: auth.jwt_secret.clone(),
        jwks_url: auth.jwks_url.clone(),
        audience: auth.audience.clone(),
        issuer: auth.issuer.clone(),
        clock_tolerance: Duration::from_secs(auth.clock_tolerance_s),
        static_token: auth.static_token.clone(),
        ..AuthOptions::default()
    }
}

pub fn gateway(config: &Config) -> GatewayOptions {
    let limits = &config.limits;
    GatewayOptions {
        frame_bytes: size(limits.frame_bytes),
        body_bytes: size(limits.body_bytes),
        connections: limits.connections,
        subscriptions_per_connection: limits.subscriptions_per_connection,
        auth_deadline: limits.auth_deadline,
        ping_interval: limits.ping_interval,
        silence_limit: limits.silence_limit,
        rates: rates(config),
        cors: cors(&config.cors),
        ..GatewayOptions::default()
    }
}

fn rates(config: &Config) -> RateOptions {
    let loopback = match config.server.listen.ip().is_loopback() {
        true => Loopback::Yes,
        false => Loopback::No,
    };
    let usual = RateOptions::default_on(loopback);
    RateOptions {
        per_connection: rate(config.limits.per_connection, usual.per_connection),
        per_topic: rate(config.limits.per_topic, usual.per_topic),
        per_subject: rate(config.limits.per_subject, usual.per_subject),
    }
}

fn rate(limit: RateLimit, usual: Option<Rate>) -> Option<Rate> {
    match limit {
        RateLimit::Auto => usual,
        RateLimit::Off => None,
        RateLimit::Limit { per_second, burst } => Some(Rate::per_second(per_second.into(), burst.into())),
    }
}

fn cors(cors: &config::Cors) -> Cors {
    match cors.origins.as_slice() {
        [] => Cors::None,
        [all] if all == "*" => Cors::Any,
        origins => Cors::Origins(origins.to_vec()),
    }
}

fn retention(retention: &config::Retention) -> Retention {
    Retention { age_ms: retention.age.map(millis), size_bytes: retention.size_bytes }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_file_are_those_of_the_gateway() {
        assert_eq!(gateway(&Config::default()), GatewayOptions::default());
    }

    #[test]
    fn rates_are_limited_by_default_only_where_others_can_connect() {
        let mut config = Config::default();
        config.server.listen = "0.0.0.0:1".parse().unwrap();
        assert_eq!(gateway(&config).rates.per_connection, Some(Rate::per_second(200.0, 200.0)));
        config.limits.per_connection = RateLimit::Off;
        assert_eq!(gateway(&config).rates.per_connection, None);
    }

    #[test]
    fn a_declared_topic_says_everything_the_file_said() {
        let declared = config::Topic {
            name: prom_types::TopicName::parse("process.state").unwrap(),
            partitions: 3,
            key: Some(".payload.id".to_owned()),
            retention: config::Retention { age: Some(Duration::from_secs(1)), size_bytes: Some(2) },
            compaction: config::Compaction::On { tombstone_grace: Some(Duration::from_secs(4)) },
            max_attempts: Some(5),
        };
        let settings = topic(&declared).unwrap();
        assert_eq!(settings.partitions, 3);
        assert_eq!(settings.retention, Retention { age_ms: Some(1000), size_bytes: Some(2) });
        assert_eq!(settings.compaction, Some(Compaction { tombstone_grace_ms: 4000 }));
        assert_eq!(settings.max_attempts, Some(5));
    }
}

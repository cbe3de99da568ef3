//! The configuration as engine, auth and gateway take it.

use std::time::Duration;

use prom_auth::AuthOptions;
use prom_engine::{Caps, DualWrite, NewTopics, TopicSettings};
use prom_gateway::rates::Loopback;
use prom_gateway::{Cors, GatewayOptions, Rate, RateOptions};
use prom_types::SnapshotSettings;

use crate::config::{AuthConfig, Config, CorsConfig, DeclaredTopic, LimitsConfig, RateLimit, TopicsConfig};

pub fn new_topics(topics: &TopicsConfig) -> NewTopics {
    if topics.auto_create {
        return NewTopics::Create { partitions: topics.partitions, retention: topics.retention };
    }
    NewTopics::Refuse
}

pub fn caps(limits: &LimitsConfig) -> Caps {
    Caps {
        topics: limits.topics,
        topics_per_subject: limits.topics_per_subject,
        groups: limits.groups,
        groups_per_subject: limits.groups_per_subject,
    }
}

pub fn topic(declared: &DeclaredTopic) -> Result<TopicSettings, prom_engine::Error> {
    let mut settings = TopicSettings::new(declared.name.as_str())?.partitions(declared.partitions);
    settings.retention = declared.retention;
    settings.max_attempts = declared.max_attempts;
    settings.key = declared.key.clone();
    settings.mask = declared.mask.clone();
    settings.index = declared.index.clone();
    settings.dual_write = declared.dual_write.map(|until| DualWrite { until });
    settings.snapshot = declared.snapshot.map(|every| SnapshotSettings { every_ms: crate::units::millis(every) });
    let usual = settings.clone().compacted().compaction;
    settings.compaction = declared.compaction.settings(usual);
    settings.versions = declared.versions;
    settings.check()?;
    Ok(settings)
}

pub fn auth(auth: &AuthConfig) -> AuthOptions {
    AuthOptions {
        jwt_secret: auth.jwt_secret.clone(),
        jwks_url: auth.jwks_url.clone(),
        audience: auth.audience.clone(),
        issuer: auth.issuer.clone(),
        clock_tolerance: Duration::from_secs(auth.clock_tolerance_s),
        require_exp: auth.require_exp,
        static_token: auth.static_token.clone(),
        ..AuthOptions::default()
    }
}

pub fn gateway(config: &Config) -> GatewayOptions {
    let limits = &config.limits;
    GatewayOptions {
        frame_bytes: size(limits.frame_bytes),
        body_bytes: size(limits.body_bytes),
        bodies_bytes: size(limits.bodies_bytes),
        connections: limits.connections,
        subscriptions_per_connection: limits.subscriptions_per_connection,
        subscriptions_per_subject: limits.subscriptions_per_subject,
        auth_deadline: limits.auth_deadline,
        write_deadline: limits.write_deadline,
        ping_interval: limits.ping_interval,
        silence_limit: limits.silence_limit,
        rates: rates(config),
        cors: cors(&config.cors),
        searches: config.searches.clone(),
        ..GatewayOptions::default()
    }
}

fn rates(config: &Config) -> RateOptions {
    let loopback = if config.server.listen.ip().is_loopback() { Loopback::Yes } else { Loopback::No };
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

fn cors(cors: &CorsConfig) -> Cors {
    match cors.origins.as_slice() {
        [] => Cors::None,
        [all] if all == "*" => Cors::Any,
        origins => Cors::Origins(origins.to_vec()),
    }
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use prom_protocol::http::topics::CompactionChoice;
    use prom_types::{Compaction, Retention};

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
        let declared = DeclaredTopic {
            name: prom_types::TopicName::parse("process.state").unwrap(),
            partitions: 3,
            key: Some(".payload.id".to_owned()),
            retention: Retention { age_ms: Some(1000), size_bytes: Some(2) },
            compaction: CompactionChoice::With(Compaction { tombstone_grace_ms: 4000, min_age_ms: 5000 }),
            versions: true,
            max_attempts: Some(5),
            schema: None,
            dual_write: Some(Some(7)),
            mask: vec!["/card/number".to_owned()],
            index: vec![".payload.id".to_owned()],
            snapshot: Some(Duration::from_secs(30)),
        };
        let settings = topic(&declared).unwrap();
        assert_eq!(settings.partitions, 3);
        assert_eq!(settings.retention, Retention { age_ms: Some(1000), size_bytes: Some(2) });
        assert_eq!(settings.compaction, Some(Compaction { tombstone_grace_ms: 4000, min_age_ms: 5000 }));
        assert!(settings.versions);
        assert_eq!(settings.max_attempts, Some(5));
        assert_eq!(settings.snapshot, Some(SnapshotSettings { every_ms: 30_000 }));
        assert_eq!(settings.dual_write, Some(DualWrite { until: Some(7) }));
        assert_eq!((settings.mask, settings.index), (vec!["/card/number".to_owned()], vec![".payload.id".to_owned()]));
    }
}

//! The commented default file that `prom config default` prints: every section's own text, one after the other.
//!
//! Prose begins with `# `, a key that can be switched on with `#` alone.

use super::{
    auth, changefeed, cors, limits, lint, log, mongo, outbox, projector, schemas, search, server, store, telemetry,
    topic, topics, upcast,
};

const INTRODUCTION: &str = "\
# prom.toml: the configuration of a hub. Every key is listed with its default, or with an example if it has none.
# Remove the # before a key to set it. Flags and environment variables override this file.
";

pub fn default_text() -> String {
    let sections = [
        INTRODUCTION,
        server::TEXT,
        store::TEXT,
        mongo::TEXT,
        auth::TEXT,
        limits::TEXT,
        topics::TEXT,
        topic::TEXT,
        schemas::TEXT,
        upcast::TEXT,
        outbox::TEXT,
        changefeed::TEXT,
        projector::TEXT,
        search::TEXT,
        cors::TEXT,
        telemetry::TEXT,
        log::TEXT,
        lint::TEXT,
    ];
    sections.join("\n")
}

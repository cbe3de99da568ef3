//! The outboxes of the configuration: started with the hub, ended before its bus.

use std::sync::Arc;

use prom_engine::Bus;
use prom_flows::outbox::{OutboxFlow, OutboxOptions, OutboxPlace};
use prom_jobs::FlowBoard;

use crate::config::{Config, DeclaredOutbox, OutboxSourceKind};
use crate::exit::{CommandResult, Failure};

/// What can be told without a database.
pub fn check(config: &Config) -> CommandResult {
    config.outboxes.iter().try_for_each(|declared| options(config, declared).map(drop))
}

/// Starts them and shows them. A database that does not answer is told by the board, and does not stop the hub.
pub fn start(config: &Config, bus: &Bus, board: &FlowBoard) -> Result<Vec<Arc<OutboxFlow>>, Failure> {
    let mut started = Vec::with_capacity(config.outboxes.len());
    for declared in &config.outboxes {
        let outbox = OutboxFlow::start(bus, options(config, declared)?);
        board.add(outbox.clone());
        started.push(outbox);
    }
    Ok(started)
}

fn options(config: &Config, declared: &DeclaredOutbox) -> Result<OutboxOptions, Failure> {
    let usual = config.mongo.url.as_ref().filter(|_| declared.source == OutboxSourceKind::Mongo);
    let url = declared.url.as_ref().or(usual).cloned().ok_or_else(|| {
        Failure::usage(format!("[[outbox]] {} has no url", declared.name)).fix("set `url` there, or in [mongo]")
    })?;
    let table = declared.table.clone();
    let place = match declared.source {
        OutboxSourceKind::Mongo => OutboxPlace::Mongo {
            url,
            database: declared.database.clone(),
            collection: table,
            field: declared.field.clone(),
        },
        OutboxSourceKind::Postgres => OutboxPlace::Postgres { url, table },
        OutboxSourceKind::Sqlite => OutboxPlace::Sqlite { url, table },
    };
    Ok(OutboxOptions {
        name: declared.name.clone(),
        batch: declared.batch,
        lease: declared.lease,
        poll: declared.poll,
        max_attempts: declared.max_attempts,
        on_error: declared.on_error,
        keep_sent: declared.keep_sent.unwrap_or_else(|| place.usual_keep_sent()),
        place,
    })
}

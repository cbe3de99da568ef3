//! The real binary, over real sockets, with third-party programs.

mod asyncapi;
mod caching_client;
mod cloud_events;
mod delete_topic;
mod evolution;
mod expect;
mod import;
mod lint;
mod log;
mod metrics;
mod openapi;
mod plain_node;
mod schema_registry;
mod serve;
mod traces;

use prom_testkit::tools::ToolError;

/// The result of a tool, or a note that the test is skipped.
fn or_skip<T>(tool: Result<T, ToolError>) -> Option<T> {
    match tool {
        Ok(tool) => Some(tool),
        Err(missing @ ToolError::Missing(_)) => {
            eprintln!("skipped: {missing}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

//! The real binary, over real sockets, beside programs written by others.

mod cloud_events;
mod metrics;
mod openapi;
mod plain_node;
mod serve;
mod traces;

use prom_testkit::tools::ToolError;

/// What a tool gave, or a word about why the test is skipped.
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

//! The version that an event says it has.

use prom_types::Headers;

/// Names the version of an event's payload: set by the publisher, else by the hub.
pub const VERSION_HEADER: &str = "x-schema-version";
/// The version that an upcast event was stored with.
pub const UPCASTED_FROM: &str = "x-upcasted-from";

/// The version in the headers; `Err` with the text if it is no version.
pub(super) fn named_version(headers: &Headers) -> Result<Option<u32>, String> {
    match headers.get(VERSION_HEADER) {
        None => Ok(None),
        Some(text) => match text.parse::<u32>() {
            Ok(version) if version > 0 => Ok(Some(version)),
            _ => Err(text.chars().take(40).collect()),
        },
    }
}

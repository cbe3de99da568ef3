//! What an error of MongoDB means for a feed.

use mongodb::error::{Error, ErrorKind};

use super::error::FeedError;
use super::limits::REASON_CHARS;
use super::position::ClusterTime;

const NO_MATCHING_DOCUMENT: i32 = 47;
const SNAPSHOT_TOO_OLD: i32 = 239;
const SNAPSHOT_UNAVAILABLE: i32 = 246;
const INVALID_RESUME_TOKEN: i32 = 260;
const CHANGE_STREAM_FATAL: i32 = 280;
const CHANGE_STREAM_HISTORY_LOST: i32 = 286;
const BSON_TOO_LARGE: i32 = 10334;
/// What servers say of a token that is none: of another version, cut short, or made up.
const BROKEN_TOKEN: [i32; 4] = [9, 50788, 50795, 50811];
/// The server's answer for a change stream on one that is in no replica set.
const NOT_A_REPLICA_SET: i32 = 40573;

/// Most errors pass by themselves or once somebody mends the server; they are tried again.
pub(crate) fn judge(error: Error) -> FeedError {
    let told = reason(&error);
    match code(&error) {
        Some(INVALID_RESUME_TOKEN | CHANGE_STREAM_FATAL | CHANGE_STREAM_HISTORY_LOST) => {
            FeedError::Lost { reason: told }
        }
        Some(code) if BROKEN_TOKEN.contains(&code) && told.to_lowercase().contains("token") => {
            FeedError::Lost { reason: told }
        }
        Some(BSON_TOO_LARGE) => FeedError::TooLarge,
        Some(SNAPSHOT_TOO_OLD | SNAPSHOT_UNAVAILABLE) => FeedError::CopyTooOld { reason: told },
        Some(NO_MATCHING_DOCUMENT) => FeedError::NoImage { reason: told, at: cluster_time(&error.kind.to_string()) },
        Some(NOT_A_REPLICA_SET) => FeedError::Stop {
            reason: format!(
                "the server is in no replica set, and only those have change streams ({told}); make it a set of one member \
                 with rs.initiate(), then `prom feeds restart`"
            ),
        },
        _ => FeedError::Mongo(error),
    }
}

/// The moment of the change that an error of the server is about, as it writes it: `clusterTime: Timestamp(1795124486, 14)`.
fn cluster_time(text: &str) -> Option<ClusterTime> {
    let (_, rest) = text.split_once("clusterTime: Timestamp(")?;
    let (numbers, _) = rest.split_once(')')?;
    let (seconds, increment) = numbers.split_once(", ")?;
    Some(ClusterTime { seconds: seconds.parse().ok()?, increment: increment.parse().ok()? })
}

fn code(error: &Error) -> Option<i32> {
    match error.kind.as_ref() {
        ErrorKind::Command(command) => Some(command.code),
        _ => None,
    }
}

/// The error on one line.
pub(crate) fn reason(error: &Error) -> String {
    let text = error.kind.to_string().replace('\n', " ");
    match text.char_indices().nth(REASON_CHARS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_of_a_change_is_read_from_what_the_server_says() {
        let said = "not found for event: {operationType: \"update\", clusterTime: Timestamp(1795124486, 14)}";
        assert_eq!(cluster_time(said), Some(ClusterTime { seconds: 1_795_124_486, increment: 14 }));
        assert_eq!(cluster_time("clusterTime: Timestamp(1795124486"), None);
    }
}

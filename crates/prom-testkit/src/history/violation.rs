//! The ways in which a store can break its promises.

use prom_store::{CursorName, LogName};
use prom_types::{EventId, Offset};

/// One broken promise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    #[error("{id} was acknowledged at {log} offset {offset} and is not there")]
    Lost { id: EventId, log: LogName, offset: Offset },
    #[error("{id} was acknowledged at {log} offset {offset} and is at offset {found} of {found_log}")]
    Moved { id: EventId, log: LogName, offset: Offset, found_log: LogName, found: Offset },
    #[error("{id} is there twice: at {log} offset {first} and at offset {second} of {second_log}")]
    Doubled { id: EventId, log: LogName, first: Offset, second_log: LogName, second: Offset },
    #[error("{id} at {log} offset {offset} was never published")]
    Invented { id: EventId, log: LogName, offset: Offset },
    #[error("{log} gives offset {offset} after {before}")]
    OutOfOrder { log: LogName, before: Offset, offset: Offset },
    #[error("{log} has a hole: offset {missing} is missing")]
    Hole { log: LogName, missing: Offset },
    #[error("{log} offset {offset}: publisher {publisher} had sent number {sequence} before {before}")]
    PublisherReordered { log: LogName, offset: Offset, publisher: u64, sequence: u64, before: u64 },
    #[error("{cursor} counts offset {offset} as settled, which was never acked nor given up")]
    SettledUnasked { cursor: CursorName, offset: Offset },
    #[error("{cursor} has settled offset {offset}, beyond the end of its log at {next}")]
    BeyondTheEnd { cursor: CursorName, offset: Offset, next: Offset },
    #[error("{cursor}: the ack of offset {offset} was answered and is forgotten")]
    AckForgotten { cursor: CursorName, offset: Offset },
    #[error("{cursor} offset {offset}: {recorded} failed attempts were recorded, {found} are known")]
    AttemptsForgotten { cursor: CursorName, offset: Offset, recorded: u32, found: u32 },
    #[error("{0}")]
    Damaged(String),
}

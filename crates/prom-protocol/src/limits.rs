//! Limits of the protocol itself, each with its reason.

/// A correlation is echoed, so it is kept until the answer: a counter or a UUID, with some room.
pub const CORR_BYTES: usize = 64;
/// Items of one batched frame; the frame's size bounds it too.
pub const BATCH_ITEMS: usize = 10_000;
/// A reason for a nack is kept with the event; a stack trace does not belong there.
pub const REASON_BYTES: usize = 4096;
/// Control frames of WebSocket carry no more, by its own rules.
pub const CONTROL_BYTES: usize = 125;

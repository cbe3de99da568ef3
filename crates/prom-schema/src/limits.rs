//! Every limit of this crate in one place, each with its reason.

/// Longest schema text. Generated schemas of large models have a hundred kilobytes.
pub const SCHEMA_BYTES: usize = 256 * 1024;
/// Nesting of a schema. Each level costs stack while it is compiled and while a document is judged.
pub const SCHEMA_DEPTH: usize = 64;
/// Versions of one topic: each is compiled and kept, and a publish that names no version may try several.
pub const VERSIONS: usize = 200;
/// References of one schema to others of the registry, and of those to others in turn.
pub const REFERENCES: usize = 64;
/// Compiled size of one `pattern`. What people write has a few kilobytes; nested repetitions have millions.
pub const PATTERN_PROGRAM_BYTES: usize = 256 * 1024;
/// Schemas that may judge one place of a document, before the whole schema is refused: judging takes about this many
/// steps for each value of the document, and nothing can stop it on the way.
pub const WIDTH: usize = 256;
/// Combinations of schemas that are looked at to find the width.
pub const WIDTH_STATES: usize = 20_000;
/// Bytes of a payload times the width up to which it is judged on the publisher's own thread: about a millisecond.
pub const INLINE_COST: usize = 256 * 1024;
/// Characters of a value that a refusal quotes.
pub const QUOTED_CHARS: usize = 120;

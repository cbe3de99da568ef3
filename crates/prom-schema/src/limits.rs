//! Every limit of this crate in one place, each with its reason.

use std::time::Duration;

/// Longest schema text. Generated schemas of large models have a hundred kilobytes.
pub const SCHEMA_BYTES: usize = 256 * 1024;
/// Nesting of a schema. Each level costs stack while it is compiled and while a document is judged.
pub const SCHEMA_DEPTH: usize = 64;
/// Versions of one topic: a publish that names no version may try several.
pub const VERSIONS: usize = 200;
/// References of one schema to others of the registry, and of those to others in turn.
pub const REFERENCES: usize = 64;
/// References of references of references: deeper ones are a mistake.
pub const REFERENCE_DEPTH: usize = 16;
/// Text of all schemas that one schema refers to, directly or through others.
pub const BUNDLE_BYTES: usize = 1024 * 1024;
/// Compiled size of one `pattern`. What people write has a few kilobytes; nested repetitions have millions.
pub const PATTERN_PROGRAM_BYTES: usize = 256 * 1024;
/// Compiled size of all patterns of one schema together.
pub const PATTERNS_BYTES: usize = 4 * 1024 * 1024;
/// Memory of a compiled schema for each byte of its text, with all it refers to. Measured: 24 to 29 for properties and branches, less for text.
pub const MEMORY_PER_SCHEMA_BYTE: usize = 40;
/// Memory of compiled patterns for each byte of their programs: threads that use them keep tables of their own.
pub const MEMORY_PER_PATTERN_BYTE: usize = 3;
/// Steps back of one pattern with look-around on one string. An address takes some dozens; beyond it the string does not match.
pub const PATTERN_BACKTRACKS: usize = 2_000;
/// Schemas that may judge one place of a document, before the whole schema is refused: judging takes about this many
/// steps for each value of the document, and nothing can stop it on the way.
pub const WIDTH: usize = 256;
/// Combinations of schemas that are looked at to find the width.
pub const WIDTH_STATES: usize = 20_000;
/// Bytes of a payload times the width up to which it is judged on the publisher's own thread: about a millisecond.
pub const INLINE_COST: usize = 256 * 1024;
/// Bytes of a payload times the width beyond which it is not judged at all: about a quarter of a second. Payloads of a megabyte
/// stay below it for schemas of a width that people write.
pub const JUDGING_COST: usize = 64 * 1024 * 1024;
/// Wall time of one upcaster on one payload. Its steps are bounded too, and what is used up on a busy machine must not send a
/// sound event to the dead letters.
pub const UPCAST_TIME: Duration = Duration::from_millis(500);
/// Wall time of all steps of one event, after which no further one is begun: others wait for the thread.
pub const UPCAST_CHAIN_TIME: Duration = Duration::from_millis(500);
/// Characters of a value that a refusal quotes.
pub const QUOTED_CHARS: usize = 120;

/// Subschemas of one document, counted once each however often they are referred to.
pub const SCHEMA_NODES: usize = 20_000;
/// Text of one regular expression.
pub const PATTERN_BYTES: usize = 4 * 1024;
/// Memory of one automaton. `[a-z]{1,64}` needs some kilobytes; nested repetitions need megabytes, and are not decided.
pub const PATTERN_AUTOMATON_BYTES: usize = 1024 * 1024;
/// Memory of all automata of one comparison, where one that became too large counts as the largest. Building them is not counted
/// in steps.
pub const AUTOMATA_BYTES: usize = 6 * 1024 * 1024;
/// Digits before or after the point of a number. Longer ones are written to exhaust memory: `1e999999999` is short.
pub const NUMBER_DIGITS: u32 = 2_000;

/// Steps of one comparison: about a quarter of a second. An honest pair takes a few milliseconds. Steps decide, because they are
/// the same on a busy machine and an idle one.
pub const CHECK_STEPS: u64 = 400_000;
/// Wall time of one comparison, for what takes far longer than its steps should.
pub const CHECK_TIME: Duration = Duration::from_secs(20);
/// Comparisons that may take all their steps when a new version is held against the earlier ones: a person waits for the answer.
pub const MODE_COMPARISONS: u64 = 10;
/// Wall time of all of them, likewise.
pub const MODE_TIME: Duration = Duration::from_secs(60);
/// Violations that one comparison reports. More would not be read.
pub const VIOLATIONS: usize = 100;

/// Part of the budget that the search for a proof may use. The rest is for finding where a violation is and for trying
/// documents out.
pub(crate) const PROOF_SHARE: f64 = 0.6;
/// Nesting of documents that the search considers, and with it the native stack it needs.
pub(crate) const SEARCH_DEPTH: usize = 100;
/// Longest array and largest object that the search builds.
pub(crate) const WITNESS_MEMBERS: u64 = 64;
/// Longest string that the search builds.
pub(crate) const WITNESS_CHARACTERS: u64 = 4_096;
/// Regular expressions that are told apart for one unknown property name: two to this power combinations.
pub(crate) const KEY_PATTERNS: usize = 5;
/// Kinds of items that one array must contain: two to this power combinations per position.
pub(crate) const ITEM_KINDS: usize = 4;
/// Parts of a `oneOf` that are compared with each other, to leave out what two of them cannot both accept.
pub(crate) const PARTS_TOLD_APART: usize = 64;
/// Name demands that are combined for one property name that no schema mentions: two to this power combinations.
pub(crate) const NAME_DEMANDS: usize = 3;
/// Size of the common multiple of several `multipleOf`, in bits. Larger ones take seconds to compute.
pub(crate) const MULTIPLE_BITS: u64 = 8_192;
/// Multiples that are tried for a number that must not be a multiple of others.
pub(crate) const MULTIPLES: u32 = 2_000;
/// Documents that are made from the schemas and tried out.
pub(crate) const CANDIDATES: usize = 400;
/// Steps of our own evaluation of one document. What takes more is not handed to the validator, which has no budget.
pub(crate) const EVALUATION_STEPS: u32 = 20_000;
/// Subschemas in a row in our own evaluation, which recurses.
pub(crate) const EVALUATION_DEPTH: usize = 1_000;
/// Subschemas of a document with each reference counted as often as it is used, for which a validator is built: it
/// copies what is referred to.
pub(crate) const VALIDATOR_NODES: u64 = 50_000;
/// Bytes of an example document in a violation.
pub(crate) const EXAMPLE_BYTES: usize = 2_000;
/// Backtracking of the validator on one string, for patterns with look-around.
pub(crate) const VALIDATOR_BACKTRACKS: usize = 10_000;
/// References and subschemas in a row, from one to the next. They are followed recursively.
pub(crate) const SCHEMA_CHAIN: usize = 400;
/// Stack of the thread on which a comparison runs. It recurses over schemas and documents, within the limits above.
pub(crate) const STACK_BYTES: usize = 64 * 1024 * 1024;
/// Calls in a row of the search, from one choice to the next.
pub(crate) const SEARCH_CALLS: usize = 3_000;
/// Refusals of one payload that are told together.
pub const REFUSALS: usize = 32;

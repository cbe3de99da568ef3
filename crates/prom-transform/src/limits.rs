//! What one run of a program may use. Every limit is enforced while the program runs, not afterwards.

use std::time::Duration;

/// Limits of one run. The defaults suit a filter or a key expression that runs for every event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramLimits {
    /// Wall time from the first step to the last byte of output.
    pub time: Duration,
    /// Evaluation steps; unlike time, the same on every machine.
    pub steps: u64,
    /// Bytes of values built during the run, in total, whether or not they are still in use.
    pub memory_bytes: usize,
    /// JSON text of all outputs together.
    pub output_bytes: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// Nesting of the input and of every value that the program builds.
    pub depth: u16,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_millis(50),
            steps: 1_000_000,
            memory_bytes: 64 * 1024 * 1024,
            output_bytes: 4 * 1024 * 1024,
            outputs: 10_000,
            depth: 128,
        }
    }
}

/// Longest program text. A program is configuration; a longer one is probably data.
pub const PROGRAM_BYTES: usize = 16 * 1024;

/// Integers stay exact up to this many bits (about 2 400 digits); larger results are an error of the program.
pub(crate) const INTEGER_BITS: u64 = 8_192;
/// Longest run of digits accepted in JSON text, in step with [`INTEGER_BITS`].
pub(crate) const NUMBER_BYTES: usize = 2_400;
/// Longest chain of accesses (`.a`, `.[1:]`, `.[]`) from where a value was built to where it is used. It bounds the
/// length of paths, whose release recurses once per element.
pub(crate) const ACCESS_CHAIN: u16 = 4_000;
/// Native stack a run may use below its caller. Threads have 2 MiB or more; the rest is left for native functions and
/// for releasing what was built.
pub(crate) const STACK_BYTES: usize = 512 * 1024;
/// Stack of the short-lived thread that parses: the parser recurses over the text, and the text may be
/// [`PROGRAM_BYTES`] long.
pub(crate) const PARSER_STACK_BYTES: usize = 128 * 1024 * 1024;
/// Characters of a value quoted in an error message.
pub(crate) const QUOTED_BYTES: usize = 200;
/// Largest compiled regular expression. What people write has a few kilobytes; nested repetitions have millions.
pub(crate) const REGEX_PROGRAM_BYTES: usize = 256 * 1024;
/// Compiled regular expressions that a thread keeps: a program has a few, and threads take turns with programs.
pub(crate) const REGEX_PROGRAMS: usize = 16;
/// Longest string a regular expression is matched against.
pub(crate) const REGEX_SUBJECT_BYTES: usize = 64 * 1024;

//! What can go wrong, and what the caller can do.

/// The text is not a program that may run here. Show the error to the program's author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// Line and column count from 1, columns in characters.
    #[error("jq program, line {line}, column {column}: {reason}")]
    Invalid { line: usize, column: usize, reason: String },
    #[error("jq program of {bytes} bytes: at most {limit} are allowed")]
    TooLong { bytes: usize, limit: usize },
    /// Limits are enforced by unwinding, so a process that aborts on panic cannot run programs safely.
    #[error("jq programs need a build that unwinds (panic = \"unwind\")")]
    NoUnwinding,
    #[error("jq program could not be compiled: {0}")]
    Internal(String),
}

/// The program gave no answer for this input. The program and the process are fine; the next input may succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The input is not JSON, or nests deeper than allowed. Another program would not help.
    #[error("input: {0}")]
    Input(String),
    /// The program itself raised an error (`error`, a type mismatch, an invalid regular expression).
    #[error("{0}")]
    Program(String),
    /// The program was stopped. Make it cheaper or raise the limit.
    #[error("stopped: the program used up its {0}")]
    Limit(Exceeded),
    /// An output cannot be written as JSON (bytes, a key that is not a string).
    #[error("output: {0}")]
    Output(String),
    /// A defect in the interpreter, contained. Report it with the program and the input.
    #[error("the jq interpreter failed: {0}")]
    Internal(String),
}

/// Which limit stopped the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    #[error("time")]
    Time,
    #[error("steps")]
    Steps,
    #[error("memory")]
    Memory,
    #[error("recursion depth")]
    Recursion,
    #[error("value nesting depth")]
    Depth,
    #[error("output bytes")]
    OutputBytes,
    #[error("number of outputs")]
    Outputs,
}

//! Every limit of the linter, each with its reason.

/// Values that one name is given and that are followed; more are a variable, not a constant.
pub const VALUES_OF_A_NAME: usize = 16;
/// Members of a class or properties of an object: maps of topics are smaller, generated tables are not topics.
pub const MEMBERS: usize = 4096;
/// Nested expressions: deeper code is generated, and its recursion would need a larger stack.
pub const DEPTH: usize = 64;
/// Calls looked at in one file.
pub const CALLS: usize = 20_000;
/// Places that cannot be read and are reported, in one file: after the first few they follow from each other.
pub const UNREADABLE: usize = 3;
/// Steps from a call to the values it uses, over names and modules. Ends circles.
pub const STEPS: usize = 20_000;
/// Topics that one argument can have: more are a table, of which the first are judged.
pub const TOPICS_OF_A_CALL: usize = 64;
/// Objects of headers that spread each other.
pub const SPREADS: usize = 8;
/// A larger file is generated or data; what it contains is told, not read.
pub const FILE_BYTES: u64 = 8 * 1024 * 1024;
/// The stack of a thread that reads files: parsers recurse as deep as the code is nested.
pub const STACK_BYTES: usize = 64 * 1024 * 1024;
/// Levels of brackets and of what continues an expression: `STACK_BYTES` bear three times as many, in every build.
pub const NESTING: usize = 5000;
/// Records that stay in the cache although a run did not need them, for other branches and parts of the tree.
pub const CACHED_RECORDS: usize = 20_000;
/// Nodes of a tree below each other: the walk goes one call deeper with each.
pub const TREE_DEPTH: usize = 1000;
/// Macros of a file whose brackets are parsed once more.
pub const MACROS: usize = 2000;

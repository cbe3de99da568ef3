//! The commands, one file each: what can be typed, and what it does.

mod bench;
mod codegen;
mod completions;
mod config;
mod cursor;
mod cutover;
mod export;
mod fsck;
mod groups;
mod import;
mod input;
mod lag;
mod line;
mod names;
mod partitions;
mod partly;
mod publish;
mod schema;
mod serve;
mod skip;
mod subscribe;
mod token;
mod topics;
mod why;

pub use bench::Bench;
pub use codegen::Codegen;
pub use completions::Completions;
pub use config::ConfigCommand;
pub use cursor::Cursor;
pub use cutover::CutoverCommand;
pub use export::Export;
pub use fsck::Fsck;
pub use groups::GroupsCommand;
pub use import::Import;
pub use lag::Lag;
pub use partitions::Partitions;
pub use publish::Publish;
pub use schema::SchemaCommand;
#[cfg(test)]
pub use schema::explain;
pub use serve::Serve;
pub use skip::Skip;
pub use subscribe::Subscribe;
pub use token::Token;
pub use topics::TopicsCommand;
pub use why::Why;

//! The commands, one file each: what can be typed, and what it does.

mod bench;
mod completions;
mod config;
mod cursor;
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
mod serve;
mod subscribe;
mod token;
mod topics;
mod why;

pub use bench::Bench;
pub use completions::Completions;
pub use config::ConfigCommand;
pub use cursor::Cursor;
pub use export::Export;
pub use fsck::Fsck;
pub use groups::GroupsCommand;
pub use import::Import;
pub use lag::Lag;
pub use partitions::Partitions;
pub use publish::Publish;
pub use serve::Serve;
pub use subscribe::Subscribe;
pub use token::Token;
pub use topics::TopicsCommand;
pub use why::Why;

//! The servers we compare ourselves with, each by its best Rust client, in its default and in its durable setting.
//!
//! Compiled with the feature `peers`. A server that is not on this machine is left out, with the reason.

mod nats;
mod rabbitmq;
mod redis;
mod tools;

use std::sync::Arc;

use crate::load::contender::Contender;

/// What can be measured here, and why the others cannot.
#[derive(Default)]
pub struct FoundPeers {
    pub contenders: Vec<Arc<dyn Contender>>,
    pub missing: Vec<String>,
}

pub fn find() -> FoundPeers {
    let mut found = FoundPeers::default();
    for server in [nats::contenders(), redis::contenders(), rabbitmq::contenders()] {
        match server {
            Ok(contenders) => found.contenders.extend(contenders),
            Err(reason) => found.missing.push(format!("{reason:#}")),
        }
    }
    found
}

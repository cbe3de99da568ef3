//! The servers we compare ourselves with, each by its best Rust client, in its default and in its durable setting.
//!
//! Compiled with the feature `peers`. A server that is not on this machine is left out, with the reason.

#[cfg(feature = "peers")]
mod nats;
#[cfg(feature = "peers")]
mod rabbitmq;
#[cfg(feature = "peers")]
mod redis;
#[cfg(feature = "peers")]
mod streams;
#[cfg(feature = "peers")]
mod version;

use std::sync::Arc;

use crate::load::contender::Contender;

/// What can be measured here. Says why the others cannot.
pub fn find() -> Vec<Arc<dyn Contender>> {
    #[cfg(feature = "peers")]
    let servers = [nats::contenders(), redis::contenders(), rabbitmq::contenders()];
    #[cfg(not(feature = "peers"))]
    let servers = [Err(anyhow::anyhow!("other servers; build with `--features peers` to have them beside our hub"))];
    let mut found = Vec::new();
    for server in servers {
        match server {
            Ok(contenders) => found.extend::<Vec<_>>(contenders),
            Err(reason) => eprintln!("left out: {reason:#}"),
        }
    }
    found
}

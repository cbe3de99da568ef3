//! The scripted hub and what tests share.

mod hub;

use std::time::Duration;

pub use hub::{Hub, Peer, event};
use prom_client::{Client, ClientOptions, Error, Notice, Notices};

/// Nothing in these tests takes this long.
pub const DEADLINE: Duration = Duration::from_secs(20);

pub async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, work).await.expect("it took too long")
}

/// Comes back fast.
pub fn options() -> ClientOptions {
    ClientOptions::default().backoff(Duration::from_millis(1), Duration::from_millis(20))
}

/// A client that connects while the hub does what the test says.
pub async fn meet<T>(hub: &Hub, options: ClientOptions, serve: impl Future<Output = T>) -> (Result<Client, Error>, T) {
    let url = hub.url();
    within(async { tokio::join!(Client::connect(&url, options), serve) }).await
}

/// A client with batches, and the hub's end of its connection.
pub async fn connected(hub: &Hub) -> (Client, Peer) {
    connected_with(hub, options()).await
}

pub async fn connected_with(hub: &Hub, options: ClientOptions) -> (Client, Peer) {
    let (client, peer) = meet(hub, options, hub.welcome()).await;
    (client.unwrap(), peer)
}

pub async fn notice(notices: &mut Notices, wanted: impl Fn(&Notice) -> bool) -> Notice {
    within(async {
        loop {
            let notice = notices.next().await.expect("the client is there");
            if wanted(&notice) {
                return notice;
            }
        }
    })
    .await
}

pub fn is_lease_lost(result: Result<(), Error>) -> bool {
    matches!(result, Err(Error::LeaseLost { .. }))
}

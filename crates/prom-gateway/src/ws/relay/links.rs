//! The links of one connection: one for each group that other hubs serve.

use std::sync::{Arc, Weak};

use hashbrown::HashMap;
use prom_types::GroupName;
use tokio::sync::Mutex;

use super::link::Link;
use super::open::open;
use crate::Hub;
use crate::peers::{Batches, Peers};
use crate::ws::outbox::Outbox;

/// A link lives as long as a subscription uses it.
#[derive(Default)]
pub struct Links(parking_lot::Mutex<HashMap<GroupName, Arc<Mutex<Kept>>>>);

/// Held by whoever opens the link of a group: others of that group wait, and get the same one.
#[derive(Default)]
struct Kept {
    url: String,
    link: Weak<Link>,
}

impl Links {
    /// Every group of this connection is served here, and always was.
    pub fn is_unused(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// The link to the owner of a group, which is opened where there is none.
    pub async fn get(
        &self,
        hub: &Arc<Hub>,
        peers: &Peers,
        outbox: &Arc<Outbox>,
        batches: Batches,
        (group, url): (&GroupName, &str),
    ) -> Result<Arc<Link>, String> {
        let place = self.0.lock().entry(group.clone()).or_default().clone();
        let mut kept = place.lock().await;
        if kept.url == url
            && let Some(link) = kept.link.upgrade().filter(|link| !link.is_lost())
        {
            return Ok(link);
        }
        let link = open(hub, peers, outbox.clone(), batches, url).await?;
        *kept = Kept { url: url.to_owned(), link: Arc::downgrade(&link) };
        Ok(link)
    }
}

//! The links of one connection: one for each group that other hubs serve.

use std::sync::{Arc, Weak};

use hashbrown::HashMap;
use prom_types::GroupName;
use tokio::sync::Mutex;

use super::link::Link;
use super::task;
use crate::Hub;
use crate::peers::{Batches, Peers};
use crate::ws::outbox::Outbox;

/// A link lives as long as a subscription uses it.
#[derive(Default)]
pub struct Links(Mutex<HashMap<GroupName, Kept>>);

struct Kept {
    url: String,
    link: Weak<Link>,
}

impl Links {
    /// The link to the owner of a group, which is opened where there is none. Those who need the same one
    /// at the same time get the same one.
    pub async fn get(
        &self,
        hub: &Arc<Hub>,
        peers: &Peers,
        outbox: &Arc<Outbox>,
        batches: Batches,
        (group, url): (&GroupName, &str),
    ) -> Result<Arc<Link>, String> {
        let mut links = self.0.lock().await;
        links.retain(|_, kept| kept.link.upgrade().is_some_and(|link| !link.is_lost()));
        if let Some(kept) = links.get(group).filter(|kept| kept.url == url)
            && let Some(link) = kept.link.upgrade()
        {
            return Ok(link);
        }
        let link = task::open(hub, peers, outbox.clone(), batches, url).await?;
        links.insert(group.clone(), Kept { url: url.to_owned(), link: Arc::downgrade(&link) });
        Ok(link)
    }
}

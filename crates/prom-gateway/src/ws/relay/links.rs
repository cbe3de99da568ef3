//! The links of one connection: one for each group that other hubs serve.

use std::sync::{Arc, Weak};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use hashbrown::HashMap;
use parking_lot::Mutex;
use prom_types::GroupName;

use super::link::RelayLink;
use super::open::open;
use crate::Hub;
use crate::peers::Batches;
use crate::ws::outbox::Outbox;

/// A link lives as long as a subscription uses it.
#[derive(Default)]
pub struct Links(Mutex<HashMap<GroupName, GroupLink>>);

/// The link of a group, and the hub it leads to.
struct GroupLink {
    url: String,
    progress: LinkProgress<Weak<RelayLink>>,
}

impl GroupLink {
    /// Unless it is lost, or no subscription uses it any more.
    fn usable(&self) -> Option<LinkProgress<Arc<RelayLink>>> {
        match &self.progress {
            LinkProgress::Opening(opening) => Some(LinkProgress::Opening(opening.clone())),
            LinkProgress::Open(link) => link.upgrade().filter(|link| !link.is_lost()).map(LinkProgress::Open),
        }
    }
}

enum LinkProgress<L> {
    /// All subscriptions of the group wait for the same attempt.
    Opening(Opening),
    Open(L),
}

type Opening = Shared<BoxFuture<'static, Result<Arc<RelayLink>, String>>>;

impl Links {
    /// Every group of this connection is served here, and always was.
    pub fn is_unused(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// The link to the owner of a group, which is opened where there is none.
    pub async fn get(
        &self,
        hub: &Arc<Hub>,
        outbox: &Arc<Outbox>,
        batches: Batches,
        (group, url): (&GroupName, &str),
    ) -> Result<Arc<RelayLink>, String> {
        let opening = {
            let mut links = self.0.lock();
            let known = links.get(group).filter(|link| link.url == url).and_then(GroupLink::usable);
            match known {
                Some(LinkProgress::Open(link)) => return Ok(link),
                Some(LinkProgress::Opening(opening)) => opening,
                None => {
                    let opening = open(hub.clone(), outbox.clone(), batches, url.to_owned()).boxed().shared();
                    let progress = LinkProgress::Opening(opening.clone());
                    links.insert(group.clone(), GroupLink { url: url.to_owned(), progress });
                    opening
                }
            }
        };
        let opened = opening.clone().await;
        self.finish(group, &opening, &opened);
        opened
    }

    /// From here on the subscriptions keep the link, not this table. The group may have moved on meanwhile.
    fn finish(&self, group: &GroupName, opening: &Opening, opened: &Result<Arc<RelayLink>, String>) {
        let mut links = self.0.lock();
        if let Some(GroupLink { progress, .. }) = links.get_mut(group)
            && matches!(progress, LinkProgress::Opening(known) if known.ptr_eq(opening))
        {
            *progress = LinkProgress::Open(opened.as_ref().map_or_else(|_| Weak::new(), Arc::downgrade));
        }
    }
}

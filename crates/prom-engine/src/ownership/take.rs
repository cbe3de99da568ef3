//! Which hub dispatches a group, and taking it where none does.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use prom_store::{Expect, Store};
use prom_types::GroupName;

use super::document::{self, OwnerDocument};
use super::{HubLife, Ownership, Tenure, lease_of};
use crate::bus::Core;
use crate::limits::CONTENTION_TRIES;
use crate::{Bus, Error};

/// While a group is being given up by this very hub.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How long it is believed that another hub serves a group.
const GOOD_FOR: Duration = Duration::from_millis(50);

/// Which hub dispatches a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// This one, also where it has its store to itself.
    Here,
    /// Another one that lives, reached at this address.
    There {
        /// Its address.
        url: String,
    },
    /// None: the next hub that is asked takes it.
    Unowned,
}

impl Bus {
    /// Which hub dispatches a group now.
    pub async fn owner_of(&self, group: &GroupName) -> Result<Owner, Error> {
        match &self.core().ownership {
            Some(ownership) => ownership.look_up(&*self.core().store, group, self.core().clock.monotonic()).await,
            None => Ok(Owner::Here),
        }
    }

    /// How long a hub may be silent before others take its groups over; `None` for a hub that has its store to itself.
    pub fn hub_ttl(&self) -> Option<Duration> {
        self.core().ownership.as_ref().map(|ownership| ownership.options.ttl)
    }
}

impl Core {
    /// Makes sure that this hub dispatches the group, or says who does.
    pub async fn own(self: &Arc<Self>, group: &GroupName) -> Result<(), Error> {
        match &self.ownership {
            Some(ownership) => ownership.take(self, group).await,
            None => Ok(()),
        }
    }

    /// Which hub serves each group, by the name of the group; empty where there is only one.
    pub async fn owners(&self) -> Result<HashMap<String, String>, Error> {
        match &self.ownership {
            Some(_) => document::all(&*self.store).await,
            None => Ok(HashMap::new()),
        }
    }

    /// This hub has slept past its time: another may have its groups, and the keeper gives them up in a moment.
    pub fn has_slept(&self) -> bool {
        self.ownership.as_ref().is_some_and(|ownership| ownership.life.is_over(self.clock.monotonic()))
    }

    /// `None` where this hub has its store to itself.
    pub fn hub_life(&self) -> Option<HubLife> {
        self.ownership.as_ref().map(|ownership| ownership.life.clone())
    }

    /// How many groups this hub serves; `None` where there is only one hub.
    pub fn groups_owned(&self) -> Option<usize> {
        self.ownership.as_ref().map(|ownership| ownership.state.lock().owned.len())
    }

    /// Refuses what only the owner can do or knows, where that is another hub.
    pub async fn not_elsewhere(&self, group: &GroupName) -> Result<(), Error> {
        let Some(ownership) = &self.ownership else {
            return Ok(());
        };
        match ownership.look_up(&*self.store, group, self.clock.monotonic()).await? {
            Owner::There { url } => Err(Error::ServedElsewhere { group: group.clone(), url }),
            Owner::Here | Owner::Unowned => Ok(()),
        }
    }
}

impl Ownership {
    async fn look_up(&self, store: &dyn Store, group: &GroupName, now: Duration) -> Result<Owner, Error> {
        if self.is_live(now) && self.state.lock().owned.contains_key(group) {
            return Ok(Owner::Here);
        }
        let Some((owner, _)) = document::read(store, group).await? else {
            return Ok(Owner::Unowned);
        };
        Ok(match store.held_lease(&lease_of(&owner.hub)).await? {
            Some(_) if owner.hub == self.state.lock().lease.holder => Owner::Here,
            Some(_) => Owner::There { url: owner.url },
            None => Owner::Unowned,
        })
    }

    async fn take(&self, core: &Arc<Core>, group: &GroupName) -> Result<(), Error> {
        for _ in 0..CONTENTION_TRIES {
            if !self.is_live(core.clock.monotonic()) {
                return Err(Error::LostGroup { group: group.clone() });
            }
            let me = match self.claim_owned(group) {
                Claim::Owned => return Ok(()),
                Claim::Leaving => {
                    tokio::time::sleep(LOOK_AGAIN).await;
                    continue;
                }
                Claim::Unknown { me } => me,
            };
            if let Some(url) = self.found_elsewhere(group, core.clock.monotonic()) {
                return Err(Error::ServedElsewhere { group: group.clone(), url });
            }
            let found = document::read(&*core.store, group).await?;
            if let Some((owner, revision)) = &found {
                if owner.hub == me {
                    self.note(&me, group, *revision, owner.generation);
                    continue;
                }
                if core.store.held_lease(&lease_of(&owner.hub)).await?.is_some() {
                    let (group, url, now) = (group.clone(), owner.url.clone(), core.clock.monotonic());
                    self.state.lock().elsewhere.insert(group.clone(), (url.clone(), now));
                    return Err(Error::ServedElsewhere { group, url });
                }
            }
            if let Some((revision, generation)) = self.write_down(core, group, &me, found).await? {
                self.note(&me, group, revision, generation);
            }
        }
        Err(Error::Contended { what: format!("the owner of group {group}") })
    }

    /// Revision and generation of the document that names this hub; `None` when another hub was faster.
    async fn write_down(
        &self,
        core: &Arc<Core>,
        group: &GroupName,
        me: &str,
        before: Option<(OwnerDocument, u64)>,
    ) -> Result<Option<(u64, u64)>, Error> {
        let (expect, generation, revision) = match &before {
            Some((owner, revision)) => (Expect::Revision(*revision), owner.generation + 1, revision + 1),
            None => (Expect::Absent, 1, 1),
        };
        let owner = OwnerDocument { hub: me.to_owned(), url: self.options.url.clone(), generation };
        match core.write(owner.write(group, expect)?).await {
            Ok(_) => {
                tracing::info!(%group, generation, before = before.map(|(owner, _)| owner.url), "serves the group");
                Ok(Some((revision, generation)))
            }
            Err(error) if error.is_conflict() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn claim_owned(&self, group: &GroupName) -> Claim {
        let mut state = self.state.lock();
        match state.owned.get_mut(group) {
            Some(Tenure { leaving: true, .. }) => Claim::Leaving,
            Some(tenure) => {
                tenure.unused_since = None;
                Claim::Owned
            }
            None => Claim::Unknown { me: state.lease.holder.clone() },
        }
    }

    /// What was found a moment ago, so that subscribers that lost the same hub do not all ask the store.
    fn found_elsewhere(&self, group: &GroupName, now: Duration) -> Option<String> {
        let mut state = self.state.lock();
        state.elsewhere.retain(|_, (_, found)| now.saturating_sub(*found) < GOOD_FOR);
        state.elsewhere.get(group).map(|(url, _)| url.clone())
    }

    fn note(&self, me: &str, group: &GroupName, revision: u64, generation: u64) {
        let mut state = self.state.lock();
        // Under an id that was given up meanwhile it is worth nothing.
        if state.lease.holder == me {
            let tenure = Tenure { revision, generation, unused_since: None, leaving: false };
            state.owned.entry(group.clone()).or_insert(tenure);
        }
    }
}

/// What this hub knows about a group without asking.
enum Claim {
    Owned,
    Leaving,
    Unknown { me: String },
}

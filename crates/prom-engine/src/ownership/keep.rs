//! Staying alive among the hubs: renewing in time, giving up what could not be kept, and letting go of
//! groups that are unused here.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashSet;
use prom_store::{Expect, StoreLease};
use prom_types::GroupName;
use tokio::time::{sleep, timeout};

use super::document::OwnerDocument;
use super::{Ownership, Tenure, take_lease};
use crate::Error;
use crate::bus::{BusPhase, Core};

/// Renewals in a time to live: one may be lost, and one may be late.
const RENEWALS_PER_TTL: u32 = 3;

/// Runs until the bus stops. Letting go waits for the store, renewing must not wait for that.
pub(crate) async fn run(core: &Arc<Core>) {
    if let Some(ownership) = &core.ownership {
        let every = ownership.options.ttl / RENEWALS_PER_TTL;
        tokio::join!(keep_alive(core, ownership, every), keep_tidy(core, ownership, every));
    }
}

/// A shutdown is kept alive too: its handlers still finish.
async fn keep_alive(core: &Core, ownership: &Ownership, every: Duration) {
    let mut phase = core.watch_phase();
    while *phase.borrow_and_update() != BusPhase::Stopped {
        tokio::select! {
            () = sleep(ownership.until_renewal(core.clock.monotonic(), every)) => ownership.renew(core, every).await,
            _ = phase.changed() => {}
        }
    }
}

async fn keep_tidy(core: &Arc<Core>, ownership: &Ownership, every: Duration) {
    let mut phase = core.watch_phase();
    while *phase.borrow_and_update() == BusPhase::Open {
        tokio::select! {
            () = sleep(every) => ownership.let_go_of_unused(core).await,
            _ = phase.changed() => {}
        }
    }
}

impl Ownership {
    fn until_renewal(&self, now: Duration, every: Duration) -> Duration {
        let renewed = self.state.lock().renewed;
        let wait = (renewed + every).saturating_sub(now).max(every / 10);
        match (renewed + self.options.ttl).saturating_sub(now) {
            // Nothing is left to keep.
            Duration::ZERO => wait,
            left => wait.min(left),
        }
    }

    /// One attempt, which ends at the latest when the time of this hub does.
    async fn renew(&self, core: &Core, every: Duration) {
        let (lease, renewed) = {
            let state = self.state.lock();
            (state.lease.clone(), state.renewed)
        };
        let sent = core.clock.monotonic();
        let left = (renewed + self.options.ttl).saturating_sub(sent);
        if left.is_zero() {
            return self.start_over(core, every).await;
        }
        match timeout(left, take_lease(&*core.store, &lease.holder, self.options.ttl)).await {
            Ok(Ok(extended)) if extended.fence == lease.fence => self.renewed(&mut self.state.lock(), sent),
            // It had ended already, by the store's clock.
            Ok(Ok(_)) | Err(_) => self.start_over(core, every).await,
            Ok(Err(error)) => tracing::warn!(%error, "this hub could not say that it lives; it tries again"),
        }
    }

    /// Everything is given up; then this hub joins again, as a new one.
    async fn start_over(&self, core: &Core, every: Duration) {
        let (before, lost) = {
            let mut state = self.state.lock();
            let lost: HashSet<GroupName> = state.owned.drain().map(|(group, _)| group).collect();
            (state.lease.clone(), lost)
        };
        if !lost.is_empty() {
            tracing::warn!(groups = lost.len(), "this hub was silent for too long; others may serve its groups now");
        }
        for live in core.followers.all().iter().filter(|live| lost.contains(&live.group.name)) {
            live.outlet.fail(Error::LostGroup { group: live.group.name.clone() });
        }
        let (id, sent) = (core.ids.make(core.clock.now_ms()).to_string(), core.clock.monotonic());
        match timeout(every, take_lease(&*core.store, &id, self.options.ttl)).await {
            Ok(Ok(lease)) => {
                self.join_as(lease, sent);
                // A renewal that came late may have revived it, and no hub answers for it any more.
                if !matches!(timeout(every, core.store.release_lease(&before)).await, Ok(Ok(()))) {
                    tracing::debug!("the time before is left to end by itself");
                }
            }
            Ok(Err(error)) => tracing::warn!(%error, "this hub cannot join the others; it tries again"),
            Err(_) => tracing::warn!("this hub cannot join the others: the store does not answer; it tries again"),
        }
    }

    fn join_as(&self, lease: StoreLease, sent: Duration) {
        let mut state = self.state.lock();
        state.lease = lease;
        self.renewed(&mut state, sent);
        state.owned.clear();
    }

    /// A group that is unused here since the last pass is free for the hub that next needs it.
    async fn let_go_of_unused(&self, core: &Arc<Core>) {
        let used: HashSet<GroupName> = core
            .followers
            .all()
            .iter()
            .filter(|live| !live.outlet.is_ended())
            .map(|live| live.group.name.clone())
            .collect();
        for (group, tenure) in self.mark_unused(&used, core.clock.monotonic()) {
            let given_up = OwnerDocument::unowned(tenure.generation).write(&group, Expect::Revision(tenure.revision));
            let committed = match given_up {
                Ok(write) => core.write(write).await.map_err(Error::from),
                Err(error) => Err(error),
            };
            if let Err(error) = committed {
                // What the document says now is read when the group is next needed.
                tracing::debug!(%group, %error, "the group may stay with this hub");
            }
            self.state.lock().owned.remove(&group);
        }
    }

    /// Those that were unused for a whole time to live.
    fn mark_unused(&self, used: &HashSet<GroupName>, now: Duration) -> Vec<(GroupName, Tenure)> {
        let ttl = self.options.ttl;
        let mut leaving = Vec::new();
        for (group, tenure) in &mut self.state.lock().owned {
            if used.contains(group) {
                tenure.unused_since = None;
                continue;
            }
            if now.saturating_sub(*tenure.unused_since.get_or_insert(now)) >= ttl {
                tenure.leaving = true;
                leaving.push((group.clone(), *tenure));
            }
        }
        leaving
    }
}

//! Several hubs on one store: which of them dispatches a group.
//!
//! ```text
//!   lease  hub/<id>        ─ renewed three times per TTL by the store's clock: the hub lives
//!   owners/<group> = hub   ─ changed by compare-and-set: that hub dispatches the group
//! ```
//!
//! A group belongs to the hub of its first subscriber, until that hub is done with it or falls
//! silent; then to the next hub that needs it. A hub that did not renew in time gives up everything it owned,
//! before another can take it, and goes on under a new id.
//!
//! Promises: this only decides who should dispatch. What keeps two from settling the same is the epoch in
//! each cursor, which the next owner raises. One renewal for a hub, however many groups it owns; none of
//! this exists where a bus has its store to itself.

mod document;
mod keep;
mod take;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hashbrown::HashMap;
use parking_lot::Mutex;
use prom_store::{Store, StoreLease};
use prom_types::GroupName;
use tokio::task::JoinHandle;

use crate::Error;
use crate::limits::{LONGEST_HUB_TTL, SHORTEST_HUB_TTL};

pub(crate) use keep::run;
pub use take::Owner;

/// One of several hubs on one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubOptions {
    /// Where the other hubs reach this one.
    pub url: String,
    /// After this time of silence its groups go to others.
    pub ttl: Duration,
}

/// What this hub is among the others.
pub(crate) struct Ownership {
    pub options: HubOptions,
    pub life: HubLife,
    state: Mutex<State>,
    /// The task that renews.
    pub keeper: Mutex<Option<JoinHandle<()>>>,
}

/// Until when the others take this hub for live, and leave its groups to it. Clones are the same.
#[derive(Clone)]
pub(crate) struct HubLife {
    /// In microseconds of the monotonic clock.
    until_micros: Arc<AtomicU64>,
}

impl HubLife {
    fn until(until: Duration) -> Self {
        Self { until_micros: Arc::new(AtomicU64::new(micros(until))) }
    }

    fn extend(&self, until: Duration) {
        self.until_micros.store(micros(until), Ordering::Relaxed);
    }

    /// Cheap enough for every hand-out.
    pub fn is_over(&self, now: Duration) -> bool {
        micros(now) >= self.until_micros.load(Ordering::Relaxed)
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

struct State {
    /// Names this hub; another one after every silence.
    lease: StoreLease,
    /// When the last renewal that succeeded was sent, on the monotonic clock.
    renewed: Duration,
    owned: HashMap<GroupName, Tenure>,
    /// Groups that another hub was found to serve, and when.
    elsewhere: HashMap<GroupName, (String, Duration)>,
}

/// A group that this hub dispatches.
#[derive(Debug, Clone, Copy)]
struct Tenure {
    /// Of the owner's document.
    revision: u64,
    generation: u64,
    /// Unused since then.
    unused_since: Option<Duration>,
    /// It is being given up: a caller that wants it waits a moment.
    leaving: bool,
}

impl Ownership {
    /// Joins the hubs on this store.
    pub async fn start(store: &dyn Store, options: HubOptions, id: String, now: Duration) -> Result<Self, Error> {
        if !(SHORTEST_HUB_TTL..=LONGEST_HUB_TTL).contains(&options.ttl) {
            let asked = format!("{:?}", options.ttl);
            let reason = "it is between 1 s and 10 min";
            return Err(Error::BadOption { option: "hub_ttl", asked, reason });
        }
        let lease = take_lease(store, &id, options.ttl).await?;
        let state = State { lease, renewed: now, owned: HashMap::new(), elsewhere: HashMap::new() };
        let life = HubLife::until(now + options.ttl);
        Ok(Self { options, life, state: Mutex::new(state), keeper: Mutex::new(None) })
    }

    /// The others take this hub for live, and none can have taken its groups.
    fn is_live(&self, now: Duration) -> bool {
        !self.life.is_over(now)
    }

    fn renewed(&self, state: &mut State, sent: Duration) {
        state.renewed = sent;
        self.life.extend(sent + self.options.ttl);
    }

    /// Another hub has dispatched the group: what this one remembers of it counts for nothing.
    pub fn doubt(&self, group: &GroupName) {
        self.state.lock().owned.remove(group);
    }

    /// Lets the others take over at once.
    pub async fn leave(&self, store: &dyn Store) {
        let keeper = self.keeper.lock().take();
        if let Some(keeper) = keeper {
            // A renewal under way would take back what is given up here.
            keeper.abort();
            let _aborted = keeper.await;
        }
        let lease = self.state.lock().lease.clone();
        if let Err(error) = store.release_lease(&lease).await {
            tracing::warn!(%error, "other hubs take over only when the time of this one is over");
        }
    }
}

fn lease_of(hub: &str) -> String {
    format!("hub/{hub}")
}

async fn take_lease(store: &dyn Store, hub: &str, ttl: Duration) -> Result<StoreLease, Error> {
    let taken = store.acquire_lease(&lease_of(hub), hub, ttl).await?;
    taken.ok_or_else(|| Error::Contended { what: format!("the name of hub {hub}") })
}

//! Everything that has to be there before a leg: connections, topics, names.

use futures::{StreamExt, TryStreamExt};
use prom_client::{Client, ClientOptions};
use prom_types::GroupName;

use super::clean::{self, Left};
use super::facts::Facts;
use super::live::Live;
use super::names::{LegTopics, Names};
use super::plan::{Frames, Plan, Remains, WARM_TOPICS};
use crate::exit::Failure;
use crate::hub::HubClient;

/// Connecting this many at a time is fast and overwhelms no hub.
const AT_ONCE: usize = 32;
/// What a client keeps of publishes without an answer, at most.
const PENDING_BYTES: usize = 1 << 30;
/// What an event takes besides its payload, generously.
const ENVELOPE_BYTES: usize = 1024;

pub struct Stage {
    pub publishers: Vec<Client>,
    pub subscribers: Vec<Client>,
    pub facts: Facts,
    hub: HubClient,
    pub(super) names: Names,
    pub(super) topics: LegTopics,
    pub(super) warm_topics: LegTopics,
    remains: Remains,
}

impl Stage {
    pub async fn open(hub: &HubClient, plan: &Plan, live: &Live) -> Result<Self, Failure> {
        live.stage("connecting");
        if let Some(group) = &plan.group {
            refuse_existing(hub, group).await?;
        }
        let publishers = connect(hub, plan, plan.publishers).await?;
        let subscribers = connect(hub, plan, plan.subscribers).await?;
        let names = Names::new();
        let mut topics = names.topics("run", plan.topics)?;
        if let Some(group) = &plan.group {
            topics.group = group.to_string();
        }
        let warm_topics = names.topics("warm", plan.warm_up().map_or(0, |_| plan.topics.min(WARM_TOPICS)))?;
        let facts = Facts::ask(hub).await;
        let stage = Self {
            publishers,
            subscribers,
            facts,
            hub: hub.clone(),
            names,
            topics,
            warm_topics,
            remains: plan.remains,
        };
        live.stage("making topics");
        clean::prepare(&stage.hub, &stage, stage.remains).await?;
        Ok(stage)
    }

    /// Hangs up, and removes what the run has made unless it should stay.
    pub async fn close(&self, live: &Live) -> Left {
        live.stage("cleaning up");
        let clients = self.publishers.iter().chain(&self.subscribers);
        futures::future::join_all(clients.map(Client::close)).await;
        clean::clean(&self.hub, self, self.remains).await
    }
}

/// It is removed at the end, so it must not be in use.
async fn refuse_existing(hub: &HubClient, group: &GroupName) -> Result<(), Failure> {
    match hub.get(&["groups", group.as_str()], &()).await {
        Ok(_) => Err(Failure::usage(format!("the group {group} exists already"))
            .fix("choose another name with --group, or leave it out")),
        // Unknown, as it should be.
        Err(Failure::No(_)) => Ok(()),
        Err(failure) => Err(failure),
    }
}

async fn connect(hub: &HubClient, plan: &Plan, count: usize) -> Result<Vec<Client>, Failure> {
    let events = plan.in_flight.saturating_mul(plan.publish_batch());
    let bytes = events.saturating_mul(plan.size_bytes + ENVELOPE_BYTES).min(PENDING_BYTES);
    let options = || {
        let options = ClientOptions::default().max_pending(events, bytes);
        match plan.frames {
            Frames::Batched => options,
            Frames::Plain => options.plain_frames(),
        }
    };
    let connecting = (0..count).map(|_| hub.connect_with(options()));
    futures::stream::iter(connecting).buffered(AT_ONCE).try_collect().await
}

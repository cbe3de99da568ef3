//! Who takes part in a group right now.

use std::time::Duration;

use hashbrown::HashMap;
use prom_types::{EpochMs, GroupName, TopicPattern};

use crate::dispatch::SubscriberId;
use crate::dispatch::task::DispatchRequest;
use crate::{Bus, Error};

/// A subscriber of a group, as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMemberInfo {
    /// The name it gave itself, or its number.
    pub member: String,
    /// Whose token it came with.
    pub subject: Option<String>,
    /// Where it comes from.
    pub address: Option<String>,
    /// When it subscribed.
    pub since_ms: EpochMs,
    /// What it subscribes to.
    pub topics: Vec<TopicPattern>,
    /// Events that are leased to it.
    pub in_flight: u64,
    /// How many may be.
    pub max_in_flight: u64,
    /// It takes nothing now.
    pub is_paused: bool,
    /// How long it has held the oldest of its events.
    pub oldest_lease: Option<Duration>,
}

impl Bus {
    /// The subscribers of a group, by name; one that subscribes several times is listed as often. Only the hub that
    /// serves the group knows them; elsewhere there are none.
    pub async fn members(&self, group: &GroupName) -> Result<Vec<GroupMemberInfo>, Error> {
        let core = self.core();
        let running = core.groups.get(group);
        let mut oldest: HashMap<SubscriberId, Duration> = HashMap::new();
        for log in running.running_logs() {
            let Some(report) = running.ask_if_working(&log, DispatchRequest::Status).await else {
                continue;
            };
            for (subscriber, since) in report.oldest_leases {
                let held = report.now.saturating_sub(since);
                let longest = oldest.entry(subscriber).or_insert(held);
                *longest = held.max(*longest);
            }
        }
        let here = core.followers.all();
        let live = here.iter().filter(|live| live.group.name == *group && !live.outlet.is_ended());
        let mut members: Vec<GroupMemberInfo> = live
            .map(|live| {
                let (in_flight, max_in_flight) = live.outlet.window();
                let options = &live.outlet.options;
                GroupMemberInfo {
                    member: live.outlet.member(),
                    subject: options.subject.clone(),
                    address: options.address.clone(),
                    since_ms: options.since_ms,
                    topics: live.topics.clone(),
                    in_flight: in_flight as u64,
                    max_in_flight: max_in_flight as u64,
                    is_paused: live.outlet.is_paused(),
                    oldest_lease: oldest.get(&live.outlet.id).copied(),
                }
            })
            .collect();
        members.sort_by(|one, other| (&one.member, one.since_ms).cmp(&(&other.member, other.since_ms)));
        Ok(members)
    }
}
